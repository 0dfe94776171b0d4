/**
 * A Bluetooth LE controller in this process, as noble and bleno expect their HCI socket: packets
 * go in through `write` and come out as `data` events. Faults are methods of its own.
 */
import { EventEmitter } from 'node:events';
import type { Air } from './air.js';
import type { AirLink } from './air-link.js';
import { runCommand } from './commands.js';
import * as hci from './hci.js';

export interface ControllerOptions {
  /** For tests and logs. */
  name?: string;
  /** `c0:fe:ca:00:00:01`; by default one of its own on this air, which the next run may not have. */
  address?: string;
  /** Links at once that it holds as a central; default 8. */
  slots?: number;
  /** How loud others hear it, in dBm. Default −55. */
  rssi?: number;
}

export interface Advertising {
  type: number;
  intervalMs: number;
  data: Uint8Array;
  scanResponse: Uint8Array;
}

/** A connection that a central's host has asked for and that waits for its peer to advertise. */
export interface PendingConnection {
  address: Buffer;
  /** Hundredths of a second. */
  supervision: number;
}

export class VirtualController extends EventEmitter {
  readonly air: Air;
  readonly name: string;
  /** Six bytes, little endian. */
  readonly address: Buffer;
  slots: number;
  rssi: number;
  /** What is advertised now, undefined while nothing is. */
  advertising: Advertising | undefined;
  /** What will be advertised once that is switched on. */
  readonly advertised: Advertising = quietly();
  scan: { filter: boolean; seen: Set<VirtualController> } | undefined;
  scansActively = true;
  pending: PendingConnection | undefined;
  readonly links = new Map<number, AirLink>();
  /** Told after power came or went, beside the `state` event of the socket. */
  onPower: (() => void) | undefined;
  #mode: 'unbound' | 'raw' | 'user' = 'unbound';
  #powered = true;
  #plugged = true;
  #stopped = false;
  #frozen = false;
  /** What went to a host that hangs, and what its timers made it say: all comes late. */
  #held: (() => void)[] = [];
  #deafUntil: 'scan' | 'reset' | 'power' | undefined;
  #advertisingTimer: { cancel(): void } | undefined;

  /** @throws RangeError for an address that is none */
  constructor(air: Air, options: ControllerOptions = {}) {
    super();
    this.air = air;
    const given = options.address === undefined ? undefined : hci.addressBytes(options.address);
    const number = air.join(this);
    this.address = given ?? Buffer.from([number & 0xff, number >> 8, 0, 0xca, 0xfe, 0xc0]);
    this.name = options.name ?? this.addressText;
    this.slots = options.slots ?? 8;
    this.rssi = options.rssi ?? -55;
  }

  get addressText(): string {
    return hci.addressText(this.address);
  }

  get deafened(): boolean {
    return this.#deafUntil !== undefined;
  }

  // What hosts call.

  bindRaw(): number {
    return this.#bind('raw');
  }

  bindUser(): number {
    return this.#bind('user');
  }

  bindControl(): void {}
  setFilter(): void {}
  start(): void {
    this.#stopped = false;
  }
  cleanup(): void {}

  getDeviceList(): unknown[] {
    return [];
  }

  isDevUp(): boolean {
    return this.#mode !== 'unbound' && this.#powered && this.#plugged && !this.#stopped;
  }

  reset(): void {
    this.write(Buffer.from([hci.H4.command, 0x03, 0x0c, 0]));
  }

  /** The host lets go of it. */
  stop(): void {
    this.#stopped = true;
    this.#silence();
  }

  write(bytes: Uint8Array): void {
    if (!this.isDevUp()) return;
    if (this.#frozen) {
      this.#held.push(() => this.write(bytes));
      return;
    }
    const packet = Buffer.from(bytes);
    if (packet[0] === hci.H4.command && packet.length >= 4) {
      // A raw socket of the kernel shows commands to everyone who listens, who wrote them too.
      if (this.#mode === 'raw') this.say(packet);
      runCommand(this, packet.readUInt16LE(1), packet.subarray(4));
    } else if (packet[0] === hci.H4.acl) {
      const acl = hci.readAcl(packet);
      if (acl) this.links.get(acl.handle)?.send(this, acl);
    }
  }

  // Faults.

  /** Off, as by rfkill: links are gone, and the host is told. */
  power(on: boolean): void {
    if (this.#powered === on) return;
    this.#powered = on;
    this.#switched(on);
  }

  /** The adapter is pulled out, or comes back. */
  plug(there: boolean): void {
    if (this.#plugged === there) return;
    this.#plugged = there;
    this.#switched(there);
  }

  /** The host above it hangs, while links stay up; when it goes on, all comes that was held. */
  get frozen(): boolean {
    return this.#frozen;
  }

  set frozen(frozen: boolean) {
    this.#frozen = frozen;
    if (frozen) return;
    for (const run of this.#held.splice(0)) run();
  }

  /** It says that it scans and hears nothing, until its host does what cures it. */
  deafen(until: 'scan' | 'reset' | 'power'): void {
    this.#deafUntil = until;
  }

  // What commands and the air call.

  /** A packet for the host, in the next turn. */
  say(packet: Buffer): void {
    this.air.soon(() => {
      if (this.#frozen) this.#held.push(() => this.say(packet));
      else if (this.isDevUp()) this.emit('data', packet);
    });
  }

  hears(other: VirtualController): boolean {
    if (!this.scan || this.deafened || this.#frozen || !this.isDevUp()) return false;
    if (this.scan.filter && this.scan.seen.has(other)) return false;
    this.scan.seen.add(other);
    return true;
  }

  report(report: hci.Report): void {
    this.say(hci.advertisingReport(report));
  }

  setScan(scan: { filter: boolean } | undefined): void {
    this.scan = scan && { filter: scan.filter, seen: new Set() };
    if (scan && this.#deafUntil === 'scan') this.#deafUntil = undefined;
  }

  setAdvertising(on: boolean): void {
    this.#advertisingTimer?.cancel();
    this.advertising = on ? this.advertised : undefined;
    if (!on) return;
    this.air.soon(() => this.air.advertised(this));
    this.#advertiseLater();
  }

  /** A link stands; answers its handle. Role 0 is the central's. */
  linked(link: AirLink, role: 0 | 1): number {
    let handle = 0x40;
    while (this.links.has(handle)) handle++;
    this.links.set(handle, link);
    if (role === 0) this.pending = undefined;
    else this.setAdvertising(false);
    const peer = role === 0 ? link.peripheral.address : link.central.address;
    const { supervision } = link;
    this.say(hci.connectionComplete({ status: hci.STATUS.ok, handle, role, peer, supervision }));
    return handle;
  }

  /** A link is gone; without a reason the host hears nothing of it. */
  unlinked(link: AirLink, handle: number, reason: number | undefined): void {
    if (this.links.get(handle) !== link) return;
    this.links.delete(handle);
    if (reason !== undefined) this.say(hci.disconnected(handle, reason));
  }

  /** Links in which it is the central. */
  get taken(): number {
    return [...this.links.values()].filter((link) => link.central === this).length;
  }

  /** As HCI_Reset leaves it: nothing runs, nothing is linked, what was told is forgotten. */
  forget(): void {
    if (this.#deafUntil === 'reset') this.#deafUntil = undefined;
    this.#silence();
    Object.assign(this.advertised, quietly());
    this.scansActively = true;
  }

  #bind(mode: 'raw' | 'user'): number {
    if (!this.#plugged) throw Object.assign(new Error('No such device'), { code: 'ENODEV' });
    this.#mode = mode;
    this.#stopped = false;
    return 0;
  }

  #switched(on: boolean): void {
    if (on && this.#deafUntil) this.#deafUntil = undefined;
    this.#silence();
    this.air.soon(() => {
      this.emit('state', this.isDevUp());
      this.onPower?.();
    });
  }

  /** Ends everything without a word: peers find out when they hear nothing for too long. */
  #silence(): void {
    this.#held = [];
    this.setAdvertising(false);
    this.scan = undefined;
    this.pending = undefined;
    for (const link of [...this.links.values()]) link.vanished(this);
  }

  #advertiseLater(): void {
    const { intervalMs } = this.advertised;
    this.#advertisingTimer = this.air.clock.after(intervalMs, () => {
      this.air.advertised(this);
      // Somebody may have connected to it.
      if (this.advertising) this.#advertiseLater();
    });
  }
}

function quietly(): Advertising {
  return {
    type: hci.REPORT.connectable,
    intervalMs: 1_280,
    data: new Uint8Array(),
    scanResponse: new Uint8Array(),
  };
}
