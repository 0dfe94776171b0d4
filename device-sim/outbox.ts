/**
 * Stored messages (amendment 6): kept by the board in one sequence until the gateway says that it
 * has stored them. The queue is bounded; when it is full the oldest goes, and is counted.
 */
import { encodeMessage } from '../protocol/codec.js';
import type { Message, MessageOf } from '../protocol/messages.js';
import type { BoardClock } from './types.js';

type Stored = 'event' | 'transcript' | 'taskResult' | 'storedReadings';
type Body<N extends Stored> = Omit<MessageOf<N>, 'bootId' | 'seq' | 'ageMs'>;
export type OutboxItem = { [N in Stored]: Body<N> }[Stored];

export interface OutboxDeps {
  readonly clock: BoardClock;
  readonly bootId: number;
  readonly capacity: number;
  send(message: Message): void;
  maxOut(): number;
}

/** Messages that may be on their way at once. */
const IN_FLIGHT = 8;
const RESEND_MS = 5_000;
const RESEND_MAX_MS = 60_000;

interface Kept {
  seq: number;
  at: number;
  item: OutboxItem;
  sent: boolean;
}

export class Outbox {
  readonly #deps: OutboxDeps;
  #queue: Kept[] = [];
  #seq = 0;
  #live = false;
  #tries = 0;
  #timer: { cancel(): void } | undefined;
  /** Messages that were lost because the queue was full, or too large for the gateway. */
  dropped = 0;

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#queue.length;
  }

  /** Keeps a message. False if an older one had to go for it. Throws FrameError if it can't travel. */
  add(item: OutboxItem): boolean {
    const kept = { seq: this.#seq + 1, at: this.#deps.clock.now(), item, sent: false };
    encodeMessage(this.#message(kept));
    this.#seq = kept.seq;
    this.#queue.push(kept);
    const full = this.#queue.length > this.#deps.capacity;
    if (full) {
      this.#queue.shift();
      this.dropped++;
    }
    this.#pump();
    return !full;
  }

  /** A gateway has greeted: everything is sent again, oldest first. */
  opened(): void {
    this.#live = true;
    this.#tries = 0;
    for (const kept of this.#queue) kept.sent = false;
    this.#pump();
  }

  closed(): void {
    this.#live = false;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  stored(bootId: number, seq: number): void {
    if (bootId !== 0 && bootId !== this.#deps.bootId) return;
    const before = this.#queue.length;
    this.#queue = this.#queue.filter((kept) => kept.seq !== seq);
    if (this.#queue.length === before) return;
    this.#tries = 0;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#pump();
  }

  #pump(): void {
    if (!this.#live) return;
    for (const kept of this.#queue.slice(0, IN_FLIGHT)) {
      if (kept.sent) continue;
      kept.sent = true;
      const message = this.#message(kept);
      if (encodeMessage(message).length > this.#deps.maxOut()) {
        this.#queue = this.#queue.filter((other) => other !== kept);
        this.dropped++;
      } else this.#deps.send(message);
    }
    if (this.#queue.length > 0) this.#arm();
  }

  #arm(): void {
    if (this.#timer) return;
    const pause = Math.min(RESEND_MAX_MS, RESEND_MS * 2 ** this.#tries);
    this.#timer = this.#deps.clock.after(pause, () => {
      this.#timer = undefined;
      this.#tries = Math.min(this.#tries + 1, 10);
      for (const kept of this.#queue) kept.sent = false;
      this.#pump();
    });
  }

  /** Boot id 0 means this boot: the queue doesn't outlive it. */
  #message(kept: Kept): Message {
    const ageMs = Math.round(this.#deps.clock.now() - kept.at);
    return { ...kept.item, bootId: 0, seq: kept.seq, ...(ageMs > 0 ? { ageMs } : {}) } as Message;
  }
}
