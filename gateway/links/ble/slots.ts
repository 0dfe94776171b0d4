/**
 * How many connections the adapter carries. Nobody can ask it: an option says, or a refusal
 * teaches, which is doubted again after a while (another program may have held the rest).
 */
import type { Clock } from '../../core/types.js';

const DOUBT_MS = 600_000;
/** More than any adapter is known to carry; only a bound. */
const MOST = 64;

export class Slots {
  readonly #clock: Clock;
  readonly #most: number;
  #learned: { limit: number; at: number } | undefined;

  constructor(clock: Clock, most = MOST) {
    this.#clock = clock;
    this.#most = Math.max(1, most);
  }

  get limit(): number {
    const learned = this.#learned;
    if (learned && this.#clock.now() - learned.at >= DOUBT_MS) this.#learned = undefined;
    return Math.min(this.#most, this.#learned?.limit ?? this.#most);
  }

  /** The adapter refused one more while it carried `live`. */
  refusedAt(live: number): void {
    this.#learned = { limit: Math.max(1, live), at: this.#clock.now() };
  }
}
