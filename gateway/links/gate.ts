/**
 * Stands between a board's socket and the broker: no packet over the cap is let in, what comes
 * too fast waits in the socket (so TCP slows the sender down), and what the board does not read
 * is measured.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { Clock, Timer } from '../core/types.js';
import { Bucket } from './bucket.js';
import { PacketMeter } from './packet-meter.js';

export interface GateLimits {
  /** Bytes of the packets before the board is known (its CONNECT), and after. */
  maxConnectPacket: number;
  maxPacket: number;
  /** Sustained, and saved up at most, per connection. */
  messagesPerS: number;
  messageBurst: number;
  bytesPerS: number;
  byteBurst: number;
}

export class Gate extends Duplex {
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #limits: GateLimits;
  readonly #count: (name: string) => void;
  readonly #meter: PacketMeter;
  readonly #messages: Bucket;
  readonly #bytes: Bucket;
  #held: Timer | undefined;
  #wanted = false;
  /** Acknowledgements that the board owes. */
  #owed = 0;

  constructor(socket: Socket, clock: Clock, limits: GateLimits, count: (name: string) => void) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    this.#clock = clock;
    this.#limits = limits;
    this.#count = count;
    this.#meter = new PacketMeter(limits.maxConnectPacket);
    const now = clock.now();
    this.#messages = new Bucket(limits.messagesPerS, limits.messageBurst, now);
    this.#bytes = new Bucket(limits.bytesPerS, limits.byteBurst, now);
    socket.on('data', (chunk: Buffer) => this.#arrived(chunk));
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
    socket.pause();
  }

  /** The board is known: larger packets may come. */
  welcome(): void {
    this.#meter.maxPacket = this.#limits.maxPacket;
  }

  /**
   * A packet was sent that the board acknowledges. That one PUBACK costs it nothing, since its
   * rate is our own; what it acknowledges beyond that is charged as all else.
   */
  owe(): void {
    this.#owed += 1;
  }

  /** Bytes that the board has not read yet, the kernel's buffers left aside. */
  backlog(): number {
    return this.writableLength + this.#socket.writableLength;
  }

  override _read(): void {
    this.#wanted = true;
    if (!this.#held) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    if (this.#socket.write(chunk)) done();
    else this.#socket.once('drain', () => done());
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error) => void): void {
    this.#socket.cork();
    let free = true;
    for (const { chunk } of chunks) free = this.#socket.write(chunk);
    this.#socket.uncork();
    if (free) done();
    else this.#socket.once('drain', () => done());
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#held?.cancel();
    this.#socket.destroy();
    done(error);
  }

  #arrived(chunk: Buffer): void {
    const { packets, acks } = this.#meter;
    const fault = this.#meter.feed(chunk);
    if (fault) {
      this.#count(fault);
      this.destroy();
      return;
    }
    const free = Math.min(this.#meter.acks - acks, this.#owed);
    this.#owed -= free;
    const now = this.#clock.now();
    const wait = Math.max(
      this.#messages.charge(this.#meter.packets - packets - free, now),
      this.#bytes.charge(chunk.length, now),
    );
    this.#wanted = this.push(chunk);
    if (wait > 0) this.#hold(wait);
    else if (!this.#wanted) this.#socket.pause();
  }

  #hold(ms: number): void {
    this.#count('throttled');
    this.#socket.pause();
    this.#held = this.#clock.after(ms, () => {
      this.#held = undefined;
      if (this.#wanted) this.#socket.resume();
    });
  }
}
