/**
 * Login of a command line by its owner's consent (wire document, part A10; statements 114 and
 * 115). A code works once, for five minutes, with the state it was made for, and opens nothing
 * but the exchange: it is no token, and only its hash is kept.
 */
import { AUTH_SAID, CLI_CODE_S } from '../protocol/tiny.js';
import { audit } from './audit.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import { hashOf, newSecret } from './ids.js';
import type { Owner } from './owner.js';
import { Refusal } from './refusal.js';
import { addToken } from './tokens.js';

/** A command line's token, in seconds. */
export const CLI_TOKEN_S = 90 * 86_400;

/** Where the code goes: a port of the asker's own machine, or the phone's app. */
export interface CodeWish {
  port?: number | undefined;
  scheme?: 'tinyapp' | undefined;
  state: string;
}

const insert = query<{
  hash: string;
  state: string;
  owner: string;
  label: string;
  end: number;
}>()((p) =>
  tables.insertInto('login_codes').values({
    hash: p.hash,
    state_hash: p.state,
    owner_id: p.owner,
    label: p.label,
    expires_at: p.end,
  }),
);
const byHash = query<{ hash: string; s: number }>()((p) =>
  tables
    .selectFrom('login_codes')
    .innerJoin('owners', 'owners.id', 'login_codes.owner_id')
    .where('login_codes.hash', '=', p.hash)
    .where('login_codes.expires_at', '>', p.s)
    .select(['login_codes.state_hash', 'login_codes.label', 'owners.id', 'owners.name']),
);
const drop = query<{ hash: string }>()((p) =>
  tables.deleteFrom('login_codes').where('hash', '=', p.hash),
);
const dropOld = query<{ s: number }>()((p) =>
  tables.deleteFrom('login_codes').where('expires_at', '<=', p.s),
);

/** The address that hands the code to who asked. */
export async function issueCode(ctx: HubContext, owner: Owner, wish: CodeWish): Promise<string> {
  const code = newSecret('mtc_');
  const s = ctx.time.seconds();
  const label = wish.scheme === 'tinyapp' ? 'phone app' : 'command line';
  const hash = hashOf(code);
  const state = hashOf(wish.state);
  await ctx.db.write((w) => {
    dropOld.run(w, { s });
    insert.run(w, { hash, state, owner: owner.id, label, end: s + CLI_CODE_S });
    audit(w, owner.id, 'login.consent', label, s * 1000);
  });
  const query = new URLSearchParams({ code, state: wish.state });
  return wish.scheme === 'tinyapp'
    ? `tinyapp://auth?${query}`
    : `http://127.0.0.1:${wish.port}/callback?${query}`;
}

export interface Exchanged {
  token: string;
  owner: Owner;
  /** Unix seconds. */
  expires: number;
}

/** A wrong state gives nothing, and leaves the code to the one who knows the right one. */
export async function exchangeCode(
  ctx: HubContext,
  code: string,
  state: string,
): Promise<Exchanged> {
  const hash = hashOf(code);
  const stateHash = hashOf(state);
  const s = ctx.time.seconds();
  return ctx.db.write((w) => {
    const found = byHash.get(w, { hash, s });
    if (found === undefined) throw new Refusal(401, AUTH_SAID.expired);
    if (found.state_hash !== stateHash) throw new Refusal(401, AUTH_SAID.mismatch);
    drop.run(w, { hash });
    const expires = s + CLI_TOKEN_S;
    const { id, name, label } = found;
    const made = addToken(w, id, { label, kind: 'cli', expiresAt: expires }, s);
    audit(w, id, 'login.cli', `${made.id} ${label}`, s * 1000);
    return { token: made.token, owner: { id, name }, expires };
  });
}
