/**
 * Group commit: writes asked for in one turn of the event loop share a transaction, and so one
 * sync of the disk. Each has its own savepoint, so one that fails takes nothing else with it.
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

export class GroupCommit {
  private waiting: Waiting[] = [];
  private scheduled: NodeJS.Immediate | undefined;
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
  write<T>(run: (db: Sync) => T): Promise<T> {
    if (this.closed) return Promise.reject(new StoreUnavailable('closed'));
    return new Promise<T>((resolve, reject) => {
      this.waiting.push({ run, done: (value) => resolve(value as T), failed: reject });
      this.scheduled ??= setImmediate(() => this.flush());
    });
  }

  /** Commits what is queued and refuses the rest. */
  close(): void {
    this.closed = true;
    if (this.scheduled) clearImmediate(this.scheduled);
    this.flush();
  }

  private flush(): void {
    this.scheduled = undefined;
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
