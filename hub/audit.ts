/** Who was let in or sent away, for the owner's later questions. */
import type { Sync } from '../store/index.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';

/** Entries kept for each owner. */
const KEPT = 10_000;
/** Entries of one answer. */
export const AUDIT_READ = 200;

const insert = query<{ owner: string; action: string; target: string; ms: number }>()((p) =>
  tables
    .insertInto('audit')
    .values({ owner_id: p.owner, action: p.action, target: p.target, created_ms: p.ms }),
);
const prune = query<{ owner: string }>()((p) =>
  tables
    .deleteFrom('audit')
    .where('owner_id', '=', p.owner)
    .where('seq', '<=', (eb) =>
      eb
        .selectFrom('audit as kept')
        .where('kept.owner_id', '=', p.owner)
        .orderBy('kept.seq', 'desc')
        .select('kept.seq')
        .limit(1)
        .offset(KEPT),
    ),
);
const since = query<{ owner: string; after: number; limit: number }>()((p) =>
  tables
    .selectFrom('audit')
    .where('owner_id', '=', p.owner)
    .where('seq', '>', p.after)
    .orderBy('seq', 'desc')
    .limit(p.limit)
    .select(['seq', 'action', 'target', 'created_ms']),
);

/** Part of a write. `target` is an id or a name, never a secret. */
export function audit(w: Sync, owner: string, action: string, target: string, ms: number): void {
  insert.run(w, { owner, action, target, ms });
  prune.run(w, { owner });
}

export interface AuditEntry {
  id: number;
  action: string;
  target: string;
  /** Unix seconds. */
  created: number;
}

/** The newest `AUDIT_READ` after an id, oldest first. */
export function auditSince(ctx: HubContext, ownerId: string, after: number): AuditEntry[] {
  const rows = ctx.db.read((r) => since.all(r, { owner: ownerId, after, limit: AUDIT_READ }));
  return rows.reverse().map(({ seq, action, target, created_ms }) => ({
    id: seq,
    action,
    target,
    created: Math.floor(created_ms / 1000),
  }));
}
