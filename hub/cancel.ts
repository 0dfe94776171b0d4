/** Taking an envelope back: at once where nobody fetched it, else by asking its gateway. */
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import { deviceById } from './devices.js';
import { newId } from './ids.js';
import { envelopeOf, readReply } from './mailbox.js';
import { insertReply, setAnswered } from './mailbox-queries.js';
import { type Answered, type NotDone, type Pending, readOutcome } from './outcome.js';
import { Refusal } from './refusal.js';

const openOf = query<{ device: string }>()((p) =>
  tables
    .selectFrom('envelopes')
    .where('device_id', '=', p.device)
    .where('answered_ms', 'is', null)
    .select(['id', 'claimed_by']),
);

const cancelled = JSON.stringify({
  ok: false,
  outcome: 'cancelled',
  error: { code: 'cancelled', message: 'It was cancelled before anybody fetched it.' },
  result: 'It was cancelled before anybody fetched it.',
});

/** One outcome in any case: the cancellation's, or the one that was there first. */
export async function cancel(
  ctx: HubContext,
  ownerId: string,
  envelopeId: string,
): Promise<Answered | NotDone | Pending> {
  const row = envelopeOf(ctx, ownerId, envelopeId);
  if (!row) throw new Refusal(404, 'no such envelope');
  const ids = { device_id: row.device_id, envelope_id: row.id };
  const ms = ctx.time.ms();
  const done = await ctx.db.write((w) => {
    const now = w.get<{ delivered_ms: number | null }>(
      'SELECT delivered_ms FROM envelopes WHERE id = ? AND answered_ms IS NULL',
      [row.id],
    );
    if (!now || now.delivered_ms !== null) return false;
    insertReply.run(w, {
      id: newId(),
      owner: ownerId,
      device: row.device_id,
      gateway: null,
      ref: row.id,
      payload: cancelled,
      ms,
    });
    setAnswered.run(w, { id: row.id, ms });
    return true;
  });
  const gateway = deviceById(ctx, row.device_id)?.gateway_id ?? null;
  ctx.streams.of(gateway)?.send('cancel', { envelope_id: row.id });
  if (done) ctx.waiters.answered(row.id, cancelled);
  const reply = readReply(ctx, ownerId, row.id);
  if (reply) return readOutcome(ctx, reply.payload, ids);
  return {
    ok: true,
    pending: true,
    ...ids,
    note: 'It was fetched already; its board is asked to stop, and the outcome will say whether it did.',
  };
}

/** Tells the gateway of a revoked device to stop what it still does for it. */
export function cancelAll(
  ctx: HubContext,
  device: { id: string; gateway_id: string | null },
): void {
  const stream = ctx.streams.of(device.gateway_id);
  if (!stream) return;
  for (const row of ctx.db.read((r) => openOf.all(r, { device: device.id }))) {
    stream.send('cancel', { envelope_id: row.id });
  }
}
