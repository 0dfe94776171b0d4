/** A durable SQLite database: group commit for writes, a connection of its own for reads. */
import { StoreUnavailable, storeError } from './errors.js';
import { GroupCommit } from './group.js';
import { findEngine, type SqlConnection, type SqlEngine } from './sqlite.js';
import { type Reader, Statements, type Sync } from './statements.js';

export interface Database {
  /** Which engine it runs on, for people. */
  readonly engine: string;
  /**
   * Resolves when the write is on the disk. `run` is synchronous, touches only the database and
   * may be called twice. Rejects with what `run` threw (its own write undone, no other), or with
   * `StoreUnavailable`. One that `mayWait` shares the transaction of the next that may not, or has
   * its own some milliseconds later.
   */
  write<T>(run: (db: Sync) => T, mayWait?: boolean): Promise<T>;
  /** Sees only what is committed. Throws `StoreUnavailable`. */
  read<T>(run: (db: Reader) => T): T;
  /** Commits what is queued, then closes. Writes after this are refused. */
  close(): Promise<void>;
}

export interface OpenOptions {
  engine?: SqlEngine;
  /** How long a statement waits for another process's lock, in milliseconds. */
  busyMs?: number;
}

function connect(engine: SqlEngine, file: string, busyMs: number): SqlConnection {
  const connection = engine.open(file);
  try {
    connection.exec(`PRAGMA busy_timeout = ${busyMs}`);
    connection.exec('PRAGMA journal_mode = WAL');
    connection.exec('PRAGMA synchronous = FULL');
    connection.exec('PRAGMA foreign_keys = ON');
    // Reads the header, so that a file that is no database is refused here.
    connection.exec('SELECT count(*) FROM sqlite_schema');
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
}

/**
 * Opens or makes the database at `file` (`:memory:` for one that is gone on close). Rejects with
 * `StoreMissing` (no engine) or `StoreUnavailable`.
 */
export async function openDatabase(file: string, options: OpenOptions = {}): Promise<Database> {
  const engine = options.engine ?? (await findEngine());
  const busyMs = options.busyMs ?? 2_000;
  let writer: SqlConnection | undefined;
  let reader: SqlConnection;
  try {
    writer = connect(engine, file, busyMs);
    // One transaction never outlives a turn of the event loop, so a database in memory, which
    // has but one connection, shows readers nothing uncommitted either.
    reader = file === ':memory:' ? writer : connect(engine, file, busyMs);
    if (reader !== writer) reader.exec('PRAGMA query_only = ON');
  } catch (error) {
    writer?.close();
    throw storeError(error);
  }
  const own = writer;
  const group = new GroupCommit(new Statements(own), (sql) => own.exec(sql));
  const statements = new Statements(reader);
  let closed = false;
  return {
    engine: engine.name,
    write: (run, mayWait) => group.write(run, mayWait),
    read(run) {
      if (closed) throw new StoreUnavailable('closed');
      return run(statements);
    },
    async close() {
      if (closed) return;
      closed = true;
      group.close();
      if (reader !== own) reader.close();
      own.close();
    },
  };
}
