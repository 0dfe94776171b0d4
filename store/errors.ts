/** Why a store could not do what was asked of it. */
export type StoreFault = 'full' | 'io' | 'locked' | 'readonly' | 'corrupt' | 'closed';

const words: Record<StoreFault, string> = {
  full: 'the disk (or the size allowed to the database) is full; make room and try again',
  io: 'the disk did not read or write; look at the disk, then try again',
  locked: 'another process holds the database; end it, then try again',
  readonly: 'the database may not be written by this user; mend its permissions',
  corrupt: 'the file is not a sound database; restore it from a copy',
  closed: 'the database is closed; nothing can be stored any more',
};

/** Nothing of the refused write is kept, and nothing of it may be acknowledged. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  readonly fault: StoreFault;
  constructor(fault: StoreFault, cause?: unknown) {
    super(`Nothing was stored: ${words[fault]}.`, { cause });
    this.fault = fault;
  }
}

/** No SQLite for this Node. */
export class StoreMissing extends Error {
  override readonly name = 'StoreMissing';
  constructor(cause?: unknown) {
    super(
      'No SQLite found, so nothing was opened. Run `npm install better-sqlite3` ' +
        '(it needs a C++ compiler and Python where no binary fits), or use Node 22.13 or newer.',
      { cause },
    );
  }
}

/** Primary result codes of SQLite (`sqlite3.h`), by their number and by their name. */
const faults: readonly (readonly [number, string, StoreFault])[] = [
  [5, 'SQLITE_BUSY', 'locked'],
  [6, 'SQLITE_LOCKED', 'locked'],
  [7, 'SQLITE_NOMEM', 'io'],
  [8, 'SQLITE_READONLY', 'readonly'],
  [10, 'SQLITE_IOERR', 'io'],
  [11, 'SQLITE_CORRUPT', 'corrupt'],
  [13, 'SQLITE_FULL', 'full'],
  [14, 'SQLITE_CANTOPEN', 'io'],
  [26, 'SQLITE_NOTADB', 'corrupt'],
];

/**
 * Turns what an engine threw into `StoreUnavailable` where the cause lies outside the statement
 * (disk, locks); anything else (a broken constraint, a bug) comes back as it is.
 */
export function storeError(error: unknown): unknown {
  if (error === null || typeof error !== 'object') return error;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  for (const [number, name, fault] of faults) {
    const byName = typeof code === 'string' && (code === name || code.startsWith(`${name}_`));
    // Extended codes keep the primary one in their low byte.
    const byNumber = typeof errcode === 'number' && (errcode & 0xff) === number;
    if (byName || byNumber) return new StoreUnavailable(fault, error);
  }
  return error;
}
