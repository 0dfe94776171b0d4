/** The mailbox's statements, each compiled once. */
import { query, tables } from './db/query.js';

export interface EnvelopeRow {
  seq: number;
  id: string;
  owner_id: string;
  device_id: string;
  kind: string;
  payload: string;
  created_ms: number;
  delivered_ms: number | null;
  claimed_by: string | null;
  answered_ms: number | null;
}

export const insertEnvelope = query<{
  id: string;
  owner: string;
  device: string;
  kind: string;
  payload: string;
  ms: number;
}>()((p) =>
  tables
    .insertInto('envelopes')
    .values({
      id: p.id,
      owner_id: p.owner,
      device_id: p.device,
      kind: p.kind,
      payload: p.payload,
      created_ms: p.ms,
      delivered_ms: null,
      claimed_by: null,
      answered_ms: null,
    })
    .returning('seq'),
);
export const envelopeById = query<{ id: string }>()((p) =>
  tables.selectFrom('envelopes').where('id', '=', p.id).selectAll(),
);
export const waitingCount = query<{ device: string }>()((p) =>
  tables
    .selectFrom('envelopes')
    .where('device_id', '=', p.device)
    .where('delivered_ms', 'is', null)
    .select((eb) => eb.fn.countAll<number>().as('n')),
);
export const waiting = query<{ device: string; after: number; limit: number }>()((p) =>
  tables
    .selectFrom('envelopes')
    .where('device_id', '=', p.device)
    .where('delivered_ms', 'is', null)
    .where('created_ms', '>', p.after)
    .orderBy('seq')
    .limit(p.limit)
    .selectAll(),
);
export const deliver = query<{ id: string; ms: number; by: string | null }>()((p) =>
  tables
    .updateTable('envelopes')
    .set({ delivered_ms: p.ms, claimed_by: p.by })
    .where('id', '=', p.id)
    .where('delivered_ms', 'is', null),
);
export const setAnswered = query<{ id: string; ms: number }>()((p) =>
  tables
    .updateTable('envelopes')
    .set((eb) => ({
      answered_ms: p.ms,
      delivered_ms: eb.fn.coalesce('delivered_ms', eb.val(p.ms)),
    }))
    .where('id', '=', p.id)
    .where('answered_ms', 'is', null),
);
export const insertReply = query<{
  id: string;
  owner: string;
  device: string | null;
  gateway: string | null;
  ref: string;
  payload: string;
  ms: number;
}>()((p) =>
  tables
    .insertInto('replies')
    .values({
      id: p.id,
      owner_id: p.owner,
      device_id: p.device,
      gateway_id: p.gateway,
      ref: p.ref,
      payload: p.payload,
      created_ms: p.ms,
    })
    .onConflict((oc) => oc.columns(['owner_id', 'ref']).doNothing()),
);
export const replyByRef = query<{ owner: string; ref: string; after: number }>()((p) =>
  tables
    .selectFrom('replies')
    .where('owner_id', '=', p.owner)
    .where('ref', '=', p.ref)
    .where('created_ms', '>', p.after)
    .select(['id', 'payload', 'created_ms', 'gateway_id', 'device_id']),
);
export const dropOldWaiting = query<{ before: number }>()((p) =>
  tables
    .deleteFrom('envelopes')
    .where('delivered_ms', 'is', null)
    .where('created_ms', '<=', p.before)
    // A lost invoke goes only once its loss was reported: the sweep's business.
    .where('kind', '!=', 'invoke'),
);
export const dropOldDelivered = query<{ before: number }>()((p) =>
  tables
    .deleteFrom('envelopes')
    .where('created_ms', '<=', p.before)
    .where('delivered_ms', 'is not', null),
);
export const dropOldReplies = query<{ before: number }>()((p) =>
  tables.deleteFrom('replies').where('created_ms', '<=', p.before),
);
export const dropOldLate = query<{ before: number }>()((p) =>
  tables.deleteFrom('late_replies').where('created_ms', '<=', p.before),
);
export const newestLate = query<{ envelope: string }>()((p) =>
  tables
    .selectFrom('late_replies')
    .where('envelope_id', '=', p.envelope)
    .orderBy('seq', 'desc')
    .limit(1)
    .select('payload'),
);
