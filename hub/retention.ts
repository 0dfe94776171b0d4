/** The sweep each minute: lost tasks are reported, and what is past its time goes (part A2). */
import type { Sync } from '../store/index.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import { nameOf, promptOf } from './envelope.js';
import { keepEvent, type StoredEvent } from './events.js';
import { type EnvelopeRow, OFFERED_MS, purge } from './mailbox.js';
import { announce, type Notice } from './notices.js';

/** Rows that one sweep reads; what is beyond waits for the next, unreported and kept (62). */
export const SCAN = 500;

const lost = query<{ before: number; limit: number }>()((p) =>
  tables
    .selectFrom('envelopes')
    .where('delivered_ms', 'is', null)
    .where('created_ms', '<', p.before)
    .orderBy('created_ms')
    .orderBy('seq')
    .limit(p.limit)
    .selectAll(),
);
const drop = query<{ seq: number }>()((p) =>
  tables.deleteFrom('envelopes').where('seq', '=', p.seq),
);
const shiftEnvelopes = query<{ by: number }>()((p) =>
  tables.updateTable('envelopes').set((eb) => ({
    created_ms: eb('created_ms', '+', p.by),
    delivered_ms: eb('delivered_ms', '+', p.by),
    answered_ms: eb('answered_ms', '+', p.by),
  })),
);
const shiftReplies = query<{ by: number }>()((p) =>
  tables.updateTable('replies').set((eb) => ({ created_ms: eb('created_ms', '+', p.by) })),
);
const shiftSeen = query<{ by: number }>()((p) =>
  tables.updateTable('devices').set((eb) => ({ last_seen: eb('last_seen', '+', p.by) })),
);

/** Never throws: what the store can't do now is tried again a minute later (statement 63). */
export async function sweep(ctx: HubContext): Promise<void> {
  try {
    await followClock(ctx);
    const ms = ctx.time.ms();
    const told = await ctx.db.write((w) => {
      const events = reportLost(w, ms);
      purge(w, ms);
      return events;
    });
    for (const { ownerId, event } of told) ctx.bus.tell(ownerId, event);
    for (const { ownerId, notice } of told) await announce(ctx, ownerId, notice);
  } catch (error) {
    ctx.log.error({ err: error }, 'the sweep of the mailbox failed; it is tried again in a minute');
  }
}

/** After a jump of the wall clock: ages stay what they were, only the dates move. */
async function followClock(ctx: HubContext): Promise<void> {
  const jump = ctx.time.jump();
  if (jump === 0) return;
  const seconds = Math.round(jump / 1000);
  await ctx.db.write((w) => {
    shiftEnvelopes.run(w, { by: seconds * 1000 });
    shiftReplies.run(w, { by: seconds * 1000 });
    shiftSeen.run(w, { by: seconds });
  });
  ctx.time.settle();
  ctx.log.warn({ seconds }, 'the wall clock was set; the mailbox keeps its ages');
}

interface Report {
  ownerId: string;
  event: StoredEvent;
  notice: Notice;
}

function reportLost(w: Sync, ms: number): Report[] {
  const rows = lost.all(w, { before: ms - OFFERED_MS, limit: SCAN });
  const byOwner = new Map<string, EnvelopeRow[]>();
  for (const row of rows) {
    if (row.kind !== 'invoke') continue;
    byOwner.set(row.owner_id, [...(byOwner.get(row.owner_id) ?? []), row]);
  }
  const told = [...byOwner].map(([ownerId, missed]) => {
    const said = missedEvent(w, ownerId, missed, ms);
    const notice = {
      title: '💻 A task never reached your device',
      body: said.detail,
      tag: `tiny-missed-${ms}`,
      url: '/devices',
    };
    return { ownerId, event: keepEvent(w, said), notice };
  });
  for (const row of rows) drop.run(w, { seq: row.seq });
  return told;
}

function missedEvent(w: Sync, ownerId: string, missed: EnvelopeRow[], ms: number) {
  const oldest = missed[0];
  const name = oldest === undefined ? 'A device' : nameOf(w, oldest.device_id);
  const prompt = oldest === undefined ? undefined : promptOf(oldest.payload, 90);
  const more = missed.length > 1 ? ` +${missed.length - 1} more` : '';
  return {
    ownerId,
    ...(oldest === undefined ? {} : { device: { id: oldest.device_id, name } }),
    kind: 'device_missed',
    detail: `${name} never fetched a task within the hour: "${prompt ?? '(no prompt)'}"${more}`,
    at: ms,
  };
}
