/** Waits that double up to a cap, with half of each drawn at random so that peers spread. */
export class Backoff {
  #next: number;
  readonly #first: number;
  readonly #cap: number;
  readonly #random: () => number;

  /** `first` and `cap` in milliseconds; `random` gives 0 to below 1. */
  constructor(first: number, cap: number, random: () => number) {
    this.#first = first;
    this.#cap = cap;
    this.#random = random;
    this.#next = first;
  }

  next(): number {
    const wait = this.#next;
    this.#next = Math.min(this.#cap, wait * 2);
    return wait / 2 + (wait / 2) * this.#random();
  }

  reset(): void {
    this.#next = this.#first;
  }
}
