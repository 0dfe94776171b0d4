/**
 * Readings of a board that is spoken for: which it has, in the order of its catalog, and their
 * last values. They are live: sent once a second at most, newest wins. A value that has not changed
 * is told twice a minute, which says that it still holds.
 */
import type { Value } from '../../../protocol/kinds.js';
import type { MessageOf } from '../../../protocol/messages.js';
import type { Clock, Timer } from '../../core/types.js';

export interface SpokenReading {
  readonly name: string;
  readonly unit: string;
}

export interface SpokenReadingsDeps {
  readonly clock: Clock;
  send(message: MessageOf<'readings'>): void;
  count(name: string): void;
  /** There are new ones: the catalog must be told. */
  grown(): void;
}

/** Whoever can spoof a broadcast could invent more. */
export const MAX_READINGS = 64;
const PACE_MS = 1_000;
const REFRESH_MS = 30_000;

export class SpokenReadings {
  readonly #deps: SpokenReadingsDeps;
  readonly #defs: SpokenReading[] = [];
  readonly #indexes = new Map<string, number>();
  readonly #values = new Map<string, Value>();
  /** Names whose value was not sent, with the time since when. */
  readonly #unsent = new Map<string, number>();
  readonly #sent = new Map<string, { value: Value; at: number }>();
  #told = 0;
  #live = false;
  #timer: Timer | undefined;
  #sentAt = Number.NEGATIVE_INFINITY;

  constructor(deps: SpokenReadingsDeps) {
    this.#deps = deps;
  }

  get defs(): readonly SpokenReading[] {
    return this.#defs;
  }

  /** The last values by name. */
  all(): Record<string, Value> {
    return Object.fromEntries(this.#values);
  }

  /** Adds those that are new, in this order; `tell` where the gateway may know the catalog. */
  declare(readings: readonly SpokenReading[], tell = true): void {
    let grown = false;
    for (const { name, unit } of readings) {
      if (this.#indexes.has(name)) continue;
      if (this.#defs.length >= MAX_READINGS) {
        this.#deps.count('shed.reading');
        continue;
      }
      this.#indexes.set(name, this.#defs.length);
      this.#defs.push({ name, unit });
      grown = true;
    }
    if (grown && tell) this.#deps.grown();
  }

  /** New values by name, of readings that were declared. */
  put(values: Record<string, Value>): void {
    const now = this.#deps.clock.now();
    for (const [name, value] of Object.entries(values)) {
      if (!this.#indexes.has(name)) continue;
      this.#values.set(name, value);
      const sent = this.#sent.get(name);
      if (sent && sent.value === value && now - sent.at < REFRESH_MS) this.#unsent.delete(name);
      else this.#unsent.set(name, now);
    }
    if (this.#live) this.#soon();
  }

  /** The catalog as it stands now is what the gateway will know. */
  greeting(): void {
    this.closed();
    this.#told = this.#defs.length;
  }

  opened(): void {
    this.#live = true;
    this.#soon();
  }

  /** What was not sent stays for the next greeting, with its age. */
  closed(): void {
    this.#live = false;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #soon(): void {
    if (this.#timer || this.#unsent.size === 0) return;
    const wait = this.#sentAt + PACE_MS - this.#deps.clock.now();
    if (wait <= 0) this.#send();
    else {
      this.#timer = this.#deps.clock.after(wait, () => {
        this.#timer = undefined;
        this.#send();
      });
    }
  }

  #send(): void {
    const now = this.#deps.clock.now();
    const values = new Map<number, Value>();
    let since = now;
    for (const [name, at] of this.#unsent) {
      const index = this.#indexes.get(name);
      if (index === undefined || index >= this.#told) continue;
      const value = this.#values.get(name) ?? null;
      values.set(index, value);
      this.#sent.set(name, { value, at: now });
      since = Math.min(since, at);
      this.#unsent.delete(name);
    }
    if (values.size === 0) return;
    this.#sentAt = now;
    const ageMs = Math.round(now - since);
    this.#deps.send({ type: 'readings', values, ...(ageMs > 0 ? { ageMs } : {}) });
  }
}
