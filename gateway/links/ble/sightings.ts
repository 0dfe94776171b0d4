/** Boards heard lately, for people who look for one; bounded, whatever the air is full of. */
import type { Clock } from '../../core/types.js';
import type { Sighting } from './profile.js';

const MOST = 256;
const FORGET_MS = 60_000;

export class Sightings {
  readonly #clock: Clock;
  /** By address, the longest unheard first. */
  readonly #seen = new Map<string, { sighting: Sighting; at: number }>();
  readonly #watchers = new Set<(sighting: Sighting) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Someone is looking: scan even if every known board is connected. */
  get watched(): boolean {
    return this.#watchers.size > 0;
  }

  watch(run: (sighting: Sighting) => void): () => void {
    const own = (sighting: Sighting): void => run(sighting);
    this.#watchers.add(own);
    return () => void this.#watchers.delete(own);
  }

  saw(sighting: Sighting): void {
    this.#seen.delete(sighting.address);
    this.#seen.set(sighting.address, { sighting, at: this.#clock.now() });
    if (this.#seen.size > MOST) {
      for (const oldest of this.#seen.keys()) {
        this.#seen.delete(oldest);
        break;
      }
    }
    for (const run of [...this.#watchers]) run(sighting);
  }

  /** Strongest first. */
  all(): Sighting[] {
    const since = this.#clock.now() - FORGET_MS;
    for (const [address, { at }] of this.#seen) {
      if (at < since) this.#seen.delete(address);
    }
    const strength = (rssi: number): number => (rssi === 127 ? -127 : rssi);
    return [...this.#seen.values()]
      .map(({ sighting }) => sighting)
      .sort((a, b) => strength(b.rssi) - strength(a.rssi));
  }

  clear(): void {
    this.#seen.clear();
  }
}
