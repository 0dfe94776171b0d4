/** Says why a client was refused, at most once a minute for each id (field report 34). */
import type { Clock } from '../core/types.js';
import type { LinkLog } from './link.js';

const EVERY_MS = 60_000;
const MOST_IDS = 256;

export class Refusals {
  readonly #clock: Clock;
  readonly #log: LinkLog | undefined;
  readonly #said = new Map<string, number>();

  constructor(clock: Clock, log: LinkLog | undefined) {
    this.#clock = clock;
    this.#log = log;
  }

  say(id: string, why: string): void {
    const now = this.#clock.now();
    // Ids are the client's own words: shown short and escaped.
    const shown = JSON.stringify(id.slice(0, 32));
    const last = this.#said.get(shown);
    if (last !== undefined && now - last < EVERY_MS) return;
    if (last === undefined && this.#said.size >= MOST_IDS && !this.#makeRoom(now)) return;
    this.#said.set(shown, now);
    this.#log?.('refused a client', { client: shown, why });
  }

  #makeRoom(now: number): boolean {
    for (const [id, at] of this.#said) if (now - at >= EVERY_MS) this.#said.delete(id);
    return this.#said.size < MOST_IDS;
  }
}
