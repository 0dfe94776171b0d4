/**
 * Group commit: writes asked for in one turn of the event loop share a transaction, and so one
 * sync of the disk. Each has its own savepoint, so one that fails takes nothing else with it.
 * A write that nobody waits for goes with the next one, and so costs no sync of its own.
 */
import { StoreUnavailable, storeError } from './errors.js';
import type { Sync } from './statements.js';

interface Waiting {
  run: (db: Sync) => unknown;
  done: (value: unknown) => void;
  failed: (error: unknown) => void;
}

interface Result {
  entry: Waiting;
  value: unknown;
}

/** Milliseconds until a write that may wait is committed, if no other comes before. */
const WAIT_MS = 20;

export class GroupCommit {
  private waiting: Waiting[] = [];
  private scheduled: NodeJS.Immediate | undefined;
  private later: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(
    private readonly db: Sync,
    private readonly exec: (sql: string) => void,
  ) {}

  /**
   * Resolves with what `run` returned once COMMIT came back. `run` may be called again when the
   * engine gave up the whole transaction because of a neighbour, so it changes nothing but the
   * database. Rejects with what `run` threw, or with `StoreUnavailable`.
   */
  write<T>(run: (db: Sync) => T, mayWait = false): Promise<T> {
    if (this.closed) return Promise.reject(new StoreUnavailable('closed'));
    return new Promise<T>((resolve, reject) => {
      this.waiting.push({ run, done: (value) => resolve(value as T), failed: reject });
      if (mayWait) this.later ??= setTimeout(() => this.flush(), WAIT_MS);
      else this.scheduled ??= setImmediate(() => this.flush());
    });
  }

  /** Commits what is queued and refuses the rest. */
  close(): void {
    this.closed = true;
    this.flush();
  }

  private flush(): void {
    if (this.scheduled) clearImmediate(this.scheduled);
    clearTimeout(this.later);
    this.scheduled = this.later = undefined;
    let batch = this.waiting;
    this.waiting = [];
    // A neighbour that makes the engine drop the transaction leaves the batch; the rest goes
    // again. Each round loses at least one entry, so this ends.
    while (batch.length > 0) {
      const outcome = this.attempt(batch);
      if (outcome.again.length > 0) {
        batch = outcome.again;
        continue;
      }
      for (const { entry, value } of outcome.kept) entry.done(value);
      return;
    }
  }

  private attempt(batch: Waiting[]): { kept: Result[]; again: Waiting[] } {
    const none = { kept: [], again: [] };
    try {
      this.exec('BEGIN IMMEDIATE');
    } catch (error) {
      for (const entry of batch) entry.failed(storeError(error));
      return none;
    }
    // Alone in its transaction, one needs no savepoint: what undoes it undoes nothing else.
    const alone = batch.length === 1;
    const kept: Result[] = [];
    for (const [index, entry] of batch.entries()) {
      try {
        if (!alone) this.exec('SAVEPOINT one');
        const value = entry.run(this.db);
        if (value instanceof Promise) throw new TypeError('a write must be synchronous');
        if (!alone) this.exec('RELEASE one');
        kept.push({ entry, value });
      } catch (error) {
        entry.failed(storeError(error));
        if (!alone && this.undoOne()) continue;
        if (alone) this.rollback();
        return { kept: [], again: [...kept.map((k) => k.entry), ...batch.slice(index + 1)] };
      }
    }
    try {
      this.exec('COMMIT');
    } catch (error) {
      this.rollback();
      for (const { entry } of kept) entry.failed(storeError(error));
      return none;
    }
    return { kept, again: [] };
  }

  /** False where the engine has dropped the whole transaction (a full disk does that). */
  private undoOne(): boolean {
    try {
      this.exec('ROLLBACK TO one');
      this.exec('RELEASE one');
      return true;
    } catch {
      this.rollback();
      return false;
    }
  }

  private rollback(): void {
    try {
      this.exec('ROLLBACK');
    } catch {
      // Nothing was open any more.
    }
  }
}
