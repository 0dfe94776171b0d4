/**
 * Calls that their board was told to stop and that may run until it says so: each takes one of the
 * board's places until then, or for a while.
 */
import type { Message } from '../../protocol/messages.js';
import type { Clock, Timer } from './types.js';

export class Stopping {
  readonly #clock: Clock;
  readonly #ms: number;
  /** A place has come free. */
  readonly #free: () => void;
  readonly #calls = new Map<number, Timer>();

  constructor(clock: Clock, ms: number, free: () => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#free = free;
  }

  get size(): number {
    return this.#calls.size;
  }

  tell(callId: number, session: { send(message: Message): void }): void {
    session.send({ type: 'cancel', callId });
    this.#calls.get(callId)?.cancel();
    this.#calls.set(
      callId,
      this.#clock.after(this.#ms, () => this.ended(callId)),
    );
  }

  ended(callId: number): void {
    this.#calls.get(callId)?.cancel();
    if (this.#calls.delete(callId)) this.#free();
  }

  clear(): void {
    for (const timer of this.#calls.values()) timer.cancel();
    this.#calls.clear();
  }
}
