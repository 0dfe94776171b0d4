/** A token bucket that may go into debt: what has arrived is paid for by waiting. */
export class Bucket {
  #tokens: number;
  #at: number;

  /** `rate` tokens a second, at most `burst` saved; `now` in milliseconds. */
  constructor(
    private readonly rate: number,
    private readonly burst: number,
    now: number,
  ) {
    this.#tokens = burst;
    this.#at = now;
  }

  /** Takes `count` tokens if there are as many; false, and none taken, if not. */
  take(count: number, now: number): boolean {
    this.#refill(now);
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }

  /** Takes `count` tokens, also into debt; returns the milliseconds until the debt is paid. */
  charge(count: number, now: number): number {
    this.#refill(now);
    this.#tokens -= count;
    return this.#tokens >= 0 ? 0 : Math.ceil((-this.#tokens / this.rate) * 1000);
  }

  #refill(now: number): void {
    const passed = Math.max(0, now - this.#at);
    this.#at = now;
    this.#tokens = Math.min(this.burst, this.#tokens + (passed * this.rate) / 1000);
  }
}
