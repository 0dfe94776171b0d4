/** What a gateway is offered when its stream opens. */
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import { type EnvelopeRow, OFFERED_MS } from './mailbox.js';

const undelivered = query<{ gateway: string; after: number; seq: number }>()((p) =>
  tables
    .selectFrom('envelopes')
    .innerJoin('devices', 'devices.id', 'envelopes.device_id')
    .where('devices.gateway_id', '=', p.gateway)
    .where('devices.revoked_at', 'is', null)
    .where('envelopes.delivered_ms', 'is', null)
    .where('envelopes.created_ms', '>', p.after)
    .where('envelopes.seq', '>', p.seq)
    .orderBy('envelopes.seq')
    .selectAll('envelopes'),
);
const lastSeq = query<Record<string, never>>()(() =>
  tables.selectFrom('envelopes').select((eb) => eb.fn.max<number | null>('seq').as('seq')),
);
const everSeq = "SELECT seq FROM sqlite_sequence WHERE name = 'envelopes'";

/** Undelivered envelopes of the gateway's boards that are newer than `lastEventId`. */
export function offersSince(
  ctx: HubContext,
  gatewayId: string,
  lastEventId: number,
): EnvelopeRow[] {
  return ctx.db.read((r) => {
    const last = r.get<{ seq: number }>(everSeq)?.seq ?? lastSeq.get(r, {})?.seq ?? 0;
    // A number from the future is from another database: then everything is new.
    const seq = lastEventId > last ? 0 : lastEventId;
    return undelivered.all(r, { gateway: gatewayId, after: ctx.time.ms() - OFFERED_MS, seq });
  });
}
