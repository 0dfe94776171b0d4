/** The door of callers in this process: the outcome is told by resolving their promise. */
import type { CallRecord } from './journal.js';
import type { Door, Outcome } from './types.js';

export const LOCAL_DOOR = 'local';

export class LocalDoor implements Door {
  readonly #waiting = new Map<string, (outcome: Outcome) => void>();
  readonly #drop: (key: string) => Promise<void>;

  constructor(drop: (key: string) => Promise<void>) {
    this.#drop = drop;
  }

  wait(key: string): Promise<Outcome> {
    return new Promise((resolve) => this.#waiting.set(key, resolve));
  }

  forget(key: string): void {
    this.#waiting.delete(key);
  }

  /** Whoever asked is gone with the process that asked. */
  resume(record: CallRecord): Promise<void> {
    return this.#drop(record.call.key);
  }

  async report(record: CallRecord): Promise<void> {
    const resolve = this.#waiting.get(record.call.key);
    this.#waiting.delete(record.call.key);
    if (record.outcome) resolve?.(record.outcome);
  }
}
