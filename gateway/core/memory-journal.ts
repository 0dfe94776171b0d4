/** A journal that is gone with the process: for tests and virtual time. */
import type { CallRecord, Journal } from './journal.js';
import {
  idsUsedUp,
  KEEP_REPORTED,
  KEEP_REPORTED_MS,
  MAX_CALL_ID,
  MAX_OPEN_CALLS,
  MAX_PENDING_ITEMS,
  noSuchCall,
  SEEN_PER_SPACE,
  spaceOf,
  tooManyCalls,
  tooManyItems,
} from './journal-rules.js';
import type { BoardId, UpItem } from './types.js';

export interface MemoryJournalOptions {
  /** Unix milliseconds; decides only when reported calls are forgotten. */
  wall?: () => number;
  /** Four bytes; random if not given. */
  journalId?: Uint8Array;
}

/**
 * Records are never changed in place: what was handed out stays as it was, and `find` gives the
 * present one. They must not be written to.
 */
export function memoryJournal(options: MemoryJournalOptions = {}): Journal {
  const wall = options.wall ?? Date.now;
  const records = new Map<string, CallRecord>();
  const reportedAt = new Map<string, number>();
  const keys = new Map<string, string>();
  const next = new Map<BoardId, number>();
  const items = new Map<number, UpItem>();
  const seen = new Map<string, Set<string>>();
  const rooms = new Map<string, Map<string, string>>();
  let lastItem = 0;

  function takeId(boardId: BoardId): number {
    const id = next.get(boardId) ?? 1;
    if (id > MAX_CALL_ID) throw idsUsedUp(boardId);
    next.set(boardId, id + 1);
    return id;
  }

  function change(key: string, with_: Partial<CallRecord>): CallRecord | undefined {
    const before = records.get(key);
    if (!before) return undefined;
    const after = { ...before, ...with_ };
    records.set(key, after);
    return after;
  }

  function forget(key: string): void {
    const record = records.get(key);
    if (!record) return;
    records.delete(key);
    reportedAt.delete(key);
    for (const id of [record.callId, ...record.earlierIds]) keys.delete(idKey(record, id));
  }

  function prune(): void {
    const old = wall() - KEEP_REPORTED_MS;
    let spare = reportedAt.size - KEEP_REPORTED;
    for (const [key, at] of reportedAt) {
      if (spare-- <= 0) break;
      if (at < old) forget(key);
    }
  }

  return {
    journalId: options.journalId ?? crypto.getRandomValues(new Uint8Array(4)),

    async admit(call, bootId, admittedAt, outcome) {
      const known = records.get(call.key);
      if (known) return known;
      if (records.size - reportedAt.size >= MAX_OPEN_CALLS) throw tooManyCalls();
      const record: CallRecord = {
        call: structuredClone(call),
        callId: takeId(call.boardId),
        earlierIds: [],
        bootId,
        admittedAt,
        ...(outcome ? { outcome: structuredClone(outcome) } : {}),
        reported: false,
      };
      records.set(call.key, record);
      keys.set(idKey(record, record.callId), call.key);
      return record;
    },

    async rebind(key, bootId) {
      const before = records.get(key);
      if (!before) throw noSuchCall(key);
      if (before.outcome) return before;
      const callId = takeId(before.call.boardId);
      const earlierIds = [...before.earlierIds, before.callId];
      const after = { ...before, callId, bootId, earlierIds };
      records.set(key, after);
      keys.set(idKey(after, callId), key);
      return after;
    },

    async settle(key, outcome) {
      const before = records.get(key);
      if (!before || before.outcome) return false;
      change(key, { outcome: structuredClone(outcome) });
      return true;
    },

    async late(key, outcome) {
      change(key, { late: structuredClone(outcome) });
    },

    async reported(key) {
      if (!change(key, { reported: true }) || reportedAt.has(key)) return;
      reportedAt.set(key, wall());
      prune();
    },

    async drop(key) {
      forget(key);
    },

    find: (key) => records.get(key),
    findById: (boardId, callId) => records.get(keys.get(`${boardId}/${callId}`) ?? ''),
    open: () => [...records.values()].filter((record) => !record.reported),
    nextCallId: (boardId) => next.get(boardId) ?? 1,

    async keep(item) {
      const space = `${item.boardId}/${spaceOf(item.kind)}`;
      const mark = `${item.bootId}/${item.seq}`;
      const marks = seen.get(space) ?? new Set();
      if (marks.has(mark)) return false;
      if (items.size >= MAX_PENDING_ITEMS) throw tooManyItems();
      marks.add(mark);
      seen.set(space, marks);
      if (marks.size > SEEN_PER_SPACE) {
        const [oldest] = marks;
        if (oldest !== undefined) marks.delete(oldest);
      }
      lastItem += 1;
      items.set(lastItem, structuredClone(item));
      return true;
    },

    pending(limit) {
      const found: { id: number; item: UpItem }[] = [];
      for (const [id, item] of items) {
        if (found.length >= limit) break;
        found.push({ id, item });
      }
      return found;
    },

    async done(ids) {
      for (const id of ids) items.delete(id);
    },

    get: (room, key) => rooms.get(room)?.get(key),
    list: (room) => [...(rooms.get(room) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)),
    async put(room, key, value) {
      const values = rooms.get(room) ?? new Map<string, string>();
      if (value === undefined) values.delete(key);
      else values.set(key, value);
      rooms.set(room, values);
    },

    async close() {},
  };
}

function idKey(record: CallRecord, callId: number): string {
  return `${record.call.boardId}/${callId}`;
}
