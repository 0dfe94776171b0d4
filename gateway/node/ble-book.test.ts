import { expect, test } from 'vitest';
import { passingSecrets } from '../../store/secrets.js';
import { JournalUnavailable } from '../core/journal.js';
import { memoryJournal } from '../core/memory-journal.js';
import { spokenBoardId } from '../links/ble/spoken-board.js';
import { openBleBook } from './ble-book.js';
import { openBoardBook } from './boards.js';

const ADDRESS = '54:48:e6:8f:80:a5';
const PLAIN = { profile: 'bthome', address: ADDRESS, needs: 'none' } as const;
const LOCKED = { ...PLAIN, needs: 'bind_key' } as const;
const ID = spokenBoardId('bthome', ADDRESS);
const KEY = '231d39c1d7cc1ab1aee224cd096db932';

function setUp(journal = memoryJournal(), secrets = passingSecrets()) {
  let changes = 0;
  const boards = openBoardBook({ journal, secrets, wall: () => 5 });
  const ble = openBleBook({
    journal,
    secrets,
    book: boards,
    changed: () => {
      changes += 1;
    },
  });
  return { journal, secrets, boards, ble, changes: () => changes };
}

test('a board is added under the name of the book, and known to the link', async () => {
  const { ble, boards, changes } = setUp();
  expect(await ble.add('  Keller ', PLAIN)).toEqual({
    boardId: ID,
    name: 'Keller',
    addedAt: 5,
    profile: 'bthome',
    address: '5448e68f80a5',
    encrypted: false,
    keyUnreadable: false,
  });
  expect(ble.known()).toEqual([{ boardId: ID, profile: 'bthome', address: '5448e68f80a5' }]);
  expect(changes()).toBe(1);
  await boards.rename('Keller', 'Cellar');
  expect(ble.list()[0]?.name).toBe('Cellar');
  await boards.add('ours');
  expect(ble.list()).toHaveLength(1);
  expect(ble.has(ID)).toBe(true);
  expect(ble.has('0000000000000000')).toBe(false);
});

test('a bind key is taken as people copy it, kept sealed, and shown by no list', async () => {
  const { ble, journal, secrets } = setUp();
  await ble.add('Keller', LOCKED, '231D39C1 D7CC1AB1-AEE224CD:096DB932\n');
  const again = setUp(journal, secrets).ble;
  expect(Buffer.from(again.known()[0]?.bindKey ?? []).toString('hex')).toBe(KEY);
  const all = JSON.stringify([journal.list('ble'), journal.list('board'), again.list()]);
  expect(all.toLowerCase()).not.toContain(KEY);
  expect(all).not.toContain(Buffer.from(KEY, 'hex').toString('base64url'));
  expect(again.list()[0]).toMatchObject({ encrypted: true, keyUnreadable: false });
});

test.each([
  ['needs_key', LOCKED, undefined],
  ['bad_key', LOCKED, '1234'],
  ['bad_key', LOCKED, `${KEY}00`],
  ['key_not_used', PLAIN, KEY],
  ['bad_address', { ...PLAIN, address: '' }, undefined],
  ['bad_address', { ...PLAIN, address: '7c9e6679-7425-40de-944b-e07fc1f90ae7' }, undefined],
])('%s: the board is not added', async (code, seen, key) => {
  const { ble, boards, changes } = setUp();
  await expect(ble.add('Keller', seen, key)).rejects.toMatchObject({ code });
  await expect(ble.add('Keller', seen, key)).rejects.not.toThrow(KEY);
  expect([ble.list(), boards.list(), changes()]).toEqual([[], [], 0]);
});

test('one that is there already, or whose name is taken, changes nothing', async () => {
  const { ble, boards, changes } = setUp();
  await ble.add('Keller', LOCKED, KEY);
  await expect(ble.add('other', PLAIN)).rejects.toMatchObject({ code: 'id_taken' });
  const next = { ...PLAIN, address: '54:48:e6:8f:80:a6' };
  await expect(ble.add('Keller', next)).rejects.toMatchObject({ code: 'name_taken' });
  expect(ble.known()[0]?.bindKey).toBeDefined();
  expect([boards.list().length, changes()]).toEqual([1, 1]);
});

test('a journal that takes nothing leaves no half of a board', async () => {
  const { ble, boards, journal } = setUp();
  const put = journal.put.bind(journal);
  journal.put = (room, ...rest) =>
    room === 'ble' ? Promise.reject(new JournalUnavailable('full')) : put(room, ...rest);
  await expect(ble.add('Keller', PLAIN)).rejects.toThrow(JournalUnavailable);
  expect([ble.list(), boards.list()]).toEqual([[], []]);
});

test('removed from the board book it is unknown; forgotten it leaves nothing behind', async () => {
  const { ble, boards, journal } = setUp();
  await ble.add('Keller', LOCKED, KEY);
  ble.memory.save(ID, 'learned');
  expect(ble.memory.load(ID)).toBe('learned');
  await boards.remove('Keller');
  expect([ble.known(), ble.list()]).toEqual([[], []]);
  await ble.forget(ID);
  ble.memory.save(ID, 'too late');
  expect([ble.memory.load(ID), ble.has(ID), journal.list('ble')]).toEqual([undefined, false, []]);
  await ble.forget(ID);
  await ble.add('Keller', PLAIN);
  expect(ble.known()[0]?.bindKey).toBeUndefined();
});

test('what was learned of a board that was added anew is not what is known now', async () => {
  const { ble, boards } = setUp();
  await ble.add('Keller', PLAIN);
  ble.memory.save(ID, 'learned');
  await boards.remove('Keller');
  await ble.add('Keller', PLAIN);
  expect(ble.memory.load(ID)).toBeUndefined();
});

test('a key that another key file sealed is said, and its board is not heard in plain', async () => {
  const { ble, journal } = setUp();
  await ble.add('Keller', LOCKED, KEY);
  const other = setUp(journal, passingSecrets()).ble;
  expect(other.known()).toEqual([]);
  expect(other.list()[0]).toMatchObject({ encrypted: true, keyUnreadable: true });
});
