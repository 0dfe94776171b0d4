/**
 * What an owner is told of without having asked (wire document, parts A2 and A3): in the open
 * page, by push, and on the devices that are there. It comes after the event that it tells of,
 * which stays whatever becomes of the notice.
 */
import { cutText, TINY_LIMITS } from '../protocol/tiny.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import type { DeviceRow } from './devices.js';
import { newId } from './ids.js';
import { type EnvelopeRow, insertEnvelope, waitingCount } from './mailbox-queries.js';
import { offer } from './offer.js';
import { presenceOf } from './presence.js';
import { pushTo } from './push.js';

export interface Notice {
  title: string;
  body: string;
  /** A later notice of the same tag takes the place of the first. */
  tag: string;
  /** A path of the hub's own page. */
  url: string;
}

const live = query<{ owner: string }>()((p) =>
  tables
    .selectFrom('devices')
    .where('owner_id', '=', p.owner)
    .where('revoked_at', 'is', null)
    .where('kind', '!=', 'endpoint')
    .selectAll(),
);

/** The address that has the page ask for a result. */
export function redeemUrl(ref: string): string {
  const sentence = `Read the result with use_device action:'result' envelope_id:'${ref}'`;
  return `/?q=${encodeURIComponent(sentence)}`;
}

/** Cut to what a device takes, and whole where something is missing. */
export function noticeOf(said: Partial<Notice>): Notice {
  return {
    title: cutText(said.title ?? '', TINY_LIMITS.notifyTitle) || 'tiny',
    body: cutText(said.body ?? '', TINY_LIMITS.notifyBody),
    tag: said.tag || 'tiny-notification',
    url: said.url || '/',
  };
}

/** Never rejects: what is told of is stored already, and a notice may be lost. */
export async function announce(ctx: HubContext, ownerId: string, said: Notice): Promise<void> {
  const notice = noticeOf(said);
  ctx.bus.tell(ownerId, { type: 'notice', data: { ...notice, created: ctx.time.seconds() } });
  try {
    await fanOut(ctx, ownerId, notice);
  } catch (error) {
    ctx.log.warn({ err: error }, 'a notice did not reach the mailboxes of devices');
  }
  // The push services of browsers are far away; nobody waits for them.
  void pushTo(ctx, ownerId, notice);
}

/** Statement 71: one envelope for each device that was there within two minutes. */
async function fanOut(ctx: HubContext, ownerId: string, notice: Notice): Promise<void> {
  const devices = ctx.db
    .read((r) => live.all(r, { owner: ownerId }))
    .filter((device) => isThere(ctx, device));
  if (devices.length === 0) return;
  const payload = JSON.stringify({ type: 'notify', ...notice });
  const ms = ctx.time.ms();
  const queued = await ctx.db.write((w) =>
    devices.flatMap((device) => {
      // A full mailbox has more urgent things in it.
      const n = waitingCount.get(w, { device: device.id })?.n ?? 0;
      if (n >= ctx.limits.waiting) return [];
      const row = { id: newId(), owner: ownerId, device: device.id, kind: 'notify', payload, ms };
      const seq = insertEnvelope.get(w, row)?.seq ?? 0;
      return [{ device, row: envelope(row, seq) }];
    }),
  );
  for (const { device, row } of queued) offer(ctx, device.gateway_id, row, row.seq);
}

function envelope(
  made: { id: string; owner: string; device: string; kind: string; payload: string; ms: number },
  seq: number,
): EnvelopeRow {
  return {
    seq,
    id: made.id,
    owner_id: made.owner,
    device_id: made.device,
    kind: made.kind,
    payload: made.payload,
    created_ms: made.ms,
    delivered_ms: null,
    claimed_by: null,
    answered_ms: null,
  };
}

/** A board is there while its gateway says so, and is told only what it has a verb for. */
function isThere(ctx: HubContext, device: DeviceRow): boolean {
  if (device.gateway_id !== null && !ctx.tinyOnly) {
    const verbs: unknown = JSON.parse(device.capabilities);
    const can = Array.isArray(verbs) && verbs.includes('notify');
    return can && presenceOf(ctx, device).state === 'online';
  }
  const age = ctx.time.seconds() - (device.last_seen ?? Number.NEGATIVE_INFINITY);
  return age <= TINY_LIMITS.notifySeenS;
}
