/** Items of the journal that wait for the upstream, and those it will never take. */
import type { Journal } from '../../core/journal.js';
import type { UpItem } from '../../core/types.js';
import { plainJson } from '../prompt/plain.js';
import { type RelayDeps, ROOM } from './deps.js';

export interface Pending {
  id: number;
  item: UpItem;
}

const MOST = 8192;
/** Items put aside that are kept to look at; beyond it they are only counted. */
const ASIDE = 100;

/**
 * Up to `max` items that `wanted` accepts, oldest first. Others (of boards the hub does not know
 * yet, of another pump) are looked past.
 */
export function pendingItems(
  journal: Journal,
  max: number,
  wanted: (pending: Pending) => boolean,
): Pending[] {
  for (let limit = max; ; limit *= 4) {
    const looked = journal.pending(Math.min(limit, MOST));
    const found = looked.filter(wanted);
    if (found.length >= max || looked.length < limit || limit >= MOST) return found.slice(0, max);
  }
}

/** Takes an item out of the way for good: kept to look at, logged, counted. */
export async function putAside(deps: RelayDeps, { id, item }: Pending, why: string): Promise<void> {
  const { journal, counters, log, clock } = deps;
  counters.count('up.aside');
  log('an item was put aside: the hub will not take it', {
    board: item.boardId,
    kind: item.kind,
    why,
  });
  const kept = journal.list(ROOM).filter(([key]) => key.startsWith('aside/')).length;
  if (kept < ASIDE) {
    const text = JSON.stringify({ why, at: clock.wall(), item: plainJson({ ...item }) });
    await journal.put(ROOM, `aside/${id}`, text);
  }
  await journal.done([id]);
}
