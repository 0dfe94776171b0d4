/**
 * Lets sockets in at a bounded rate: a reconnect storm waits its turn (field report on brokers in
 * `figures.md`: each connect costs 0.3 ms of CPU), and beyond the bound the newest is turned away.
 */
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../core/types.js';
import { Bucket } from './bucket.js';

export interface QueueLimits {
  connectsPerS: number;
  connectBurst: number;
  /** Sockets that may wait at once. */
  maxWaiting: number;
}

const TURN_MS = 20;

export class DoorQueue {
  readonly #clock: Clock;
  readonly #limits: QueueLimits;
  readonly #admit: (socket: Socket) => void;
  readonly #bucket: Bucket;
  readonly #waiting = new Set<Socket>();
  #turn: Timer | undefined;

  constructor(clock: Clock, limits: QueueLimits, admit: (socket: Socket) => void) {
    this.#clock = clock;
    this.#limits = limits;
    this.#admit = admit;
    this.#bucket = new Bucket(limits.connectsPerS, limits.connectBurst, clock.now());
  }

  /** False where the socket was turned away. */
  arrive(socket: Socket): boolean {
    if (this.#waiting.size === 0 && this.#bucket.take(1, this.#clock.now())) {
      this.#admit(socket);
      return true;
    }
    if (this.#waiting.size >= this.#limits.maxWaiting) {
      socket.on('error', () => {});
      socket.destroy();
      return false;
    }
    this.#waiting.add(socket);
    // The socket's next owner hears of errors itself; until then they end it, no more.
    socket.on('error', () => {});
    socket.once('close', () => this.#waiting.delete(socket));
    this.#turn ??= this.#clock.after(TURN_MS, () => this.#next());
    return true;
  }

  close(): void {
    this.#turn?.cancel();
    for (const socket of this.#waiting) socket.destroy();
    this.#waiting.clear();
  }

  #next(): void {
    this.#turn = undefined;
    for (const socket of this.#waiting) {
      if (!this.#bucket.take(1, this.#clock.now())) break;
      this.#waiting.delete(socket);
      this.#admit(socket);
    }
    if (this.#waiting.size > 0) this.#turn = this.#clock.after(TURN_MS, () => this.#next());
  }
}
