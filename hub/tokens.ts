/** An owner's tokens. The secret is told when one is made; its hash alone is kept. */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Sync } from '../store/index.js';
import { audit } from './audit.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import { hashOf, newSecret, OWNER_TOKEN } from './ids.js';

/** As its owner sees it; times are unix seconds. */
export interface TokenView {
  id: string;
  label: string;
  kind: string;
  created_at: number;
  last_used_at: number | null;
  expires_at: number | null;
}

/** `last_used_at` is at most so many seconds late, so that requests cost no write of their own. */
const TOUCH_S = 60;

interface NewToken {
  id: string;
  hash: string;
  owner: string;
  label: string;
  kind: string;
  s: number;
  end: number | null;
}

const insert = query<NewToken & Record<string, string | number | null>>()((p) =>
  tables.insertInto('tokens').values({
    id: p.id,
    hash: p.hash,
    owner_id: p.owner,
    label: p.label,
    kind: p.kind,
    created_at: p.s,
    last_used_at: null,
    expires_at: p.end,
    revoked_at: null,
  }),
);
const byHash = query<{ hash: string; s: number }>()((p) =>
  tables
    .selectFrom('tokens')
    .innerJoin('owners', 'owners.id', 'tokens.owner_id')
    .where('tokens.hash', '=', p.hash)
    .where('tokens.revoked_at', 'is', null)
    .where((eb) => eb.or([eb('tokens.expires_at', 'is', null), eb('tokens.expires_at', '>', p.s)]))
    .select([
      'tokens.id as tokenId',
      'tokens.last_used_at as used',
      'tokens.expires_at as expiresAt',
      'owners.id',
      'owners.name',
    ]),
);
const touch = query<{ id: string; s: number }>()((p) =>
  tables.updateTable('tokens').set({ last_used_at: p.s }).where('id', '=', p.id),
);
const live = query<{ owner: string; s: number }>()((p) =>
  tables
    .selectFrom('tokens')
    .where('owner_id', '=', p.owner)
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', p.s)]))
    .orderBy(sql`rowid`)
    .select(['id', 'label', 'kind', 'created_at', 'last_used_at', 'expires_at']),
);
const idOf = query<{ hash: string }>()((p) =>
  tables.selectFrom('tokens').where('hash', '=', p.hash).select(['id', 'owner_id']),
);
const setRevoked = query<{ id: string; owner: string; s: number }>()((p) =>
  tables
    .updateTable('tokens')
    .set({ revoked_at: p.s })
    .where('id', '=', p.id)
    .where('owner_id', '=', p.owner)
    .where('revoked_at', 'is', null),
);
const dropItsSessions = query<{ id: string }>()((p) =>
  tables.deleteFrom('sessions').where('token_id', '=', p.id),
);

export interface TokenWish {
  label: string;
  kind: 'owner' | 'cli';
  /** Unix seconds; null for one that stays until it is revoked. */
  expiresAt: number | null;
}

/** Part of a write. */
export function addToken(
  w: Sync,
  ownerId: string,
  wish: TokenWish,
  s: number,
): { id: string; token: string } {
  const token = newSecret('mto_');
  const id = randomBytes(6).toString('hex');
  const { label, kind, expiresAt: end } = wish;
  insert.run(w, { id, hash: hashOf(token), owner: ownerId, label, kind, s, end });
  return { id, token };
}

export async function createToken(
  ctx: HubContext,
  ownerId: string,
  label: string,
  days?: number,
): Promise<{ id: string; token: string }> {
  const s = ctx.time.seconds();
  const expiresAt = days === undefined ? null : s + days * 86_400;
  return ctx.db.write((w) => {
    const made = addToken(w, ownerId, { label, kind: 'owner', expiresAt }, s);
    audit(w, ownerId, 'token.create', `${made.id} ${label}`, s * 1000);
    return made;
  });
}

/** The ones that open something, oldest first. */
export function tokensOf(ctx: HubContext, ownerId: string): TokenView[] {
  return ctx.db.read((r) => live.all(r, { owner: ownerId, s: ctx.time.seconds() }));
}

/**
 * With it end the browser sessions that it opened, and the owner's open streams, whose good
 * readers come again. False where it was unknown, another owner's, or revoked already.
 */
export async function revokeToken(ctx: HubContext, ownerId: string, id: string): Promise<boolean> {
  const s = ctx.time.seconds();
  const done = await ctx.db.write((w) => {
    if (setRevoked.run(w, { id, owner: ownerId, s }) === 0) return false;
    dropItsSessions.run(w, { id });
    audit(w, ownerId, 'token.revoke', id, s * 1000);
    return true;
  });
  if (done) ctx.bus.hangUp(ownerId);
  return done;
}

export async function revokeSecret(ctx: HubContext, token: string): Promise<boolean> {
  const found = ctx.db.read((r) => idOf.get(r, { hash: hashOf(token) }));
  return found === undefined ? false : revokeToken(ctx, found.owner_id, found.id);
}

export interface TokenOwner {
  id: string;
  name: string;
  tokenId: string;
  /** Unix seconds; null for one that stays until it is revoked. */
  expiresAt: number | null;
}

export function ownerByToken(ctx: HubContext, token: string): TokenOwner | undefined {
  if (!OWNER_TOKEN.test(token)) return undefined;
  const s = ctx.time.seconds();
  const found = ctx.db.read((r) => byHash.get(r, { hash: hashOf(token), s }));
  if (found === undefined) return undefined;
  const { id, name, tokenId, used, expiresAt } = found;
  if (used === null || s - used >= TOUCH_S) {
    // Nobody waits for it, and a store that can't take it now is told of by what matters more.
    ctx.db.write((w) => touch.run(w, { id: tokenId, s })).catch(() => {});
  }
  return { id, name, tokenId, expiresAt };
}
