/** Owners, their tokens and their browser sessions. Secrets are kept as hashes only. */

import { audit } from './audit.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import { hashOf, newId, newSecret, OWNER_TOKEN } from './ids.js';

export interface Owner {
  id: string;
  name: string;
}

/** A browser's session, in seconds. */
export const SESSION_S = 30 * 86_400;

const insertOwner = query<{ id: string; name: string; s: number }>()((p) =>
  tables.insertInto('owners').values({ id: p.id, name: p.name, created_at: p.s }),
);
const insertToken = query<{ hash: string; owner: string; label: string; s: number }>()((p) =>
  tables.insertInto('tokens').values({
    hash: p.hash,
    owner_id: p.owner,
    label: p.label,
    created_at: p.s,
    revoked_at: null,
  }),
);
const byToken = query<{ hash: string }>()((p) =>
  tables
    .selectFrom('tokens')
    .innerJoin('owners', 'owners.id', 'tokens.owner_id')
    .where('tokens.hash', '=', p.hash)
    .where('tokens.revoked_at', 'is', null)
    .select(['owners.id', 'owners.name']),
);
const revokeToken = query<{ hash: string; s: number }>()((p) =>
  tables
    .updateTable('tokens')
    .set({ revoked_at: p.s })
    .where('hash', '=', p.hash)
    .where('revoked_at', 'is', null),
);
const insertSession = query<{ hash: string; owner: string; s: number; end: number }>()((p) =>
  tables
    .insertInto('sessions')
    .values({ hash: p.hash, owner_id: p.owner, created_at: p.s, expires_at: p.end }),
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
  tables.selectFrom('owners').select(['id', 'name']).orderBy('created_at').orderBy('id'),
);

export function owners(ctx: HubContext): Owner[] {
  return ctx.db.read((r) => allOwners.all(r, {}));
}

/** A new owner with a first token, which is told here and never again. */
export async function createOwner(
  ctx: HubContext,
  name: string,
): Promise<{ ownerId: string; token: string }> {
  const ownerId = newId();
  const token = newSecret('mto_');
  const s = ctx.time.seconds();
  await ctx.db.write((w) => {
    insertOwner.run(w, { id: ownerId, name, s });
    insertToken.run(w, { hash: hashOf(token), owner: ownerId, label: 'first', s });
    audit(w, ownerId, 'owner.create', name, s * 1000);
  });
  return { ownerId, token };
}

export async function createToken(
  ctx: HubContext,
  ownerId: string,
  label: string,
): Promise<string> {
  const token = newSecret('mto_');
  const s = ctx.time.seconds();
  await ctx.db.write((w) => {
    insertToken.run(w, { hash: hashOf(token), owner: ownerId, label, s });
    audit(w, ownerId, 'token.create', label, s * 1000);
  });
  return token;
}

/** False where the token was unknown or revoked already. */
export async function revokeOwnerToken(ctx: HubContext, token: string): Promise<boolean> {
  const s = ctx.time.seconds();
  return ctx.db.write((w) => revokeToken.run(w, { hash: hashOf(token), s }) > 0);
}

export function ownerByToken(ctx: HubContext, token: string): Owner | undefined {
  if (!OWNER_TOKEN.test(token)) return undefined;
  return ctx.db.read((r) => byToken.get(r, { hash: hashOf(token) }));
}

export function ownerBySession(ctx: HubContext, secret: string): Owner | undefined {
  if (secret.length > 128) return undefined;
  return ctx.db.read((r) => bySession.get(r, { hash: hashOf(secret), s: ctx.time.seconds() }));
}

/** The secret for the cookie. */
export async function openSession(ctx: HubContext, owner: Owner): Promise<string> {
  const secret = newSecret('mts_');
  const s = ctx.time.seconds();
  await ctx.db.write((w) => {
    dropOldSessions.run(w, { s });
    insertSession.run(w, { hash: hashOf(secret), owner: owner.id, s, end: s + SESSION_S });
    audit(w, owner.id, 'session.open', owner.name, s * 1000);
  });
  return secret;
}

export async function closeSession(ctx: HubContext, secret: string): Promise<void> {
  await ctx.db.write((w) => dropSession.run(w, { hash: hashOf(secret) }));
}
