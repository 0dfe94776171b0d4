/** How long a broadcasting board may be silent: learned from how often it is heard. */

/** Hearings closer than this are one burst. */
const BURST_MS = 5_000;
const INTERVALS = 3;
/** A gap counts for less with each that follows, so that one absence is forgotten. */
const FADE = 0.9;
const MINUTE = 60_000;
/** Those that send by themselves, and those that send when something happens. */
const BOUNDS = {
  regular: [5 * MINUTE, 60 * MINUTE],
  trigger: [60 * MINUTE, 24 * 60 * MINUTE],
} as const;

export class Hearing {
  #heardAt: number | undefined;
  #gapMs = 0;

  /** Milliseconds on a clock that never jumps; undefined before the first. */
  get heardAt(): number | undefined {
    return this.#heardAt;
  }

  /** It was heard; returns the milliseconds after which it is gone if it stays silent. */
  heard(now: number, trigger: boolean): number {
    const gap = this.#heardAt === undefined ? 0 : now - this.#heardAt;
    if (gap >= BURST_MS) this.#gapMs = Math.max(gap, this.#gapMs * FADE);
    this.#heardAt = now;
    const [least, most] = trigger ? BOUNDS.trigger : BOUNDS.regular;
    return Math.min(most, Math.max(least, INTERVALS * this.#gapMs));
  }
}
