/** Gateways and the boards they speak for (`protocol/gateway-api.ts`). */
import type { z } from 'zod';
import { type boardRequest, GATEWAY_TOKEN } from '../protocol/gateway-api.js';
import { cutCapabilities } from '../protocol/tiny.js';
import { audit } from './audit.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import { type DeviceRow, mustHaveRoom } from './devices.js';
import { hashOf, newId, newSecret } from './ids.js';
import { OFFERED_MS, offer, waitingFor } from './mailbox.js';
import { presenceOf } from './presence.js';
import { Refusal } from './refusal.js';

export interface Gateway {
  id: string;
  owner_id: string;
  name: string;
}

const insert = query<{ id: string; owner: string; name: string; hash: string; s: number }>()((p) =>
  tables.insertInto('gateways').values({
    id: p.id,
    owner_id: p.owner,
    name: p.name,
    token_hash: p.hash,
    created_at: p.s,
    revoked_at: null,
    health: null,
  }),
);
const count = query<{ owner: string }>()((p) =>
  tables
    .selectFrom('gateways')
    .where('owner_id', '=', p.owner)
    .where('revoked_at', 'is', null)
    .select((eb) => eb.fn.countAll<number>().as('n')),
);
const byToken = query<{ hash: string }>()((p) =>
  tables
    .selectFrom('gateways')
    .where('token_hash', '=', p.hash)
    .where('revoked_at', 'is', null)
    .select(['id', 'owner_id', 'name']),
);
const setRevoked = query<{ id: string; owner: string; s: number }>()((p) =>
  tables
    .updateTable('gateways')
    .set({ revoked_at: p.s })
    .where('id', '=', p.id)
    .where('owner_id', '=', p.owner)
    .where('revoked_at', 'is', null),
);
const boardRows = query<{ board: string }>()((p) =>
  tables
    .selectFrom('devices')
    .where('board_id', '=', p.board)
    .orderBy('created_at', 'desc')
    .selectAll(),
);
const boardsOf = query<{ gateway: string }>()((p) =>
  tables
    .selectFrom('devices')
    .where('gateway_id', '=', p.gateway)
    .where('revoked_at', 'is', null)
    .selectAll(),
);
const insertBoard = query<{
  id: string;
  owner: string;
  name: string;
  platform: string;
  capabilities: string;
  s: number;
  gateway: string;
  board: string;
  catalog: string;
}>()((p) =>
  tables.insertInto('devices').values({
    id: p.id,
    owner_id: p.owner,
    name: p.name,
    platform: p.platform,
    kind: 'daemon',
    capabilities: p.capabilities,
    token_hash: null,
    last_seen: null,
    created_at: p.s,
    lan_url: null,
    revoked_at: null,
    gateway_id: p.gateway,
    board_id: p.board,
    catalog: p.catalog,
    presence: null,
  }),
);
const updateBoard = query<{
  id: string;
  name: string;
  platform: string;
  capabilities: string;
  gateway: string;
  catalog: string;
}>()((p) =>
  tables
    .updateTable('devices')
    .set({
      name: p.name,
      platform: p.platform,
      capabilities: p.capabilities,
      gateway_id: p.gateway,
      catalog: p.catalog,
    })
    .where('id', '=', p.id),
);
const handedOver = query<{ board: string; gateway: string }>()((p) =>
  tables
    .selectFrom('handovers')
    .where('board_id', '=', p.board)
    .where('from_gateway', '=', p.gateway)
    .where('done_at', 'is not', null)
    .where('gone_at', 'is', null)
    .select('id'),
);
const restore = query<{ id: string }>()((p) =>
  tables.updateTable('devices').set({ revoked_at: null }).where('id', '=', p.id),
);

export async function enrolGateway(
  ctx: HubContext,
  ownerId: string,
  name: string,
): Promise<{ id: string; token: string }> {
  const id = newId();
  const token = newSecret('mgw_');
  const s = ctx.time.seconds();
  await ctx.db.write((w) => {
    const live = count.get(w, { owner: ownerId })?.n ?? 0;
    if (live >= ctx.limits.gateways) {
      throw new Refusal(424, `gateway limit reached (${live}) — revoke one first`);
    }
    insert.run(w, { id, owner: ownerId, name, hash: hashOf(token), s });
    audit(w, ownerId, 'gateway.enrol', id, s * 1000);
  });
  return { id, token };
}

/** Its credential is dead at once, and its boards count as unreachable. */
export async function revokeGateway(
  ctx: HubContext,
  ownerId: string,
  id: string,
): Promise<boolean> {
  const s = ctx.time.seconds();
  const done = await ctx.db.write((w) => {
    const changed = setRevoked.run(w, { id, owner: ownerId, s }) === 1;
    if (changed) audit(w, ownerId, 'gateway.revoke', id, s * 1000);
    return changed;
  });
  if (done) ctx.streams.of(id)?.end();
  return done;
}

export function gatewayByToken(ctx: HubContext, token: string): Gateway | undefined {
  if (!GATEWAY_TOKEN.test(token)) return undefined;
  return ctx.db.read((r) => byToken.get(r, { hash: hashOf(token) }));
}

export function boardsOfGateway(ctx: HubContext, gatewayId: string): DeviceRow[] {
  return ctx.db.read((r) => boardsOf.all(r, { gateway: gatewayId }));
}

/**
 * Registers a board or refreshes it. One board speaks for one owner (409), a newer gateway of
 * the same owner takes it over, and one that the owner revoked comes back only by `unrevoke`
 * or by a gateway that was not its own (409 with `revoked`).
 */
export async function registerBoard(
  ctx: HubContext,
  gateway: Gateway,
  board: z.infer<typeof boardRequest>,
): Promise<string> {
  const fields = {
    name: board.name,
    platform: board.platform,
    capabilities: JSON.stringify(cutCapabilities(board.capabilities)),
    gateway: gateway.id,
    catalog: JSON.stringify(board.catalog),
  };
  const s = ctx.time.seconds();
  const { id, moved, changed } = await ctx.db.write((w) => {
    if (handedOver.get(w, { board: board.boardId, gateway: gateway.id })) {
      throw new Refusal(409, 'this board was handed over to another gateway of its owner');
    }
    const rows = boardRows.all(w, { board: board.boardId });
    const live = rows.find((row) => row.revoked_at === null);
    if (live && live.owner_id !== gateway.owner_id) {
      throw new Refusal(409, 'this board belongs to another owner; nothing was registered');
    }
    if (live) {
      updateBoard.run(w, { id: live.id, ...fields });
      const changed = live.name !== fields.name || live.catalog !== fields.catalog;
      return { id: live.id, moved: live.gateway_id !== gateway.id, changed };
    }
    if (rows.some((row) => row.gateway_id === gateway.id)) {
      throw new Refusal(
        409,
        'the owner revoked this board; it stays out until the owner restores it',
        { revoked: true },
      );
    }
    mustHaveRoom(ctx, w, gateway.owner_id);
    const id = newId();
    insertBoard.run(w, { id, owner: gateway.owner_id, s, board: board.boardId, ...fields });
    audit(w, gateway.owner_id, 'board.register', id, s * 1000);
    return { id, moved: false, changed: true };
  });
  if (changed) ctx.bus.fleetChanged(gateway.owner_id);
  if (moved) offerWaiting(ctx, gateway.id, id);
  return id;
}

/** Takes the revocation of a board back. False for unknown ones and for those that aren't revoked. */
export async function unrevoke(ctx: HubContext, ownerId: string, row: DeviceRow): Promise<boolean> {
  const s = ctx.time.seconds();
  const done = await ctx.db.write((w) => {
    const { board_id: board } = row;
    if (row.owner_id !== ownerId || row.revoked_at === null || board === null) return false;
    if (boardRows.all(w, { board }).some((other) => other.revoked_at === null)) return false;
    mustHaveRoom(ctx, w, ownerId);
    restore.run(w, { id: row.id });
    audit(w, ownerId, 'device.restore', row.id, s * 1000);
    return true;
  });
  if (done) ctx.bus.fleetChanged(ownerId);
  return done;
}

/** Offers again what waits for one board; without numbers, since they are out of order. */
export function offerWaiting(ctx: HubContext, gatewayId: string, deviceId: string): void {
  if (!ctx.streams.of(gatewayId)) return;
  for (const row of waitingFor(ctx, deviceId, OFFERED_MS, ctx.limits.waiting)) {
    offer(ctx, gatewayId, row);
  }
}

/** Tells the owner how the boards of a gateway stand after it came or went. */
export function tellPresence(ctx: HubContext, gatewayId: string): void {
  for (const row of boardsOfGateway(ctx, gatewayId)) {
    ctx.bus.tell(row.owner_id, {
      type: 'presence',
      data: { device_id: row.id, name: row.name, presence: presenceOf(ctx, row) },
    });
  }
}
