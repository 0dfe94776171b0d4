import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../store/index.js';
import { type Journal, JournalUnavailable } from '../core/journal.js';
import {
  KEEP_REPORTED,
  KEEP_REPORTED_MS,
  MAX_OPEN_CALLS,
  SEEN_PER_SPACE,
} from '../core/journal-rules.js';
import { memoryJournal } from '../core/memory-journal.js';
import type { Call, Outcome, UpItem } from '../core/types.js';
import { openJournal } from './journal.js';

const BOARD = '00000000000000a1';
const OTHER = '00000000000000b2';
const folders: string[] = [];
const journals: Journal[] = [];

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'journal-'));
  folders.push(folder);
  return join(folder, 'journal.db');
}

afterEach(async () => {
  for (const journal of journals.splice(0)) await journal.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function call(key: string, more: Partial<Call> = {}): Call {
  return {
    key,
    door: 'relay',
    boardId: BOARD,
    verb: 'v',
    args: { a: [1, 'x'] },
    ttlMs: 5_000,
    ...more,
  };
}

const done: Outcome = {
  kind: 'ok',
  value: {
    bytes: new Uint8Array([1, 2]),
    map: new Map<number, string>([[3, 'three']]),
    none: null,
  },
  blobs: [{ key: 'k', size: 5, mediaType: 'image/png', purpose: 'snapshot' }],
};

function item(seq: number, more: Partial<UpItem> = {}): UpItem {
  const body = { kind: 'tap', detail: { x: 1, raw: new Uint8Array([9]) } };
  return { boardId: BOARD, bootId: 3, seq, kind: 'event', at: 1_000 + seq, body, ...more };
}

interface Maker {
  name: string;
  make(wall?: () => number): Promise<Journal>;
}

const makers: Maker[] = [
  { name: 'in memory', make: async (wall) => memoryJournal(wall ? { wall } : {}) },
  { name: 'on disk', make: (wall) => openJournal(newFile(), wall ? { wall } : {}) },
];

describe.each(makers)('a journal $name', ({ make }) => {
  async function opened(wall?: () => number): Promise<Journal> {
    const journal = await make(wall);
    journals.push(journal);
    return journal;
  }

  test('a call gets the board’s next id, and the same key the first record', async () => {
    const journal = await opened();
    expect(journal.journalId).toHaveLength(4);
    expect(journal.nextCallId(BOARD)).toBe(1);
    const first = await journal.admit(call('a'), 3, 100);
    expect(first).toEqual({
      call: call('a'),
      callId: 1,
      earlierIds: [],
      bootId: 3,
      admittedAt: 100,
      reported: false,
    });
    expect(await journal.admit(call('a', { verb: 'other' }), 9, 200, done)).toEqual(first);
    expect((await journal.admit(call('b'), 3, 100)).callId).toBe(2);
    expect((await journal.admit(call('c', { boardId: OTHER }), 3, 100)).callId).toBe(1);
    expect(journal.nextCallId(BOARD)).toBe(3);
    expect(journal.open().map((record) => record.call.key)).toEqual(['a', 'b', 'c']);
  });

  test('the same key twice in one turn is one call', async () => {
    const journal = await opened();
    const [one, two] = await Promise.all([
      journal.admit(call('a'), 3, 100),
      journal.admit(call('a'), 4, 200),
    ]);
    expect(one).toEqual(two);
    expect(journal.open()).toHaveLength(1);
  });

  test('the first outcome wins, also against one of the same turn', async () => {
    const journal = await opened();
    await journal.admit(call('a'), 3, 100);
    const expired: Outcome = { kind: 'expired', message: 'late' };
    expect(await Promise.all([journal.settle('a', done), journal.settle('a', expired)])).toEqual([
      true,
      false,
    ]);
    expect(journal.find('a')?.outcome).toEqual(done);
    expect(await journal.settle('nobody', done)).toBe(false);
  });

  test('a call may be admitted with its outcome', async () => {
    const journal = await opened();
    const refused: Outcome = { kind: 'refused', code: 'busy', message: 'no' };
    const record = await journal.admit(call('a'), 0, 100, refused);
    expect(record.outcome).toEqual(refused);
    expect(await journal.settle('a', done)).toBe(false);
  });

  test('records that were handed out stay as they were', async () => {
    const journal = await opened();
    const before = await journal.admit(call('a'), 3, 100);
    await journal.settle('a', done);
    expect(before.outcome).toBeUndefined();
    const asked = call('b');
    await journal.admit(asked, 3, 100);
    asked.args.a = 'changed';
    expect(journal.find('b')?.call.args).toEqual({ a: [1, 'x'] });
  });

  test('a reported call is not open, and is still known by its key and ids', async () => {
    const journal = await opened();
    await journal.admit(call('a'), 3, 100);
    await journal.settle('a', done);
    await journal.reported('a');
    expect(journal.open()).toEqual([]);
    const record = journal.find('a');
    expect(record).toMatchObject({ reported: true, outcome: done });
    expect(journal.findById(BOARD, 1)).toEqual(record);
    expect(await journal.admit(call('a'), 3, 100)).toEqual(record);
    await journal.late('a', { kind: 'failed', code: 'x', message: 'y' });
    expect(journal.find('a')?.late).toEqual({ kind: 'failed', code: 'x', message: 'y' });
  });

  test('a call that moves to another boot gets a new id and is found by both', async () => {
    const journal = await opened();
    await journal.admit(call('a'), 3, 100);
    await journal.admit(call('b'), 3, 100);
    const moved = await journal.rebind('a', 4);
    expect(moved).toMatchObject({ callId: 3, earlierIds: [1], bootId: 4 });
    expect(journal.find('a')).toEqual(moved);
    expect(journal.findById(BOARD, 1)).toEqual(moved);
    expect(journal.findById(BOARD, 3)).toEqual(moved);
    await journal.settle('a', done);
    expect(await journal.rebind('a', 5)).toMatchObject({ callId: 3, bootId: 4 });
    await expect(journal.rebind('nobody', 5)).rejects.toThrow(RangeError);
  });

  test('a dropped call is forgotten, its id is not given again', async () => {
    const journal = await opened();
    await journal.admit(call('a'), 3, 100);
    await journal.rebind('a', 4);
    await journal.drop('a');
    expect(journal.find('a')).toBeUndefined();
    expect(journal.findById(BOARD, 1)).toBeUndefined();
    expect(journal.findById(BOARD, 2)).toBeUndefined();
    expect(journal.open()).toEqual([]);
    expect((await journal.admit(call('a'), 3, 100)).callId).toBe(3);
  });

  test('an envelope’s bytes come back', async () => {
    const journal = await opened();
    const envelope = { kind: 'any', bytes: new Uint8Array([0, 255]) };
    await journal.admit(call('a', { envelope, maxMs: 9 }), 3, 100);
    expect(journal.find('a')?.call).toEqual(call('a', { envelope, maxMs: 9 }));
  });

  test('reported calls are forgotten after a day, but never the newest thousand', async () => {
    let now = 1_000_000;
    const journal = await opened(() => now);
    const keys = Array.from({ length: KEEP_REPORTED + 512 }, (_, i) => `k${i}`);
    await Promise.all(keys.map((key) => journal.admit(call(key), 3, now)));
    await Promise.all(keys.slice(0, -256).map((key) => journal.reported(key)));
    expect(journal.find('k0')).toBeDefined();
    // Also a clock that jumps leaves the newest known.
    now += KEEP_REPORTED_MS * 400;
    await Promise.all(keys.slice(-256).map((key) => journal.reported(key)));
    expect(journal.find('k0')).toBeUndefined();
    expect(journal.findById(BOARD, 1)).toBeUndefined();
    expect(journal.find(`k${keys.length - KEEP_REPORTED}`)).toBeDefined();
  });

  test('too many open calls are refused, and nothing of it stays', async () => {
    const journal = await opened();
    const keys = Array.from({ length: MAX_OPEN_CALLS }, (_, i) => `k${i}`);
    await Promise.all(keys.map((key) => journal.admit(call(key), 3, 1)));
    await expect(journal.admit(call('more'), 3, 1)).rejects.toThrow(JournalUnavailable);
    expect(journal.find('more')).toBeUndefined();
    await journal.drop('k0');
    expect((await journal.admit(call('more'), 3, 1)).callId).toBe(MAX_OPEN_CALLS + 1);
  });

  test('items wait in order until they are done; repeats are told by board, boot, space, seq', async () => {
    const journal = await opened();
    expect(await journal.keep(item(1))).toBe(true);
    expect(await Promise.all([journal.keep(item(2)), journal.keep(item(2))])).toEqual([
      true,
      false,
    ]);
    // The kinds that share a run of numbers share their repeats; asks and mails have their own.
    expect(await journal.keep(item(1, { kind: 'readings', body: {} }))).toBe(false);
    expect(await journal.keep(item(1, { kind: 'ask', body: {} }))).toBe(true);
    expect(await journal.keep(item(1, { kind: 'mail', body: {} }))).toBe(true);
    expect(await journal.keep(item(1, { bootId: 4, body: {} }))).toBe(true);
    expect(await journal.keep(item(1, { boardId: OTHER, body: {} }))).toBe(true);
    const waiting = journal.pending(2);
    expect(waiting.map((each) => each.item)).toEqual([item(1), item(2)]);
    await journal.done(waiting.map((each) => each.id));
    await journal.done(waiting.map((each) => each.id));
    expect(await journal.keep(item(1))).toBe(false);
    expect(journal.pending(100)).toHaveLength(4);
  });

  test('what is remembered of kept items is bounded, and a late one is kept, not lost', async () => {
    const journal = await opened();
    const count = SEEN_PER_SPACE + 512;
    await Promise.all(Array.from({ length: count }, (_, i) => journal.keep(item(i + 10))));
    expect(await journal.keep(item(count + 9))).toBe(false);
    expect(await journal.keep(item(10))).toBe(true);
    expect(await journal.keep(item(3))).toBe(true);
  });

  test('rooms hold small values by key', async () => {
    const journal = await opened();
    await journal.put('board', 'b', '2');
    await journal.put('board', 'a', '1');
    await journal.put('board', '__proto__', 'p');
    expect(journal.get('board', '__proto__')).toBe('p');
    await journal.put('board', '__proto__', undefined);
    expect(journal.list('board')).toEqual([
      ['a', '1'],
      ['b', '2'],
    ]);
    expect(journal.get('key', 'a')).toBeUndefined();
    expect(journal.list('nothing')).toEqual([]);
  });
});

describe('on disk', () => {
  test('everything is there after it was closed and opened again', async () => {
    const file = newFile();
    const before = await openJournal(file);
    await before.admit(call('open'), 3, 100);
    await before.rebind('open', 4);
    await before.admit(call('settled'), 3, 100);
    await before.settle('settled', done);
    await before.admit(call('reported'), 3, 100);
    await before.reported('reported');
    await before.keep(item(1));
    await before.put('board', BOARD, '{}');
    await before.close();
    const after = await openJournal(file);
    journals.push(after);
    expect(after.journalId).toEqual(before.journalId);
    expect(after.open().map((record) => record.call.key)).toEqual(['open', 'settled']);
    expect(after.find('open')).toMatchObject({ callId: 2, earlierIds: [1], bootId: 4 });
    expect(after.findById(BOARD, 1)?.call.key).toBe('open');
    expect(after.find('settled')?.outcome).toEqual(done);
    expect(after.find('reported')?.reported).toBe(true);
    expect(after.nextCallId(BOARD)).toBe(5);
    expect(after.pending(9).map((each) => each.item)).toEqual([item(1)]);
    expect(await after.keep(item(1))).toBe(false);
    expect(after.get('board', BOARD)).toBe('{}');
  });

  test('two journals have two ids', async () => {
    const one = await openJournal(newFile());
    const two = await openJournal(newFile());
    journals.push(one, two);
    expect(one.journalId).not.toEqual(two.journalId);
  });

  test('a full disk refuses everything and changes nothing; with room it goes on', async () => {
    let db: Database | undefined;
    const journal = await openJournal(newFile(), {
      open: async (file) => {
        db = await openDatabase(file);
        return db;
      },
    });
    journals.push(journal);
    await journal.admit(call('a'), 3, 100);
    await journal.keep(item(1));
    await journal.put('board', 'a', 'before');
    const pages =
      db?.read((r) => r.get<{ page_count: number }>('PRAGMA page_count')?.page_count) ?? 0;
    await db?.write((w) => w.get(`PRAGMA max_page_count = ${pages}`));
    const big = 'x'.repeat(50_000);
    const refused = await Promise.allSettled([
      journal.admit(call('b', { args: { big } }), 3, 100),
      journal.settle('a', { kind: 'failed', code: 'x', message: big }),
      journal.keep(item(2, { body: { big } })),
      journal.put('board', 'a', big),
    ]);
    for (const each of refused) {
      expect(each).toMatchObject({ status: 'rejected', reason: { name: 'JournalUnavailable' } });
    }
    expect(journal.find('b')).toBeUndefined();
    expect(journal.open()).toHaveLength(1);
    expect(journal.find('a')?.outcome).toBeUndefined();
    expect(journal.nextCallId(BOARD)).toBe(2);
    expect(journal.get('board', 'a')).toBe('before');
    expect(journal.pending(9)).toHaveLength(1);
    await db?.write((w) => w.get('PRAGMA max_page_count = 100000'));
    expect((await journal.admit(call('b', { args: { big } }), 3, 100)).callId).toBe(2);
    expect(await journal.keep(item(2, { body: { big } }))).toBe(true);
  });

  test('a journal of a newer version is left alone', async () => {
    const file = newFile();
    await (await openJournal(file)).close();
    const db = await openDatabase(file);
    await db.write((w) => w.run('PRAGMA user_version = 99'));
    await db.close();
    await expect(openJournal(file)).rejects.toThrow(/newer Motebridge/);
  });

  test('after it was closed it says so', async () => {
    const journal = await openJournal(newFile());
    await journal.close();
    await expect(journal.admit(call('a'), 3, 100)).rejects.toThrow(JournalUnavailable);
    expect(() => journal.find('a')).toThrow(JournalUnavailable);
  });
});
