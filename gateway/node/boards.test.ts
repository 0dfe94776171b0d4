import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { mqttPassword } from '../../protocol/identity.js';
import { openSecrets, SecretsUnavailable, SecretUnreadable } from '../../store/secrets.js';
import { memoryJournal } from '../core/memory-journal.js';
import { BoardBookError, openBoardBook } from './boards.js';

const folder = mkdtempSync(join(tmpdir(), 'boards-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const secrets = await openSecrets(join(folder, 'secret.key'));

function newBook() {
  const journal = memoryJournal();
  const forgotten: string[] = [];
  const book = openBoardBook({
    journal,
    secrets,
    wall: () => 123,
    forget: async (id) => {
      forgotten.push(id);
    },
  });
  return { journal, book, forgotten };
}

function codeOf(run: () => unknown): string | undefined {
  try {
    run();
  } catch (error) {
    return error instanceof BoardBookError ? error.code : String(error);
  }
  return undefined;
}

test('a board that is added has an id, a key, and what MQTT needs; the key is stored sealed', async () => {
  const { journal, book } = newBook();
  const added = await book.add('  Küche ');
  expect(added).toMatchObject({
    name: 'Küche',
    addedAt: 123,
    boardId: expect.stringMatching(/^[0-9a-f]{16}$/),
  });
  const key = book.key(added.boardId);
  expect(key).toHaveLength(16);
  expect(Buffer.from(key ?? []).toString('base64url')).toBe(added.key);
  expect(added.mqtt).toEqual({
    username: added.boardId,
    password: mqttPassword(key ?? new Uint8Array()),
  });
  expect(book.password(added.boardId)).toBe(added.mqtt.password);
  expect(journal.get('board', added.boardId)).toBe('{"name":"Küche","addedAt":123}');
  for (const room of ['board', 'key']) {
    expect(JSON.stringify(journal.list(room))).not.toContain(added.key);
    expect(JSON.stringify(journal.list(room))).not.toContain(added.mqtt.password);
  }
  // Another process with the same files reads the same.
  const again = openBoardBook({ journal, secrets });
  expect(again.key(added.boardId)).toEqual(key);
  expect(again.list()).toEqual(book.list());
  expect(book.key('0'.repeat(16))).toBeUndefined();
  expect(book.password('0'.repeat(16))).toBeUndefined();
});

test('names are unique, also among those of one turn', async () => {
  const { book } = newBook();
  const results = await Promise.allSettled([book.add('lamp'), book.add('lamp'), book.add('Lamp')]);
  expect(results.map((each) => each.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  // The same letters in another composition are the same name.
  await book.add('caf\u00e9');
  await expect(book.add('cafe\u0301')).rejects.toMatchObject({ code: 'name_taken' });
  expect(codeOf(() => book.find('LAMP'))).toBe('ambiguous');
  expect(book.find('Lamp').name).toBe('Lamp');
  expect(book.find('CAFÉ').name).toBe('café');
  expect(codeOf(() => book.find('nobody'))).toBe('unknown');
});

test.each([
  '',
  '   ',
  'a'.repeat(65),
  'a\nb',
  'a\u0000',
  '\ud800',
  'a\u202eb',
  '0123456789abcdef',
  'ABCDEF0123456789',
])('%j is no name', async (name) => {
  const { book } = newBook();
  await expect(book.add(name)).rejects.toMatchObject({ code: 'bad_name' });
  expect(book.list()).toEqual([]);
});

test.each(['lamp #1', 'a+b', 'room/2', 'status', 'set', '💡'.repeat(64), '__proto__', '日本'])(
  '%j is a name',
  async (name) => {
    const { book } = newBook();
    const { boardId } = await book.add(name);
    expect(book.find(name).boardId).toBe(boardId);
    expect(book.find(boardId).name).toBe(name);
  },
);

test('a board is renamed and removed; the broker forgets it too', async () => {
  const { journal, book, forgotten } = newBook();
  const { boardId } = await book.add('a');
  await book.add('b');
  await expect(book.rename('a', 'b')).rejects.toMatchObject({ code: 'name_taken' });
  expect(await book.rename(boardId, 'A')).toEqual({ boardId, name: 'A', addedAt: 123 });
  await book.remove('A');
  expect(forgotten).toEqual([boardId]);
  expect(book.list().map((board) => board.name)).toEqual(['b']);
  expect(book.key(boardId)).toBeUndefined();
  expect(book.password(boardId)).toBeUndefined();
  expect(journal.get('key', boardId)).toBeUndefined();
  await expect(book.remove('A')).rejects.toMatchObject({ code: 'unknown' });
});

test('a name that was given up can be taken; one that was not kept was never taken', async () => {
  const { journal, book } = newBook();
  const { boardId } = await book.add('a');
  await book.rename('a', 'b');
  await book.add('a');
  await book.remove(boardId);
  await book.add('b');
  const put = journal.put.bind(journal);
  journal.put = () => Promise.reject(new Error('full'));
  for (const change of [book.add('c'), book.rename('a', 'c'), book.remove('a')]) {
    await expect(change).rejects.toThrow('full');
  }
  journal.put = put;
  expect(book.list().map(({ name }) => name)).toEqual(['a', 'b']);
  await book.add('c');
  expect(openBoardBook({ journal, secrets }).list()).toEqual(book.list());
});

test('a given id and key are taken once', async () => {
  const { book } = newBook();
  const boardId = '00000000000000a1';
  const key = new Uint8Array(16).fill(7);
  expect(await book.add('a', { boardId, key })).toMatchObject({ boardId, name: 'a' });
  expect(book.key(boardId)).toEqual(key);
  await expect(book.add('b', { boardId })).rejects.toMatchObject({ code: 'id_taken' });
  await expect(book.add('b', { boardId: 'x' })).rejects.toThrow(RangeError);
  await expect(book.add('b', { key: new Uint8Array(15) })).rejects.toThrow(RangeError);
});

test('a key sealed for one board does not open for another, nor with another key file', async () => {
  const { journal, book } = newBook();
  const a = await book.add('a');
  const b = await book.add('b');
  const sealed = journal.get('key', a.boardId);
  await journal.put('key', b.boardId, sealed);
  const fresh = openBoardBook({ journal, secrets });
  expect(() => fresh.key(b.boardId)).toThrow(SecretUnreadable);
  expect(fresh.password(b.boardId)).toBeUndefined();
  const other = openBoardBook({ journal, secrets: await openSecrets(join(folder, 'other.key')) });
  expect(() => other.key(a.boardId)).toThrow(SecretUnreadable);
});

test('secrets open only unchanged and in their place', () => {
  const sealed = secrets.seal('grüße', 'here');
  expect(secrets.seal('grüße', 'here')).not.toBe(sealed);
  expect(secrets.open(sealed, 'here')).toBe('grüße');
  expect(() => secrets.open(sealed, 'there')).toThrow(SecretUnreadable);
  const bytes = Buffer.from(sealed.slice(3), 'base64url');
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes);
    changed[i] = (changed[i] ?? 0) ^ 1;
    expect(() => secrets.open(`v1.${changed.toString('base64url')}`, 'here')).toThrow(
      SecretUnreadable,
    );
  }
  for (const bad of ['', 'v1.', 'v2.aaaa', 'x', `v1.${Buffer.alloc(20).toString('base64url')}`]) {
    expect(() => secrets.open(bad, 'here')).toThrow(SecretUnreadable);
  }
});

test('the key file is its owner’s alone, is made once, and a broken one is said', async () => {
  const file = join(folder, 'once.key');
  const [one, two] = await Promise.all([openSecrets(file), openSecrets(file)]);
  expect(two.open(one.seal('x', 'p'), 'p')).toBe('x');
  if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
  const before = readFileSync(file);
  await openSecrets(file);
  expect(readFileSync(file)).toEqual(before);
  writeFileSync(file, 'short');
  await expect(openSecrets(file)).rejects.toThrow(SecretsUnavailable);
});
