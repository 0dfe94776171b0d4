/** Which blobs must not go: their call is not reported, or their event not told, yet. */
import { blobKey } from './blob-inbox.js';
import type { Journal } from './journal.js';
import type { BlobRef } from './types.js';

/** Events looked at; more than a journal keeps for its upstream. */
const MOST = 100_000;

/** The keys of blobs that a journal still speaks of. */
export function neededBlobs(journal: Pick<Journal, 'list' | 'open' | 'pending'>): Set<string> {
  const keys = new Set<string>();
  for (const [, text] of journal.list('blob')) {
    for (const { key } of JSON.parse(text) as BlobRef[]) keys.add(key);
  }
  for (const { outcome } of journal.open()) {
    if (outcome?.kind === 'ok') for (const { key } of outcome.blobs) keys.add(key);
  }
  for (const { item } of journal.pending(MOST)) {
    const { blobId } = item.body;
    if (typeof blobId === 'number') keys.add(blobKey(item.boardId, item.bootId, blobId));
  }
  return keys;
}
