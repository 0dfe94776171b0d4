/**
 * The air of the virtual radio: controllers hear each other's advertising over it and are linked
 * through it, all in one process. It has no airtime: what is sent arrives in the next turn of the
 * event loop, unless latency or a rule says otherwise. Its timers run on an injected clock.
 */
import type { BoardClock } from '../types.js';
import { AirLink } from './air-link.js';
import type { VirtualController } from './controller.js';
import { type Acl, attOf, REPORT, STATUS } from './hci.js';

export interface AirPacket {
  readonly link: AirLink;
  readonly from: VirtualController;
  /** From the peripheral to the central. */
  readonly up: boolean;
  /** The ATT protocol data unit, where a packet begins one; opcode first. */
  readonly att: Uint8Array | undefined;
  readonly bytes: Uint8Array;
}

/** What becomes of a packet: nothing special, lost, or late. Late ones hold up those behind. */
export type PacketFate = undefined | 'drop' | { delayMs: number };

export interface AirOptions {
  /** For advertising intervals, latency and supervision timeouts. The machine's by default. */
  clock?: BoardClock;
  /** Milliseconds for each packet; default 0. */
  latencyMs?: number;
}

/** The machine's clock; its timers do not keep a process alive. */
export const machineClock: BoardClock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

export class Air {
  readonly clock: BoardClock;
  latencyMs: number;
  /** Asked for each data packet on its way; it may also end the link (`packet.link.lose`). */
  rule: ((packet: AirPacket) => PacketFate) | undefined;
  readonly controllers: VirtualController[] = [];
  readonly links = new Set<AirLink>();
  /** Data packets so far. */
  readonly counters = { delivered: 0, dropped: 0 };
  #joined = 0;
  #soon: (() => void)[] = [];
  #scheduled = false;

  constructor({ clock = machineClock, latencyMs = 0 }: AirOptions = {}) {
    this.clock = clock;
    this.latencyMs = latencyMs;
  }

  /** Answers which one it is, counted from 1; a number is given once. */
  join(controller: VirtualController): number {
    this.controllers.push(controller);
    return ++this.#joined;
  }

  /** It is heard of no more. */
  leave(controller: VirtualController): void {
    const at = this.controllers.indexOf(controller);
    if (at >= 0) this.controllers.splice(at, 1);
  }

  /** Runs in the next turn of the event loop, in the order of the calls. */
  soon(run: () => void): void {
    this.#soon.push(run);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    const now = this.#soon;
    this.#soon = [];
    this.#scheduled = false;
    // A host that throws must not take the events of others with it.
    for (const [i, run] of now.entries()) {
      try {
        run();
      } catch (error) {
        this.#soon = [...now.slice(i + 1), ...this.#soon];
        if (this.#soon.length > 0 && !this.#scheduled) {
          this.#scheduled = true;
          setImmediate(() => this.#turn());
        }
        throw error;
      }
    }
  }

  /** One advertising event: everyone who scans hears it, and who waits for it connects. */
  advertised(from: VirtualController): void {
    const { advertising } = from;
    if (!advertising) return;
    const { type, data, scanResponse } = advertising;
    for (const to of this.controllers) {
      if (to === from || !to.hears(from)) continue;
      const { address } = from;
      to.report({ type, address, data, rssi: from.rssi });
      if (type === REPORT.plain || !to.scansActively) continue;
      to.report({ type: REPORT.scanResponse, address, data: scanResponse, rssi: from.rssi });
    }
    for (const central of [...this.controllers]) this.connectPending(central);
  }

  /** Makes the connection that `central` waits for, if its peer advertises now. */
  connectPending(central: VirtualController): void {
    const { pending } = central;
    if (!pending || central.deafened) return;
    const peer = this.controllers.find(
      (one) =>
        one !== central &&
        one.advertising?.type === REPORT.connectable &&
        pending.address.equals(one.address),
    );
    if (!peer) return;
    this.links.add(new AirLink(this, central, peer, pending.supervision));
  }

  carry(link: AirLink, from: VirtualController, acl: Acl): PacketFate {
    const up = from === link.peripheral;
    return this.rule?.({ link, from, up, att: attOf(acl), bytes: acl.data });
  }

  /** All links are lost at once. */
  loseAll(reason: number = STATUS.timeout): void {
    for (const link of [...this.links]) link.lose(reason);
  }
}

export function createAir(options?: AirOptions): Air {
  return new Air(options);
}
