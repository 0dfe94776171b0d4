/** A gateway on a fake clock, a memory journal and a memory blob store. */
import { createGateway, type Gateway } from '../../gateway/core/gateway.js';
import type { Journal } from '../../gateway/core/journal.js';
import type { Limits } from '../../gateway/core/limits.js';
import { memoryBlobStore } from '../../gateway/core/memory-blob-store.js';
import { memoryJournal } from '../../gateway/core/memory-journal.js';
import { FakeClock } from './clock.js';

export interface Bench {
  clock: FakeClock;
  journal: Journal;
  gateway: Gateway;
  log: string[];
}

export function bench(
  options: { journal?: Journal; clock?: FakeClock; limits?: Partial<Limits> } = {},
): Bench {
  const clock = options.clock ?? new FakeClock();
  const journal = options.journal ?? memoryJournal();
  const log: string[] = [];
  const gateway = createGateway({
    clock,
    journal,
    blobs: memoryBlobStore(),
    random: (length) => new Uint8Array(length).fill(7),
    log: (what) => log.push(what),
    ...(options.limits ? { limits: options.limits } : {}),
  });
  return { clock, journal, gateway, log };
}
