/** Making, reading and trimming the journal's tables. */
import type { Database, Reader, Sync } from '../../store/index.js';
import { type CallRecord, JournalUnavailable } from '../core/journal.js';
import {
  KEEP_REPORTED,
  KEEP_REPORTED_MS,
  SEEN_PER_SPACE,
  type Space,
} from '../core/journal-rules.js';
import type { BoardId } from '../core/types.js';
import { type CallRow, readRecord, SCHEMA } from './journal-rows.js';

const VERSION = 1;
/** Rows removed in one go at most, so that no write waits long for another's trimming. */
const TRIM = 2_000;
/** Reported calls kept at most, however young. */
const MOST_REPORTED = 50_000;

/** Makes the tables of a new journal, which gets `journalId`. */
export async function prepareJournal(db: Database, journalId: Uint8Array): Promise<void> {
  await db.write((w) => {
    const version = w.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0;
    if (version > VERSION) {
      throw new JournalUnavailable(
        `The journal was made by a newer Motebridge (version ${version}); nothing was opened. ` +
          'Install that version, or use another home.',
      );
    }
    if (version === VERSION) return;
    for (const sql of SCHEMA) w.run(sql);
    w.run('INSERT INTO meta (name, value) VALUES (?, ?)', ['journalId', journalId]);
    w.run(`PRAGMA user_version = ${VERSION}`);
  });
}

export interface Loaded {
  journalId: Uint8Array;
  /** Calls that are not reported, in the order of their admission. */
  records: CallRecord[];
  next: Map<BoardId, number>;
  rooms: Map<string, Map<string, string>>;
  /** Items that wait. */
  pending: number;
}

export function loadJournal(r: Reader): Loaded {
  const id = r.get<{ value: Uint8Array }>("SELECT value FROM meta WHERE name = 'journalId'");
  if (!id) throw new JournalUnavailable('The journal has no id; restore it from a copy.');
  const rooms = new Map<string, Map<string, string>>();
  type RoomRow = { room: string; key: string; value: string };
  for (const { room, key, value } of r.all<RoomRow>('SELECT * FROM rooms')) {
    const values = rooms.get(room) ?? new Map<string, string>();
    rooms.set(room, values.set(key, value));
  }
  const next = new Map<BoardId, number>();
  for (const row of r.all<{ board: string; call_id: number }>('SELECT * FROM next_ids')) {
    next.set(row.board, row.call_id);
  }
  return {
    journalId: new Uint8Array(id.value),
    records: r
      .all<CallRow>('SELECT * FROM calls WHERE reported_at IS NULL ORDER BY n')
      .map((row) => readRecord(row, rowIds(r, row.n))),
    next,
    rooms,
    pending: r.get<{ n: number }>('SELECT count(*) AS n FROM items')?.n ?? 0,
  };
}

/** All ids that a call has or had. */
export function rowIds(r: Reader, n: number): number[] {
  return r
    .all<{ call_id: number }>('SELECT call_id FROM ids WHERE n = ?', [n])
    .map((i) => i.call_id);
}

/** Forgets calls that were reported a day ago; the newest stay, whatever the clock says. */
export function pruneReported(w: Sync, now: number): void {
  const reported = 'FROM calls WHERE reported_at IS NOT NULL';
  const rank = (skip: number): number =>
    w.get<{ n: number }>(`SELECT n ${reported} ORDER BY n DESC LIMIT 1 OFFSET ?`, [skip])?.n ?? 0;
  const old = w.all<{ n: number }>(
    `SELECT n ${reported} AND n <= ? AND (reported_at < ? OR n <= ?) ORDER BY n LIMIT ?`,
    [rank(KEEP_REPORTED), now - KEEP_REPORTED_MS, rank(MOST_REPORTED), TRIM],
  );
  for (const { n } of old) {
    w.run('DELETE FROM ids WHERE n = ?', [n]);
    w.run('DELETE FROM calls WHERE n = ?', [n]);
  }
}

/** Keeps the newest marks of a board's space. */
export function pruneSeen(w: Sync, boardId: BoardId, space: Space): void {
  const edge = w.get<{ n: number }>(
    'SELECT n FROM seen WHERE board = ? AND space = ? ORDER BY n DESC LIMIT 1 OFFSET ?',
    [boardId, space, SEEN_PER_SPACE],
  );
  if (!edge) return;
  w.run('DELETE FROM seen WHERE board = ? AND space = ? AND n <= ?', [boardId, space, edge.n]);
}
