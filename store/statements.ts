/** Prepared statements of one connection, kept by their text. */
import { storeError } from './errors.js';
import type { SqlConnection, SqlParam, SqlStatement } from './sqlite.js';

export interface Reader {
  /** The first row, or undefined. The caller names the row's type; the schema is its warrant. */
  get<T>(sql: string, params?: readonly SqlParam[]): T | undefined;
  all<T>(sql: string, params?: readonly SqlParam[]): T[];
}

export interface Sync extends Reader {
  run(sql: string, params?: readonly SqlParam[]): { changes: number; lastInsertRowid: number };
}

const MOST = 400;

export class Statements implements Sync {
  private readonly kept = new Map<string, SqlStatement>();

  constructor(private readonly connection: SqlConnection) {}

  run(sql: string, params: readonly SqlParam[] = []) {
    return this.guarded(() => this.statement(sql).run(params));
  }

  get<T>(sql: string, params: readonly SqlParam[] = []): T | undefined {
    return this.guarded(() => this.statement(sql).get(params) as T | undefined);
  }

  all<T>(sql: string, params: readonly SqlParam[] = []): T[] {
    return this.guarded(() => this.statement(sql).all(params) as T[]);
  }

  private guarded<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      throw storeError(error);
    }
  }

  private statement(sql: string): SqlStatement {
    const found = this.kept.get(sql);
    if (found) return found;
    // Texts are few; only a caller that builds them from data could fill this.
    if (this.kept.size >= MOST) this.kept.clear();
    const made = this.connection.prepare(sql);
    this.kept.set(sql, made);
    return made;
  }
}
