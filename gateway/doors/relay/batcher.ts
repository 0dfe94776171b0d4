/**
 * Requests that come together go together: what is added in one turn, or while a request is
 * under way, shares the next one. What fails for now is tried again, in order, until it is done.
 */
import { Backoff } from '../../core/backoff.js';
import type { Clock, Timer } from '../../core/types.js';
import { HubUnreachable, isTransient } from './client.js';

export interface BatcherOptions<T, R> {
  clock: Clock;
  /** 0 to below 1. */
  random: () => number;
  max: number;
  /** Results in the order of the items. */
  run(items: T[]): Promise<R[]>;
  /** Told of each failure that is tried again after `waitMs`. */
  failed(error: unknown, waitMs: number): void;
}

interface Waiting<T, R> {
  item: T;
  resolve(result: R): void;
  reject(error: unknown): void;
}

/** Requests under way at once: the second fills the round trip of the first. */
const FLIGHTS = 2;

export class Batcher<T, R> {
  readonly #options: BatcherOptions<T, R>;
  readonly #backoff: Backoff;
  #queue: Waiting<T, R>[] = [];
  #flights = 0;
  #timer: Timer | undefined;
  #max: number;
  #stopped = false;

  constructor(options: BatcherOptions<T, R>) {
    this.#options = options;
    this.#max = options.max;
    this.#backoff = new Backoff(500, 60_000, options.random);
  }

  get size(): number {
    return this.#queue.length;
  }

  /** Rejects when the hub refuses this item for good, or on `stop`. */
  add(item: T): Promise<R> {
    if (this.#stopped) return Promise.reject(stopped());
    return new Promise<R>((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      this.#schedule(0);
    });
  }

  /** The hub is there again: no need to wait out the back-off. */
  hurry(): void {
    if (this.#queue.length === 0 || this.#stopped) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#schedule(0);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    for (const { reject } of this.#queue) reject(stopped());
    this.#queue = [];
  }

  #schedule(ms: number): void {
    if (this.#timer || this.#stopped || this.#flights >= FLIGHTS) return;
    this.#timer = this.#options.clock.after(ms, () => {
      this.#timer = undefined;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    const batch = this.#queue.splice(0, this.#max);
    if (batch.length === 0) return;
    this.#flights++;
    let wait = 0;
    try {
      const results = await this.#options.run(batch.map(({ item }) => item));
      this.#backoff.reset();
      this.#max = this.#options.max;
      batch.forEach(({ resolve, reject }, i) => {
        const result = results[i];
        if (result === undefined) reject(new HubUnreachable('the hub left an item out'));
        else resolve(result);
      });
    } catch (error) {
      wait = this.#after(batch, error);
    }
    this.#flights--;
    if (this.#queue.length > 0) this.#schedule(wait);
  }

  /** What becomes of a batch that failed; the wait before the next request. */
  #after(batch: Waiting<T, R>[], error: unknown): number {
    if (this.#stopped) {
      for (const { reject } of batch) reject(error);
      return 0;
    }
    if (!isTransient(error)) {
      if (batch.length === 1) {
        batch[0]?.reject(error);
        return 0;
      }
      // One of them is at fault: smaller batches find it and let the others through.
      this.#max = Math.max(1, Math.floor(batch.length / 2));
      this.#queue.unshift(...batch);
      return 0;
    }
    this.#queue.unshift(...batch);
    const wait = this.#backoff.next();
    this.#options.failed(error, wait);
    return wait;
  }
}

function stopped(): HubUnreachable {
  return new HubUnreachable('the relay door has stopped', false);
}
