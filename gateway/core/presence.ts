/**
 * Whether a board can be called, as a claim about a path that was just used (house.md
 * "Delivery" 8): online while frames come, asleep until it said, unreachable otherwise.
 */
import type { Clock, Presence, Timer } from './types.js';

/** Silence after which a board is unreachable, in beats. */
const BEATS = 2.5;
/** A sleeper may be this much late before it is missed: a tenth of its sleep, or this. */
const SLEEP_MARGIN_MS = 30_000;

export class PresenceWatch {
  #state: Presence = { state: 'unreachable', since: 0 };
  #timer: Timer | undefined;
  readonly #clock: Clock;
  readonly #beatMs: number;
  readonly #changed: () => void;
  readonly #lost: () => void;

  /** `lost` is called when an online board has been silent for too long. */
  constructor(clock: Clock, beatS: number, changed: () => void, lost: () => void) {
    this.#clock = clock;
    this.#beatMs = beatS * 1000 * BEATS;
    this.#changed = changed;
    this.#lost = lost;
  }

  get state(): Presence {
    return this.#state;
  }

  get online(): boolean {
    return this.#state.state === 'online';
  }

  /** A board that is ready for calls. */
  up(): void {
    if (!this.online) this.#become({ state: 'online', since: this.#clock.wall() });
    this.heard();
  }

  /** A frame came: the silence starts anew. */
  heard(): void {
    if (!this.online) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.after(this.#beatMs, () => {
      this.down();
      this.#lost();
    });
  }

  asleep(seconds: number): void {
    const ms = seconds * 1000;
    const now = this.#clock.wall();
    this.#become({ state: 'asleep', since: now, until: now + ms });
    this.#timer = this.#clock.after(ms + Math.max(SLEEP_MARGIN_MS, ms / 10), () => this.down());
  }

  /** The path ended. A sleeper's path may: it said when it is back. */
  closed(): void {
    if (this.#state.state !== 'asleep') this.down();
  }

  down(): void {
    if (this.#state.state === 'unreachable' && this.#state.since > 0) return;
    this.#become({ state: 'unreachable', since: this.#clock.wall() });
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #become(state: Presence): void {
    this.#timer?.cancel();
    this.#state = state;
    this.#changed();
  }
}
