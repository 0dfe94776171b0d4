/** A clock that moves only when told: whole days of a board pass in milliseconds. */
import type { BoardClock } from '../types.js';

interface Due {
  at: number;
  order: number;
  run: () => void;
}

export class VirtualClock implements BoardClock {
  #now = 0;
  #order = 0;
  readonly #due = new Set<Due>();

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): { cancel(): void } {
    const due = { at: this.#now + Math.max(0, ms), order: this.#order++, run };
    this.#due.add(due);
    return { cancel: () => this.#due.delete(due) };
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#due.size;
  }

  /** Lets time pass, running what falls due in order, with promises settled after each. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#due.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
      await settle();
    }
    this.#now = end;
  }

  #next(end: number): Due | undefined {
    let first: Due | undefined;
    for (const due of this.#due) {
      if (due.at > end) continue;
      if (!first || due.at < first.at || (due.at === first.at && due.order < first.order))
        first = due;
    }
    return first;
  }
}

/** Promises that are ready have run their course after this, a few levels deep. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 12; i++) await Promise.resolve();
}

/** Numbers from 0 up to 1 that are the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
