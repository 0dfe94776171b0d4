/** Subscriptions of browsers to push, and the sending to them. */
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import type { Notice } from './notices.js';
import type { Subscription } from './push-sender.js';
import { Refusal } from './refusal.js';

/** Subscriptions of an owner; the oldest gives way. */
const MOST = 32;
/**
 * Requests to push services that are open for one owner at a time. A device may have something to
 * tell as often as it likes, and a service may be slow to take it.
 */
const MOST_OPEN = 2 * MOST;
const openOf = new WeakMap<HubContext, Map<string, number>>();

const upsert = query<{
  endpoint: string;
  owner: string;
  p256dh: string;
  auth: string;
  s: number;
}>()((p) =>
  tables
    .insertInto('push_subscriptions')
    .values({
      endpoint: p.endpoint,
      owner_id: p.owner,
      p256dh: p.p256dh,
      auth: p.auth,
      created_at: p.s,
    })
    // One browser tells one owner: the one that subscribed last.
    .onConflict((oc) =>
      oc.column('endpoint').doUpdateSet((eb) => ({
        owner_id: eb.ref('excluded.owner_id'),
        p256dh: eb.ref('excluded.p256dh'),
        auth: eb.ref('excluded.auth'),
        created_at: eb.ref('excluded.created_at'),
      })),
    ),
);
const prune = query<{ owner: string }>()((p) =>
  tables
    .deleteFrom('push_subscriptions')
    .where('owner_id', '=', p.owner)
    .where('endpoint', 'not in', (eb) =>
      eb
        .selectFrom('push_subscriptions as kept')
        .where('kept.owner_id', '=', p.owner)
        .orderBy('kept.created_at', 'desc')
        .orderBy('kept.endpoint')
        .select('kept.endpoint')
        .limit(MOST),
    ),
);
const ofOwner = query<{ owner: string }>()((p) =>
  tables
    .selectFrom('push_subscriptions')
    .where('owner_id', '=', p.owner)
    .select(['endpoint', 'p256dh', 'auth']),
);
const drop = query<{ endpoint: string; owner: string }>()((p) =>
  tables
    .deleteFrom('push_subscriptions')
    .where('endpoint', '=', p.endpoint)
    .where('owner_id', '=', p.owner),
);

export async function subscribe(ctx: HubContext, owner: string, to: Subscription): Promise<void> {
  const why = ctx.push.refuses(to.endpoint);
  if (why !== undefined) throw new Refusal(400, why);
  const s = ctx.time.seconds();
  await ctx.db.write((w) => {
    upsert.run(w, { ...to, owner, s });
    prune.run(w, { owner });
  });
}

export async function unsubscribe(
  ctx: HubContext,
  owner: string,
  endpoint: string,
): Promise<boolean> {
  return ctx.db.write((w) => drop.run(w, { endpoint, owner }) === 1);
}

/** Never rejects. A subscription that its service no longer knows is dropped. */
export async function pushTo(ctx: HubContext, owner: string, notice: Notice): Promise<void> {
  try {
    const all = ctx.db.read((r) => ofOwner.all(r, { owner }));
    const payload = JSON.stringify(notice);
    const open = openOf.get(ctx) ?? new Map<string, number>();
    openOf.set(ctx, open);
    const before = open.get(owner) ?? 0;
    if (before + all.length > MOST_OPEN) {
      ctx.log.warn({ owner, open: before }, 'earlier notices are still being pushed; not this one');
      return;
    }
    open.set(owner, before + all.length);
    try {
      await Promise.all(all.map((to) => pushOne(ctx, owner, to, payload)));
    } finally {
      const left = (open.get(owner) ?? 0) - all.length;
      if (left > 0) open.set(owner, left);
      else open.delete(owner);
    }
  } catch (error) {
    ctx.log.warn({ err: error }, 'a notice was not pushed');
  }
}

async function pushOne(
  ctx: HubContext,
  owner: string,
  to: Subscription,
  payload: string,
): Promise<void> {
  let status: number;
  try {
    status = await ctx.push.send(to, payload);
  } catch {
    // The address is a secret, and stands in the errors of libraries.
    ctx.log.warn({ owner }, 'a push service can’t be reached; this notice was not pushed');
    return;
  }
  if (status === 404 || status === 410) {
    await ctx.db.write((w) => drop.run(w, { endpoint: to.endpoint, owner }));
  } else if (status < 200 || status > 299) {
    ctx.log.warn({ owner, status }, 'a push service refused; this notice was not pushed');
  }
}
