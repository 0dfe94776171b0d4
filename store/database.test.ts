import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Database, openDatabase } from './database.js';
import { StoreMissing, StoreUnavailable, storeError } from './errors.js';
import { findEngine, type SqlEngine } from './sqlite.js';

let folder: string;
let open: Database[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'store-'));
  open = [];
});
afterEach(async () => {
  for (const db of open) await db.close();
  rmSync(folder, { recursive: true, force: true });
});

async function opened(file = join(folder, 'a.db'), engine?: SqlEngine): Promise<Database> {
  const db = await openDatabase(file, { busyMs: 20, ...(engine ? { engine } : {}) });
  open.push(db);
  return db;
}

/** The engine there is, with every statement that `exec` runs seen by `spy`, which may throw. */
async function spied(spy: (sql: string) => void): Promise<SqlEngine> {
  const engine = await findEngine();
  return {
    name: engine.name,
    open(file) {
      const connection = engine.open(file);
      return {
        ...connection,
        exec(sql) {
          spy(sql);
          connection.exec(sql);
        },
      };
    },
  };
}

const count = (db: Database): number =>
  db.read((r) => r.get<{ n: number }>('SELECT count(*) AS n FROM t')?.n ?? -1);

const table = (db: Database): Promise<unknown> =>
  db.write((w) => w.run('CREATE TABLE t (id INTEGER PRIMARY KEY, v UNIQUE)'));

const insert = (db: Database, v: string | Uint8Array): Promise<unknown> =>
  db.write((w) => w.run('INSERT INTO t (v) VALUES (?)', [v]));

test('a fresh file is WAL, fully synchronous, with foreign keys', async () => {
  const db = await opened();
  const pragma = await db.write((w) => ({
    journal: w.get('PRAGMA journal_mode'),
    synchronous: w.get('PRAGMA synchronous'),
    keys: w.get('PRAGMA foreign_keys'),
  }));
  expect(pragma).toEqual({
    journal: { journal_mode: 'wal' },
    synchronous: { synchronous: 2 },
    keys: { foreign_keys: 1 },
  });
});

test('writes of one turn share one transaction, later ones have their own', async () => {
  const seen: string[] = [];
  const db = await opened(undefined, await spied((sql) => seen.push(sql)));
  await table(db);
  seen.length = 0;
  await Promise.all([insert(db, 'a'), insert(db, 'b'), insert(db, 'c')]);
  expect(seen.filter((s) => s.startsWith('BEGIN') || s === 'COMMIT')).toEqual([
    'BEGIN IMMEDIATE',
    'COMMIT',
  ]);
  await insert(db, 'd');
  expect(seen.filter((s) => s === 'COMMIT')).toHaveLength(2);
  expect(count(db)).toBe(4);
});

test('a write that may wait goes with the next one, in order, or by itself after a while', async () => {
  let commits = 0;
  const engine = await spied((sql) => {
    if (sql === 'COMMIT') commits++;
  });
  const db = await opened(join(folder, 'a.db'), engine);
  await db.write((w) => w.run('CREATE TABLE t (n INTEGER)'));
  commits = 0;
  const insert = (n: number, mayWait: boolean) =>
    db.write((w) => w.run('INSERT INTO t VALUES (?)', [n]), mayWait);
  const first = insert(1, true);
  await new Promise((done) => setImmediate(done));
  expect(commits).toBe(0);
  await Promise.all([first, insert(2, false), insert(3, true)]);
  expect(commits).toBe(1);
  await insert(4, true);
  expect(commits).toBe(2);
  expect(db.read((r) => r.all('SELECT n FROM t'))).toEqual([1, 2, 3, 4].map((n) => ({ n })));
  const last = insert(5, true);
  await db.close();
  await last;
  expect(commits).toBe(3);
});

test('a write resolves only after COMMIT came back, and is then in the file', async () => {
  const order: string[] = [];
  const file = join(folder, 'a.db');
  const db = await opened(file, await spied((sql) => sql === 'COMMIT' && order.push('commit')));
  await table(db);
  order.length = 0;
  await insert(db, 'x').then(() => order.push('resolved'));
  expect(order).toEqual(['commit', 'resolved']);
  const other = await opened(file);
  expect(count(other)).toBe(1);
});

test('readers do not see what is not committed', async () => {
  const db = await opened();
  await table(db);
  let during = -1;
  await db.write((w) => {
    w.run("INSERT INTO t (v) VALUES ('x')");
    during = count(db);
  });
  expect(during).toBe(0);
  expect(count(db)).toBe(1);
});

test('a write that fails is undone alone; its neighbours are kept', async () => {
  const db = await opened();
  await table(db);
  const results = await Promise.allSettled([
    insert(db, 'a'),
    db.write((w) => {
      w.run("INSERT INTO t (v) VALUES ('half')");
      throw new RangeError('no');
    }),
    insert(db, 'a'),
    insert(db, 'b'),
  ]);
  expect(results.map((r) => r.status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
  expect(results[1]).toMatchObject({ reason: { name: 'RangeError' } });
  expect(results[2]).toMatchObject({ reason: { code: 'SQLITE_CONSTRAINT_UNIQUE' } });
  expect(db.read((r) => r.all('SELECT v FROM t ORDER BY id'))).toEqual([{ v: 'a' }, { v: 'b' }]);
});

test('a write that returns a promise is refused and undone', async () => {
  const db = await opened();
  await table(db);
  const write = db.write(async (w) => w.run("INSERT INTO t (v) VALUES ('late')"));
  await expect(write).rejects.toThrow('synchronous');
  expect(count(db)).toBe(0);
});

test('a full disk refuses what does not fit, keeps what does, and recovers with room', async () => {
  const db = await opened();
  await table(db);
  await db.write((w) => w.get('PRAGMA max_page_count = 20'));
  const big = new Uint8Array(200_000);
  const results = await Promise.allSettled([insert(db, 'a'), insert(db, big), insert(db, 'b')]);
  expect(results.map((r) => r.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(results[1]).toMatchObject({ reason: { name: 'StoreUnavailable', fault: 'full' } });
  expect(count(db)).toBe(2);
  await db.write((w) => w.get('PRAGMA max_page_count = 1000'));
  await insert(db, big);
  expect(count(db)).toBe(3);
});

test('where a fault drops the whole transaction, the neighbours go again in a new one', async () => {
  const db = await opened();
  await table(db);
  const runs: string[] = [];
  const results = await Promise.allSettled([
    db.write((w) => {
      runs.push('a');
      return w.run("INSERT INTO t (v) VALUES ('a')").changes;
    }),
    db.write((w) => {
      // What SQLite does by itself on some I/O errors.
      w.run('ROLLBACK');
      throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' });
    }),
    insert(db, 'b'),
  ]);
  expect(results.map((r) => r.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(results[1]).toMatchObject({ reason: { name: 'StoreUnavailable', fault: 'io' } });
  expect(runs).toEqual(['a', 'a']);
  expect(count(db)).toBe(2);
});

test('a COMMIT that fails rejects every write of the group and keeps none', async () => {
  let broken = false;
  const db = await opened(
    undefined,
    await spied((sql) => {
      if (broken && sql === 'COMMIT') {
        throw Object.assign(new Error('disk full'), { code: 'SQLITE_FULL' });
      }
    }),
  );
  await table(db);
  broken = true;
  const results = await Promise.allSettled([insert(db, 'a'), insert(db, 'b')]);
  for (const result of results) {
    expect(result).toMatchObject({ reason: { name: 'StoreUnavailable', fault: 'full' } });
  }
  broken = false;
  expect(count(db)).toBe(0);
  await insert(db, 'c');
  expect(count(db)).toBe(1);
});

test("another process's lock is told as such, and nothing is kept", async () => {
  const file = join(folder, 'a.db');
  const db = await opened(file);
  await table(db);
  const other = (await findEngine()).open(file);
  other.exec('BEGIN IMMEDIATE');
  await expect(insert(db, 'a')).rejects.toMatchObject({ fault: 'locked' });
  other.exec('ROLLBACK');
  other.close();
  await insert(db, 'a');
  expect(count(db)).toBe(1);
});

test('close commits what is queued and refuses what comes after', async () => {
  const file = join(folder, 'a.db');
  const db = await opened(file);
  await table(db);
  const queued = [insert(db, 'a'), insert(db, 'b')];
  const closing = db.close();
  await expect(insert(db, 'c')).rejects.toMatchObject({ fault: 'closed' });
  await Promise.all([...queued, closing]);
  expect(() => count(db)).toThrow(StoreUnavailable);
  expect(count(await opened(file))).toBe(2);
});

test('a file that is no database is refused when it is opened', async () => {
  const file = join(folder, 'bad.db');
  writeFileSync(file, 'this is not a database, and long enough to look like one '.repeat(40));
  await expect(openDatabase(file)).rejects.toMatchObject({ fault: 'corrupt' });
});

test('a database in memory works and is gone after close', async () => {
  const db = await opened(':memory:');
  await table(db);
  await insert(db, 'a');
  expect(count(db)).toBe(1);
});

test('without any engine the error says what to install', async () => {
  const none = findEngine([() => Promise.reject(new Error('no binary'))]);
  await expect(none).rejects.toThrow(StoreMissing);
  await expect(none).rejects.toThrow(/better-sqlite3.*22\.13/);
});

test('the second engine is taken where the first does not load', async () => {
  const second = { name: 'second', open: () => expect.fail('not opened') };
  const found = await findEngine([
    () => Promise.reject(new Error('no binary')),
    () => Promise.resolve(second),
  ]);
  expect(found.name).toBe('second');
});

test('faults are known by the names and the numbers of both engines', () => {
  expect(storeError({ code: 'SQLITE_IOERR_FSYNC' })).toMatchObject({ fault: 'io' });
  expect(storeError({ code: 'ERR_SQLITE_ERROR', errcode: 0x20d })).toMatchObject({ fault: 'full' });
  const bug = { code: 'SQLITE_CONSTRAINT', errcode: 19 };
  expect(storeError(bug)).toBe(bug);
});
