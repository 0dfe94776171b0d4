/** A clock that only moves when a test moves it; monotonic and wall time move apart at will. */
interface Due {
  at: number;
  order: number;
  run: () => void;
}

/** Lets everything that is only waiting for promises go on. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export class FakeClock {
  #now = 0;
  #order = 0;
  #wallOffset: number;
  readonly #due = new Set<Due>();

  /** `wall` is unix milliseconds at the start. */
  constructor(wall = Date.UTC(2026, 0, 2, 3, 4, 5)) {
    this.#wallOffset = wall;
  }

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#wallOffset + this.#now;
  }

  /** Somebody sets the date; timers must not notice. */
  jumpWall(ms: number): void {
    this.#wallOffset += ms;
  }

  after(ms: number, run: () => void): { cancel(): void } {
    const due: Due = { at: this.#now + ms, order: this.#order++, run };
    this.#due.add(due);
    return { cancel: () => void this.#due.delete(due) };
  }

  get waiting(): number {
    return this.#due.size;
  }

  /** Moves on by `ms`, running what falls due in order, promises included. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const next = [...this.#due]
        .filter((due) => due.at <= end)
        .sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (!next) break;
      this.#due.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
      await settle();
    }
    this.#now = end;
    await settle();
  }
}
