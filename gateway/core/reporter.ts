/** Tells each outcome to its door until the door has made it durable upstream. */
import { Backoff } from './backoff.js';
import type { CallRecord, Journal } from './journal.js';
import type { Clock, Door } from './types.js';

export interface ReporterDeps {
  readonly clock: Clock;
  readonly journal: Journal;
  random(): number;
  log(what: string, about: Record<string, unknown>): void;
}

export class Reporter {
  readonly #deps: ReporterDeps;
  readonly #doors = new Map<string, Door>();
  readonly #busy = new Set<string>();
  #stopped = false;

  constructor(deps: ReporterDeps) {
    this.#deps = deps;
  }

  door(name: string): Door | undefined {
    return this.#doors.get(name);
  }

  attach(name: string, door: Door): void {
    this.#doors.set(name, door);
  }

  /** Starts to report; a door that isn't attached yet gets it when it is (from the journal). */
  report(record: CallRecord): void {
    const { key, door } = record.call;
    if (this.#busy.has(key) || !this.#doors.has(door)) return;
    this.#busy.add(key);
    void this.#loop(record);
  }

  stop(): void {
    this.#stopped = true;
  }

  async #loop(record: CallRecord): Promise<void> {
    const { key, door } = record.call;
    const backoff = new Backoff(1_000, 60_000, () => this.#deps.random());
    while (!this.#stopped) {
      try {
        await this.#doors.get(door)?.report(record);
        await this.#deps.journal.reported(key);
        this.#busy.delete(key);
        await this.#forgetBlobs(record);
        return;
      } catch (error) {
        const wait = backoff.next();
        this.#deps.log('an outcome is not told yet', {
          door,
          wait: Math.round(wait),
          error: String(error),
        });
        await new Promise<void>((resolve) => this.#deps.clock.after(wait, resolve));
      }
    }
  }

  /** What the journal knew of the call's blobs; the blobs themselves are the store's to prune. */
  async #forgetBlobs(record: CallRecord): Promise<void> {
    const { outcome, call, callId } = record;
    if (outcome?.kind !== 'ok' || outcome.blobs.length === 0) return;
    await this.#deps.journal
      .put('blob', `${call.boardId}/${callId}`, undefined)
      .catch(() => undefined);
  }
}
