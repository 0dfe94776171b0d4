/** Smooth noise between −1 and 1 (value noise): random at whole numbers, eased between them. */
export class Noise {
  readonly #random: () => number;
  #index = Number.NaN;
  #from = 0;
  #to = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** `t` only grows; a step over many numbers at once starts afresh. */
  at(t: number): number {
    const index = Math.floor(t);
    if (index !== this.#index) {
      this.#from = index === this.#index + 1 ? this.#to : this.#random() * 2 - 1;
      this.#to = this.#random() * 2 - 1;
      this.#index = index;
    }
    const part = t - index;
    const eased = part * part * (3 - 2 * part);
    return this.#from + (this.#to - this.#from) * eased;
  }
}

/** Without the binary dust: `round(21.370000001, 2)` is 21.37. */
export function round(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}
