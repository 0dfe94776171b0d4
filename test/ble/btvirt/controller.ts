/**
 * A controller of btvirt as noble and bleno want their HCI socket (H4, Bluetooth Core 5.4, Vol 4
 * Part A). What btvirt can't play is done here: a link that is lost, where it knows only one that
 * somebody ended.
 */
import { EventEmitter } from 'node:events';
import { connect, type Socket } from 'node:net';
import { COMMAND, H4, STATUS } from '../../../device-sim/radio/hci.js';
import type { HciSocket } from '../../../device-sim/radio/wire.js';

const EVENT = { disconnected: 0x05, commandStatus: 0x0f, le: 0x3e } as const;
/** Subevents of a link that was made. */
const CONNECTED = [0x01, 0x0a];

/** Bytes of each packet's header with its type, and where in it the payload's length stands. */
const HEADERS: Readonly<Record<number, { size: number; length(header: Buffer): number }>> = {
  [H4.acl]: { size: 5, length: (header) => header.readUInt16LE(3) },
  [H4.event]: { size: 3, length: (header) => header.readUInt8(2) },
};

export class BtvirtController extends EventEmitter implements HciSocket {
  onPower: (() => void) | undefined;
  /** Sees each ACL packet that its host sends, before it goes. */
  onAcl: ((packet: Buffer) => void) | undefined;
  readonly #socket: Socket;
  readonly #links = new Set<number>();
  readonly #losing = new Set<number>();
  #rest: Buffer = Buffer.alloc(0);
  /** Answers to come that its host did not ask for. */
  #unasked = 0;
  #raw = false;
  #up = true;
  #peer: BtvirtController | undefined;

  private constructor(socket: Socket) {
    super();
    this.#socket = socket;
    socket.on('data', (bytes) => this.#read(bytes));
    socket.on('error', () => undefined);
    socket.on('close', () => this.#down());
  }

  /** A new controller; rejects if btvirt gives none. */
  static open(path: string): Promise<BtvirtController> {
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.removeListener('error', reject);
        resolve(new BtvirtController(socket));
      });
    });
  }

  /** Links that stand, as its host was told. */
  get links(): number {
    return this.#links.size;
  }

  /** Who is told as well that a link of this one is lost. */
  facing(peer: BtvirtController): void {
    this.#peer = peer;
    peer.#peer = this;
  }

  /** Its links are lost: both hosts hear that their supervision time has run out. */
  lose(): void {
    const { disconnect } = COMMAND;
    const peer = this.#peer;
    if (peer) for (const handle of peer.#links) peer.#losing.add(handle);
    for (const handle of this.#links) {
      this.#losing.add(handle);
      this.#unasked++;
      const wish = [handle & 0xff, handle >> 8, STATUS.remoteEnded];
      this.#socket.write(
        Buffer.from([H4.command, disconnect & 0xff, disconnect >> 8, wish.length, ...wish]),
      );
    }
  }

  bindRaw(): number {
    this.#raw = true;
    return 0;
  }

  bindUser(): number {
    return 0;
  }

  bindControl(): void {}
  setFilter(): void {}
  start(): void {}
  cleanup(): void {}

  getDeviceList(): unknown[] {
    return [];
  }

  isDevUp(): boolean {
    return this.#up;
  }

  reset(): void {
    this.write(Buffer.from([H4.command, COMMAND.reset & 0xff, COMMAND.reset >> 8, 0]));
  }

  stop(): void {
    this.#socket.destroy();
  }

  write(bytes: Uint8Array): void {
    if (!this.#up) return;
    const packet = Buffer.from(bytes);
    if (packet[0] === H4.acl) {
      this.onAcl?.(packet);
      // The link it was for is being lost at this moment.
      if (this.#losing.has(packet.readUInt16LE(1) & 0x0fff)) return;
    }
    this.#socket.write(packet);
    // A raw socket of the kernel shows commands to everyone who listens, who wrote them too.
    if (this.#raw && packet[0] === H4.command) setImmediate(() => this.emit('data', packet));
  }

  #down(): void {
    if (!this.#up) return;
    this.#up = false;
    this.emit('state', false);
    this.onPower?.();
  }

  #read(bytes: Buffer): void {
    let left = Buffer.concat([this.#rest, bytes]);
    while (left.length > 0) {
      const header = HEADERS[left.readUInt8(0)];
      if (!header) {
        this.#socket.destroy(new Error(`btvirt sent a packet of type ${left[0]}`));
        return;
      }
      if (left.length < header.size) break;
      const size = header.size + header.length(left);
      if (left.length < size) break;
      this.#say(Buffer.from(left.subarray(0, size)));
      left = left.subarray(size);
    }
    this.#rest = left;
  }

  #say(packet: Buffer): void {
    if (packet[0] === H4.event) {
      const [, code, , first = 0, status] = packet;
      if (code === EVENT.le && CONNECTED.includes(first) && status === STATUS.ok) {
        this.#links.add(packet.readUInt16LE(5) & 0x0fff);
      } else if (code === EVENT.disconnected) {
        const handle = packet.readUInt16LE(4) & 0x0fff;
        this.#links.delete(handle);
        if (this.#losing.delete(handle)) packet[6] = STATUS.timeout;
      } else if (code === EVENT.commandStatus && this.#unasked > 0) {
        if (packet.readUInt16LE(5) === COMMAND.disconnect) {
          this.#unasked--;
          return;
        }
      }
    }
    this.emit('data', packet);
  }
}
