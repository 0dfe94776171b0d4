/** Who was let in or sent away, for the owner's later questions. */
import type { Sync } from '../store/index.js';
import { query, tables } from './db/query.js';

const insert = query<{ owner: string; action: string; target: string; ms: number }>()((p) =>
  tables
    .insertInto('audit')
    .values({ owner_id: p.owner, action: p.action, target: p.target, created_ms: p.ms }),
);

export function audit(w: Sync, owner: string, action: string, target: string, ms: number): void {
  insert.run(w, { owner, action, target, ms });
}
