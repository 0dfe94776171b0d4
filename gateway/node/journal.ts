/**
 * The journal on disk (house.md "Delivery" 3): SQLite with group commit. Ids and outcomes are
 * decided inside the transaction; memory, which answers the synchronous questions, follows only
 * what was committed, so a full disk leaves both as they were.
 */
import { randomBytes } from 'node:crypto';
import { type Database, openDatabase, StoreUnavailable, type Sync } from '../../store/index.js';
import { type CallRecord, type Journal, JournalUnavailable } from '../core/journal.js';
import {
  idsUsedUp,
  MAX_CALL_ID,
  MAX_OPEN_CALLS,
  MAX_PENDING_ITEMS,
  noSuchCall,
  spaceOf,
  tooManyCalls,
  tooManyItems,
} from '../core/journal-rules.js';
import type { BoardId } from '../core/types.js';
import {
  bodyColumn,
  type CallRow,
  callColumns,
  type ItemRow,
  outcomeColumns,
  readItem,
  readRecord,
} from './journal-rows.js';
import { loadJournal, prepareJournal, pruneReported, pruneSeen, rowIds } from './journal-tables.js';

export interface JournalOptions {
  /** Unix milliseconds; decides only when reported calls are forgotten. */
  wall?: () => number;
  /** Opens the database; for tests that break it. */
  open?: (file: string) => Promise<Database>;
}

/** Old rows are looked for each time this many have been added. */
const PRUNE_EVERY = 256;

/**
 * Opens or makes the journal at `file`; one process at a time may hold it (see `openHome`).
 * Records are never changed in place: what was handed out stays as it was. Rejects with
 * `JournalUnavailable`; so does everything after a failed disk, until the disk is well.
 */
export async function openJournal(file: string, options: JournalOptions = {}): Promise<Journal> {
  const wall = options.wall ?? Date.now;
  const db = await guarded(() => (options.open ?? openDatabase)(file));
  const { journalId, records, next, rooms, pending } = await guarded(async () => {
    await prepareJournal(db, randomBytes(4));
    await db.write((w) => pruneReported(w, wall()));
    return db.read(loadJournal);
  }).catch(async (error: unknown) => {
    await db.close();
    throw error;
  });
  /** Calls that are not reported; the others are read from disk when asked for. */
  const open = new Map<string, CallRecord>(records.map((record) => [record.call.key, record]));
  const openIds = new Map<string, string>();
  for (const record of records) remember(record);
  let waiting = pending;
  let sinceCalls = 0;
  const sinceSeen = new Map<string, number>();

  function remember(record: CallRecord): void {
    open.set(record.call.key, record);
    openIds.set(`${record.call.boardId}/${record.callId}`, record.call.key);
  }

  function forget(record: CallRecord | undefined): void {
    if (!record) return;
    open.delete(record.call.key);
    for (const id of [record.callId, ...record.earlierIds]) {
      openIds.delete(`${record.call.boardId}/${id}`);
    }
  }

  function raise(boardId: BoardId, taken: number): void {
    next.set(boardId, Math.max(next.get(boardId) ?? 1, taken + 1));
  }

  function write<T>(run: (w: Sync) => T, mayWait = false): Promise<T> {
    return guarded(() => db.write(run, mayWait));
  }

  function read(sql: string, params: (string | number)[]): CallRecord | undefined {
    return guardedNow(() =>
      db.read((r) => {
        const row = r.get<CallRow>(sql, params);
        return row && readRecord(row, rowIds(r, row.n));
      }),
    );
  }

  /** The board's next id, taken inside the transaction. */
  function takeId(w: Sync, boardId: BoardId): number {
    const row = w.get<{ call_id: number }>('SELECT call_id FROM next_ids WHERE board = ?', [
      boardId,
    ]);
    const id = row?.call_id ?? 1;
    if (id > MAX_CALL_ID) throw idsUsedUp(boardId);
    w.run('INSERT OR REPLACE INTO next_ids (board, call_id) VALUES (?, ?)', [boardId, id + 1]);
    return id;
  }

  function rowOf(w: Sync, key: string): CallRow | undefined {
    return w.get<CallRow>('SELECT * FROM calls WHERE key = ?', [key]);
  }

  function recordIn(w: Sync, key: string): CallRecord | undefined {
    const row = rowOf(w, key);
    return row && readRecord(row, rowIds(w, row.n));
  }

  /** What a committed write made of a record. */
  function follow(record: CallRecord | undefined): void {
    if (!record) return;
    if (record.reported) forget(record);
    else remember(record);
  }

  return {
    journalId,

    async admit(call, bootId, admittedAt, outcome) {
      const known = open.get(call.key);
      if (known) return known;
      if (open.size >= MAX_OPEN_CALLS) throw tooManyCalls();
      const columns = callColumns(call);
      const [text, value] = outcomeColumns(outcome);
      const record = await write((w) => {
        const before = recordIn(w, call.key);
        if (before) return before;
        const id = takeId(w, call.boardId);
        const { lastInsertRowid: n } = w.run(
          `INSERT INTO calls (key, board, call_id, boot, admitted_at, call, envelope, outcome,
             outcome_value) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
          [
            call.key,
            call.boardId,
            id,
            bootId,
            admittedAt,
            columns.call,
            columns.envelope,
            text,
            value,
          ],
        );
        w.run('INSERT INTO ids (board, call_id, n) VALUES (?, ?, ?)', [call.boardId, id, n]);
        return recordIn(w, call.key);
      });
      if (!record) throw noSuchCall(call.key);
      raise(call.boardId, record.callId);
      // A second admit of the key in the same turn finds the first one's record here.
      if (!open.has(call.key)) follow(record);
      return open.get(call.key) ?? record;
    },

    async rebind(key, bootId) {
      const record = await write((w) => {
        const row = rowOf(w, key);
        if (!row) throw noSuchCall(key);
        if (row.outcome === null) {
          const id = takeId(w, row.board);
          w.run('UPDATE calls SET call_id = ?, boot = ? WHERE n = ?', [id, bootId, row.n]);
          w.run('INSERT INTO ids (board, call_id, n) VALUES (?, ?, ?)', [row.board, id, row.n]);
        }
        return recordIn(w, key);
      });
      if (!record) throw noSuchCall(key);
      raise(record.call.boardId, record.callId);
      follow(record);
      return record;
    },

    async settle(key, outcome) {
      const [text, value] = outcomeColumns(outcome);
      const { first, record } = await write((w) => {
        const { changes } = w.run(
          'UPDATE calls SET outcome = ?, outcome_value = ? WHERE key = ? AND outcome IS NULL',
          [text, value, key],
        );
        return { first: changes === 1, record: recordIn(w, key) };
      });
      follow(record);
      return first;
    },

    async late(key, outcome) {
      const [text, value] = outcomeColumns(outcome);
      const record = await write((w) => {
        w.run('UPDATE calls SET late = ?, late_value = ? WHERE key = ?', [text, value, key]);
        return recordIn(w, key);
      });
      follow(record);
    },

    async reported(key) {
      const prune = ++sinceCalls % PRUNE_EVERY === 0;
      const now = wall();
      const record = await write((w) => {
        w.run('UPDATE calls SET reported_at = ? WHERE key = ? AND reported_at IS NULL', [now, key]);
        if (prune) pruneReported(w, now);
        return recordIn(w, key);
        // A crash before it is durable makes the door report once more, which changes nothing.
      }, true);
      follow(record);
    },

    async drop(key) {
      await write((w) => {
        w.run('DELETE FROM ids WHERE n = (SELECT n FROM calls WHERE key = ?)', [key]);
        w.run('DELETE FROM calls WHERE key = ?', [key]);
      });
      forget(open.get(key));
    },

    find: (key) => open.get(key) ?? read('SELECT * FROM calls WHERE key = ?', [key]),
    findById(boardId, callId) {
      const key = openIds.get(`${boardId}/${callId}`);
      const sql =
        'SELECT calls.* FROM ids JOIN calls USING (n) WHERE ids.board = ? AND ids.call_id = ?';
      return (key === undefined ? undefined : open.get(key)) ?? read(sql, [boardId, callId]);
    },
    open: () => [...open.values()],
    nextCallId: (boardId) => next.get(boardId) ?? 1,

    async keep(item) {
      const body = bodyColumn(item);
      const space = spaceOf(item.kind);
      const where = `${item.boardId}/${space}`;
      const count = (sinceSeen.get(where) ?? 0) + 1;
      sinceSeen.set(where, count % PRUNE_EVERY);
      const full = waiting >= MAX_PENDING_ITEMS;
      const isNew = await write((w) => {
        const { boardId, bootId, seq, kind, at } = item;
        const seen = w.get(
          'SELECT 1 FROM seen WHERE board = ? AND space = ? AND boot = ? AND seq = ?',
          [boardId, space, bootId, seq],
        );
        if (seen) return false;
        if (full) throw tooManyItems();
        const { lastInsertRowid: id } = w.run(
          'INSERT INTO items (board, boot, seq, kind, at, body) VALUES (?, ?, ?, ?, ?, ?)',
          [boardId, bootId, seq, kind, at, body],
        );
        w.run('INSERT INTO seen (board, space, boot, seq, n) VALUES (?, ?, ?, ?, ?)', [
          boardId,
          space,
          bootId,
          seq,
          id,
        ]);
        if (count >= PRUNE_EVERY) pruneSeen(w, boardId, space);
        return true;
      });
      if (isNew) waiting += 1;
      return isNew;
    },

    pending: (limit) =>
      guardedNow(() =>
        db
          .read((r) => r.all<ItemRow>('SELECT * FROM items ORDER BY id LIMIT ?', [limit]))
          .map((row) => ({ id: row.id, item: readItem(row) })),
      ),

    async done(ids) {
      const gone = await write((w) => {
        let count = 0;
        for (const id of ids) count += w.run('DELETE FROM items WHERE id = ?', [id]).changes;
        return count;
      });
      waiting -= gone;
    },

    get: (room, key) => rooms.get(room)?.get(key),
    list: (room) => [...(rooms.get(room) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)),
    async put(room, key, value) {
      await write((w) =>
        value === undefined
          ? w.run('DELETE FROM rooms WHERE room = ? AND key = ?', [room, key])
          : w.run('INSERT OR REPLACE INTO rooms (room, key, value) VALUES (?, ?, ?)', [
              room,
              key,
              value,
            ]),
      );
      const values = rooms.get(room) ?? new Map<string, string>();
      rooms.set(room, values);
      if (value === undefined) values.delete(key);
      else values.set(key, value);
    },

    close: () => guarded(() => db.close()),
  };
}

function unavailable(error: unknown): unknown {
  if (!(error instanceof StoreUnavailable)) return error;
  return new JournalUnavailable(`The journal can’t be used. ${error.message}`, { cause: error });
}

async function guarded<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw unavailable(error);
  }
}

function guardedNow<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw unavailable(error);
  }
}
