/**
 * Kysely writes and types the SQL; the store runs it. A query is compiled once, with named
 * places for its parameters, and then costs a lookup of its prepared statement.
 */
import {
  type Compilable,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Reader, SqlParam, Sync } from '../../store/index.js';
import type { Schema } from './schema.js';

export const tables = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

class Place {
  constructor(readonly name: string) {}
}

type Params = Record<string, SqlParam>;

export class Query<P extends Params, R> {
  constructor(
    private readonly sql: string,
    private readonly places: readonly unknown[],
  ) {}

  all(db: Reader, params: P): R[] {
    return db.all<R>(this.sql, this.bind(params));
  }

  get(db: Reader, params: P): R | undefined {
    return db.get<R>(this.sql, this.bind(params));
  }

  /** How many rows it changed. */
  run(db: Sync, params: P): number {
    return db.run(this.sql, this.bind(params)).changes;
  }

  private bind(params: P): SqlParam[] {
    return this.places.map((place) =>
      place instanceof Place ? (params[place.name] ?? null) : (place as SqlParam),
    );
  }
}

/**
 * `query<{ id: string }>()((p) => tables.selectFrom('devices').where('id', '=', p.id)…)`: inside
 * the builder each `p.<name>` stands for a value that is given with every run.
 */
export function query<P extends Params>() {
  return <R>(build: (places: P) => Compilable<R>): Query<P, R> => {
    const places = new Proxy<Params>({}, { get: (_, name) => new Place(String(name)) as never });
    const { sql, parameters } = build(places as P).compile();
    return new Query(sql, parameters);
  };
}
