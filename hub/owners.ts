/** Owners and their browser sessions. Secrets are kept as hashes only. */

import { sql } from 'kysely';
import { audit } from './audit.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import { hashOf, newId, newSecret } from './ids.js';
import type { Owner } from './owner.js';
import { addToken, type TokenOwner } from './tokens.js';

/** For who runs the hub. */
export interface OwnerView extends Owner {
  /** Unix seconds. */
  created_at: number;
  /** Live ones. */
  devices: number;
}

/** A browser's session, in seconds. */
export const SESSION_S = 30 * 86_400;

const insertOwner = query<{ id: string; name: string; s: number }>()((p) =>
  tables.insertInto('owners').values({ id: p.id, name: p.name, created_at: p.s }),
);
const insertSession = query<{
  hash: string;
  owner: string;
  token: string;
  s: number;
  end: number;
}>()((p) =>
  tables.insertInto('sessions').values({
    hash: p.hash,
    owner_id: p.owner,
    created_at: p.s,
    expires_at: p.end,
    token_id: p.token,
  }),
);
export const ownerById = query<{ id: string }>()((p) =>
  tables.selectFrom('owners').where('id', '=', p.id).select(['id', 'name']),
);
const bySession = query<{ hash: string; s: number }>()((p) =>
  tables
    .selectFrom('sessions')
    .innerJoin('owners', 'owners.id', 'sessions.owner_id')
    .where('sessions.hash', '=', p.hash)
    .where('sessions.expires_at', '>', p.s)
    .select(['owners.id', 'owners.name']),
);
const dropSession = query<{ hash: string }>()((p) =>
  tables.deleteFrom('sessions').where('hash', '=', p.hash),
);
const dropOldSessions = query<{ s: number }>()((p) =>
  tables.deleteFrom('sessions').where('expires_at', '<=', p.s),
);
const allOwners = query<Record<string, never>>()(() =>
  tables.selectFrom('owners').select(['id', 'name']).orderBy('created_at').orderBy(sql`rowid`),
);
const views = query<Record<string, never>>()(() =>
  tables
    .selectFrom('owners')
    .leftJoin('devices', (join) =>
      join.onRef('devices.owner_id', '=', 'owners.id').on('devices.revoked_at', 'is', null),
    )
    .groupBy('owners.id')
    .orderBy('owners.created_at')
    .orderBy(sql`owners.rowid`)
    .select((eb) => [
      'owners.id',
      'owners.name',
      'owners.created_at',
      eb.fn.count<number>('devices.id').as('devices'),
    ]),
);

export function ownerViews(ctx: HubContext): OwnerView[] {
  return ctx.db.read((r) => views.all(r, {}));
}

export function owners(ctx: HubContext): Owner[] {
  return ctx.db.read((r) => allOwners.all(r, {}));
}

/** A new owner with a first token, which is told here and never again. */
export async function createOwner(
  ctx: HubContext,
  name: string,
): Promise<{ ownerId: string; token: string }> {
  const ownerId = newId();
  const s = ctx.time.seconds();
  return ctx.db.write((w) => {
    insertOwner.run(w, { id: ownerId, name, s });
    const { token } = addToken(w, ownerId, { label: 'first', kind: 'owner', expiresAt: null }, s);
    audit(w, ownerId, 'owner.create', name, s * 1000);
    return { ownerId, token };
  });
}

export function ownerBySession(ctx: HubContext, secret: string): Owner | undefined {
  if (secret.length > 128) return undefined;
  return ctx.db.read((r) => bySession.get(r, { hash: hashOf(secret), s: ctx.time.seconds() }));
}

/** The secret for the cookie. The session ends with its token, or earlier. */
export async function openSession(ctx: HubContext, by: TokenOwner): Promise<string> {
  const secret = newSecret('mts_');
  const s = ctx.time.seconds();
  await ctx.db.write((w) => {
    dropOldSessions.run(w, { s });
    const end = Math.min(s + SESSION_S, by.expiresAt ?? Number.POSITIVE_INFINITY);
    insertSession.run(w, { hash: hashOf(secret), owner: by.id, token: by.tokenId, s, end });
    audit(w, by.id, 'session.open', by.name, s * 1000);
  });
  return secret;
}

/** Open streams end with it; those of other sessions come again by themselves. */
export async function closeSession(
  ctx: HubContext,
  ownerId: string,
  secret: string,
): Promise<void> {
  await ctx.db.write((w) => dropSession.run(w, { hash: hashOf(secret) }));
  ctx.bus.hangUp(ownerId);
}
