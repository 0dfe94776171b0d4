/**
 * Three 401s spread over five minutes halt a board's dealings with a tiny hub (wire document,
 * B4); any 200 lifts it. One 401 may be a fault of the hub's, so its identity is never erased.
 */
const STRIKES = 3;
const SPREAD_MS = 300_000;

export class Strikes {
  #count = 0;
  #first = 0;
  #halted = false;

  get halted(): boolean {
    return this.#halted;
  }

  /** `now` in milliseconds on the monotonic clock. */
  unauthorized(now: number): void {
    if (this.#count === 0) this.#first = now;
    this.#count++;
    if (this.#count >= STRIKES && now - this.#first >= SPREAD_MS) this.#halted = true;
  }

  accepted(): void {
    this.#count = 0;
    this.#halted = false;
  }
}
