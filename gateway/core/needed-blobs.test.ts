import { expect, test } from 'vitest';
import { memoryJournal } from './memory-journal.js';
import { neededBlobs } from './needed-blobs.js';
import type { BlobRef } from './types.js';

const BOARD = '00000000000000aa';
const ref = (key: string): BlobRef => ({
  key,
  size: 1,
  mediaType: 'image/png',
  purpose: 'snapshot',
});

test('a picture is needed until its call is reported, and a recording until it is told', async () => {
  const journal = memoryJournal();
  await journal.put('blob', `${BOARD}/1`, JSON.stringify([ref('arrived')]));
  const call = {
    key: 'k',
    door: 'relay',
    boardId: BOARD,
    verb: 'snapshot',
    args: {},
    ttlMs: 1_000,
  };
  await journal.admit(call, 1, 0);
  await journal.settle('k', { kind: 'ok', value: null, blobs: [ref('settled')] });
  const body = { text: 'hello', blobId: 7 };
  await journal.keep({ boardId: BOARD, bootId: 3, seq: 1, kind: 'transcript', at: 0, body });
  expect([...neededBlobs(journal)].sort()).toEqual([`${BOARD}-3-7`, 'arrived', 'settled']);
  await journal.put('blob', `${BOARD}/1`, undefined);
  await journal.reported('k');
  await journal.done(journal.pending(10).map(({ id }) => id));
  expect([...neededBlobs(journal)]).toEqual([]);
});
