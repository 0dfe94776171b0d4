/**
 * SQLite by whichever engine is there: `better-sqlite3`, or Node's own from 22.13 on. Both are
 * imported only when a database is opened, so that an install needs neither.
 */
import { StoreMissing } from './errors.js';

export type SqlParam = string | number | bigint | null | Uint8Array;

export interface SqlStatement {
  run(params: readonly SqlParam[]): { changes: number; lastInsertRowid: number };
  get(params: readonly SqlParam[]): unknown;
  all(params: readonly SqlParam[]): unknown[];
}

/** One connection, synchronous. */
export interface SqlConnection {
  exec(sql: string): void;
  prepare(sql: string): SqlStatement;
  close(): void;
}

export interface SqlEngine {
  readonly name: string;
  open(file: string): SqlConnection;
}

async function betterSqlite(): Promise<SqlEngine> {
  const { default: Database } = await import('better-sqlite3');
  // The package loads without its binary and fails only here.
  new Database(':memory:').close();
  return {
    name: 'better-sqlite3',
    open(file) {
      const db = new Database(file);
      return {
        exec: (sql) => void db.exec(sql),
        close: () => void db.close(),
        prepare(sql) {
          const statement = db.prepare(sql);
          return {
            run(params) {
              const { changes, lastInsertRowid } = statement.run(...params);
              return { changes, lastInsertRowid: Number(lastInsertRowid) };
            },
            get: (params) => statement.get(...params),
            all: (params) => statement.all(...params),
          };
        },
      };
    },
  };
}

/** The part of `node:sqlite` used here; the types of Node 20 do not have it. */
interface NodeSqlite {
  DatabaseSync: new (
    file: string,
  ) => {
    exec(sql: string): void;
    close(): void;
    prepare(sql: string): {
      run(...params: SqlParam[]): { changes: number | bigint; lastInsertRowid: number | bigint };
      get(...params: SqlParam[]): unknown;
      all(...params: SqlParam[]): unknown[];
    };
  };
}

async function nodeSqlite(): Promise<SqlEngine> {
  const specifier = 'node:sqlite';
  const { DatabaseSync } = (await import(specifier)) as NodeSqlite;
  return {
    name: 'node:sqlite',
    open(file) {
      const db = new DatabaseSync(file);
      return {
        exec: (sql) => db.exec(sql),
        close: () => db.close(),
        prepare(sql) {
          const statement = db.prepare(sql);
          return {
            run(params) {
              const { changes, lastInsertRowid } = statement.run(...params);
              return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) };
            },
            get: (params) => statement.get(...params),
            all: (params) => statement.all(...params),
          };
        },
      };
    },
  };
}

/** The ways to an engine, best first. */
export const engineSources: readonly (() => Promise<SqlEngine>)[] = [betterSqlite, nodeSqlite];

/** The first engine that loads. Rejects with `StoreMissing`, which names what to install. */
export async function findEngine(sources = engineSources): Promise<SqlEngine> {
  const causes: unknown[] = [];
  for (const source of sources) {
    try {
      return await source();
    } catch (error) {
      causes.push(error);
    }
  }
  throw new StoreMissing(new AggregateError(causes, 'no engine loaded'));
}
