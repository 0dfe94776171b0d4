/**
 * Events of a board that is spoken for: kept until the gateway has stored them (amendment 6),
 * through the times when it has no path. Bounded: the oldest goes, and is counted.
 */
import { encodeMessage } from '../../../protocol/codec.js';
import type { Value } from '../../../protocol/kinds.js';
import type { Message, MessageOf } from '../../../protocol/messages.js';
import type { Clock, Timer } from '../../core/types.js';

export interface SpokenEventsDeps {
  readonly clock: Clock;
  readonly bootId: number;
  send(message: Message): void;
  count(name: string): void;
}

export const MAX_EVENTS = 64;
const AGAIN_MS = 5_000;
const AGAIN_MAX_MS = 60_000;

interface Kept {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly detail: Value;
}

export class SpokenEvents {
  readonly #deps: SpokenEventsDeps;
  #kept: Kept[] = [];
  #seq = 0;
  #live = false;
  #pauseMs = AGAIN_MS;
  #timer: Timer | undefined;

  constructor(deps: SpokenEventsDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#kept.length;
  }

  /** Throws `FrameError` for what has no form on the wire; it takes no number then. */
  add(kind: string, detail: Value): void {
    const kept: Kept = { seq: this.#seq + 1, at: this.#deps.clock.now(), kind, detail };
    encodeMessage(this.#message(kept));
    this.#seq = kept.seq;
    this.#kept.push(kept);
    if (this.#kept.length > MAX_EVENTS) {
      this.#kept.shift();
      this.#deps.count('shed.events');
    }
    if (!this.#live) return;
    this.#deps.send(this.#message(kept));
    this.#arm();
  }

  opened(): void {
    this.#live = true;
    this.#pauseMs = AGAIN_MS;
    this.#sendAll();
  }

  closed(): void {
    this.#live = false;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  stored({ bootId, seq }: MessageOf<'stored'>): void {
    if (bootId !== this.#deps.bootId) return;
    this.#kept = this.#kept.filter((kept) => kept.seq !== seq);
    this.#pauseMs = AGAIN_MS;
    if (this.#kept.length > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #sendAll(): void {
    for (const kept of this.#kept) this.#deps.send(this.#message(kept));
    if (this.#kept.length > 0) this.#arm();
  }

  #arm(): void {
    this.#timer ??= this.#deps.clock.after(this.#pauseMs, () => {
      this.#timer = undefined;
      this.#pauseMs = Math.min(AGAIN_MAX_MS, this.#pauseMs * 2);
      this.#sendAll();
    });
  }

  #message({ seq, at, kind, detail }: Kept): MessageOf<'event'> {
    const ageMs = Math.round(this.#deps.clock.now() - at);
    const { bootId } = this.#deps;
    return { type: 'event', bootId, seq, kind, detail, ...(ageMs > 0 ? { ageMs } : {}) };
  }
}
