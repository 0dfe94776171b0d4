import { createHash } from 'node:crypto';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { BlobRefused, type BlobStore, BlobStoreUnavailable } from '../core/blob-store.js';
import { memoryBlobStore } from '../core/memory-blob-store.js';
import { openBlobStore } from './blobs.js';

const folders: string[] = [];
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'blobs-'));
  folders.push(folder);
  return folder;
}
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const bytes = new Uint8Array(1_000).map((_, i) => i * 7);
const sha256 = (of: Uint8Array): Uint8Array =>
  new Uint8Array(createHash('sha256').update(of).digest());

async function keep(store: BlobStore, key: string, of = bytes): Promise<void> {
  await store.begin(key, of.length);
  await store.write(key, 0, of);
  expect(await store.finish(key, sha256(of))).toMatchObject({ key, size: of.length });
}

describe.each([
  { name: 'in memory', make: async (maxBytes: number) => memoryBlobStore({ maxBytes }) },
  { name: 'in a folder', make: (maxBytes: number) => openBlobStore(newFolder(), { maxBytes }) },
])('a blob store $name', ({ make }) => {
  test('a blob comes in pieces, is verified and read back', async () => {
    const store = await make(10_000);
    expect(await store.begin('a-1', 1_000)).toEqual({ offset: 0 });
    expect(await store.write('a-1', 0, bytes.subarray(0, 600))).toBe(600);
    expect(await store.read('a-1')).toBeUndefined();
    expect(await store.write('a-1', 400, bytes.subarray(400))).toBe(1_000);
    const hash = sha256(bytes);
    expect(await store.finish('a-1', hash)).toEqual({
      key: 'a-1',
      size: 1_000,
      sha256: Buffer.from(hash).toString('hex'),
    });
    expect(await store.read('a-1')).toEqual(bytes);
    await store.remove('a-1');
    expect(await store.read('a-1')).toBeUndefined();
  });

  test('an empty blob is a blob', async () => {
    const store = await make(100);
    await keep(store, 'empty', new Uint8Array(0));
    expect(await store.read('empty')).toEqual(new Uint8Array(0));
  });

  test('a begin goes on where the last one stopped, and a finished blob is all there', async () => {
    const store = await make(10_000);
    await store.begin('a', 1_000);
    await store.write('a', 0, bytes.subarray(0, 300));
    expect(await store.begin('a', 1_000)).toEqual({ offset: 300 });
    await store.write('a', 300, bytes.subarray(300));
    await store.finish('a', sha256(bytes));
    expect(await store.begin('a', 1_000, sha256(bytes))).toEqual({ offset: 1_000 });
    expect(await store.finish('a', sha256(bytes))).toMatchObject({ size: 1_000 });
    // Another size, or another hash, is another blob.
    expect(await store.begin('a', 1_000, sha256(new Uint8Array(1)))).toEqual({ offset: 0 });
    await store.write('a', 0, bytes.subarray(0, 5));
    expect(await store.begin('a', 999)).toEqual({ offset: 0 });
  });

  test('a wrong hash removes the blob; missing bytes leave it as it is', async () => {
    const store = await make(10_000);
    await store.begin('a', 1_000);
    await store.write('a', 0, bytes.subarray(0, 999));
    expect(await store.finish('a', sha256(bytes))).toBeUndefined();
    expect(await store.begin('a', 1_000)).toEqual({ offset: 999 });
    await store.write('a', 999, new Uint8Array([1]));
    expect(await store.finish('a', sha256(new Uint8Array(1)))).toBeUndefined();
    expect(await store.read('a')).toBeUndefined();
    await expect(store.finish('a', sha256(bytes))).rejects.toThrow(BlobRefused);
  });

  test('gaps, overruns, and keys that could leave the folder are refused', async () => {
    const store = await make(10_000);
    await store.begin('a', 10);
    await expect(store.write('a', 1, new Uint8Array(1))).rejects.toThrow(BlobRefused);
    await expect(store.write('a', 0, new Uint8Array(11))).rejects.toThrow(BlobRefused);
    await expect(store.write('b', 0, new Uint8Array(1))).rejects.toThrow(BlobRefused);
    for (const key of ['', '.', '..', '../a', 'a/b', 'a\\b', '.a', 'a~1', 'ä', 'a'.repeat(129)]) {
      await expect(store.begin(key, 1)).rejects.toThrow(BlobRefused);
    }
    for (const size of [-1, 1.5, Number.NaN, 2 ** 32]) {
      await expect(store.begin('c', size)).rejects.toThrow(BlobRefused);
    }
  });

  test('what does not fit is refused at its begin', async () => {
    const store = await make(1_500);
    await store.begin('a', 1_000);
    await expect(store.begin('b', 501)).rejects.toThrow(BlobStoreUnavailable);
    expect(await store.begin('b', 500)).toEqual({ offset: 0 });
    expect(await store.begin('a', 1_000)).toEqual({ offset: 0 });
  });

  test('calls made at once for one key are carried out in their order', async () => {
    const store = await make(10_000);
    const [begun, first, second, stored] = await Promise.all([
      store.begin('a', 1_000),
      store.write('a', 0, bytes.subarray(0, 500)),
      store.write('a', 500, bytes.subarray(500)),
      store.finish('a', sha256(bytes)),
    ]);
    expect([begun.offset, first, second, stored?.size]).toEqual([0, 500, 1_000, 1_000]);
  });
});

describe('in a folder', () => {
  test('a part outlives a crash; one that was torn fails its hash', async () => {
    const folder = newFolder();
    const before = await openBlobStore(folder);
    await before.begin('a', 1_000);
    await before.write('a', 0, bytes.subarray(0, 700));
    await before.begin('b', 1_000);
    await before.write('b', 0, bytes.subarray(0, 700));
    // A power cut may leave a length whose bytes never reached the disk.
    truncateSync(join(folder, 'b~1000.part'), 500);
    truncateSync(join(folder, 'b~1000.part'), 800);
    const after = await openBlobStore(folder);
    expect(await after.begin('a', 1_000)).toEqual({ offset: 700 });
    await after.write('a', 700, bytes.subarray(700));
    expect(await after.finish('a', sha256(bytes))).toMatchObject({ size: 1_000 });
    expect(await after.begin('b', 1_000)).toEqual({ offset: 800 });
    await after.write('b', 800, bytes.subarray(800));
    expect(await after.finish('b', sha256(bytes))).toBeUndefined();
    expect(readdirSync(folder)).toEqual(['a.blob']);
    expect(new Uint8Array(readFileSync(join(folder, 'a.blob')))).toEqual(bytes);
  });

  test('a new blob takes the room of the oldest that nobody needs, and of none that arrives', async () => {
    const folder = newFolder();
    const room = { maxBytes: 4_000, needed: () => new Set(['old']) };
    const store = await openBlobStore(folder, room);
    await store.begin('arriving', 1_000);
    await store.write('arriving', 0, bytes.subarray(0, 100));
    for (const [i, key] of ['old', 'middle', 'new'].entries()) {
      await keep(store, key);
      utimesSync(join(folder, `${key}.blob`), 1_000 + i, 1_000 + i);
    }
    utimesSync(join(folder, 'arriving~1000.part'), 1, 1);
    writeFileSync(join(folder, 'not ours'), 'x');
    await keep(store, 'newest');
    const left = ['arriving~1000.part', 'new.blob', 'newest.blob', 'not ours', 'old.blob'];
    expect(readdirSync(folder).sort()).toEqual(left);
    // What is needed and what arrives leave 2,000 bytes.
    await expect(store.begin('large', 2_001)).rejects.toThrow(BlobStoreUnavailable);
    expect(readdirSync(folder).sort()).toEqual(left);
    // After a restart nobody is sending it any more.
    const after = await openBlobStore(folder, room);
    expect(await after.begin('large', 3_000)).toEqual({ offset: 0 });
    expect(readdirSync(folder).sort()).toEqual(['large~3000.part', 'not ours', 'old.blob']);
  });

  test('a folder that can’t be used is said in words', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'file'), '');
    await expect(openBlobStore(join(folder, 'file', 'x'))).rejects.toThrow(
      /ENOTDIR.*nothing was stored/,
    );
    const store = await openBlobStore(join(folder, 'gone'));
    rmSync(join(folder, 'gone'), { recursive: true });
    await expect(store.begin('a', 1)).rejects.toThrow(BlobStoreUnavailable);
  });
});

test('the memory store gives the room of its oldest finished blobs that nobody needs', async () => {
  const store = memoryBlobStore({ maxBytes: 3_010, needed: () => new Set(['needed']) });
  await store.begin('arriving', 10);
  for (const key of ['needed', 'old', 'new', 'newest']) await keep(store, key);
  expect(await store.read('old')).toBeUndefined();
  expect(await store.read('needed')).toBeDefined();
  expect(await store.read('new')).toBeDefined();
  await expect(store.begin('large', 2_001)).rejects.toThrow(BlobStoreUnavailable);
});
