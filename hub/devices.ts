/** The registry of devices: rows, credentials, enrolment (wire document, part A1). */
import { DEVICE_NOT_FOUND, ENROL_SAID, type EnrolRequest, TINY_LIMITS } from '../protocol/tiny.js';
import type { Sync } from '../store/index.js';
import { audit } from './audit.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import type { DeviceTable } from './db/schema.js';
import { hashOf, newId, newSecret } from './ids.js';
import { presenceOf } from './presence.js';
import { Refusal } from './refusal.js';

export type DeviceRow = DeviceTable;

const live = query<{ owner: string }>()((p) =>
  tables
    .selectFrom('devices')
    .where('owner_id', '=', p.owner)
    .where('revoked_at', 'is', null)
    .orderBy('last_seen', 'desc')
    .orderBy('created_at', 'desc')
    .selectAll(),
);
const byId = query<{ id: string }>()((p) =>
  tables.selectFrom('devices').where('id', '=', p.id).selectAll(),
);
const liveCount = query<{ owner: string }>()((p) =>
  tables
    .selectFrom('devices')
    .where('owner_id', '=', p.owner)
    .where('revoked_at', 'is', null)
    .select((eb) => eb.fn.countAll<number>().as('n')),
);
const staleNamesake = query<{ owner: string; name: string; stale: number }>()((p) =>
  tables
    .selectFrom('devices')
    .where('owner_id', '=', p.owner)
    .where('name', '=', p.name)
    .where('revoked_at', 'is', null)
    .where('kind', '!=', 'endpoint')
    .where('gateway_id', 'is', null)
    .where((eb) => eb.or([eb('last_seen', 'is', null), eb('last_seen', '<=', p.stale)]))
    .orderBy('last_seen', 'desc')
    .limit(1)
    .selectAll(),
);
const insert = query<{
  id: string;
  owner: string;
  name: string;
  platform: string;
  kind: string;
  capabilities: string;
  hash: string;
  s: number;
}>()((p) =>
  tables.insertInto('devices').values({
    id: p.id,
    owner_id: p.owner,
    name: p.name,
    platform: p.platform,
    kind: p.kind,
    capabilities: p.capabilities,
    token_hash: p.hash,
    last_seen: p.s,
    created_at: p.s,
    lan_url: null,
    revoked_at: null,
    gateway_id: null,
    board_id: null,
    catalog: null,
    presence: null,
  }),
);
const rekey = query<{
  id: string;
  hash: string;
  platform: string;
  kind: string;
  capabilities: string;
}>()((p) =>
  tables
    .updateTable('devices')
    .set({
      token_hash: p.hash,
      platform: p.platform,
      kind: p.kind,
      capabilities: p.capabilities,
    })
    .where('id', '=', p.id),
);
const setToken = query<{ id: string; hash: string }>()((p) =>
  tables.updateTable('devices').set({ token_hash: p.hash }).where('id', '=', p.id),
);
const setRevoked = query<{ id: string; s: number }>()((p) =>
  tables.updateTable('devices').set({ revoked_at: p.s, secret: null }).where('id', '=', p.id),
);
const beat = query<{ id: string; s: number; capabilities: string; lan: string | null }>()((p) =>
  tables
    .updateTable('devices')
    .set({ last_seen: p.s, capabilities: p.capabilities, lan_url: p.lan })
    .where('id', '=', p.id),
);

/** Live rows, newest seen first. */
export function devicesOf(ctx: HubContext, ownerId: string): DeviceRow[] {
  return ctx.db.read((r) => live.all(r, { owner: ownerId }));
}

export function deviceById(ctx: HubContext, id: string): DeviceRow | undefined {
  return ctx.db.read((r) => byId.get(r, { id }));
}

/** A live device of this owner; strangers' and revoked ones are as unknown as none. */
export function ownedDevice(ctx: HubContext, ownerId: string, id: string): DeviceRow | undefined {
  const row = deviceById(ctx, id);
  return row && row.owner_id === ownerId && row.revoked_at === null ? row : undefined;
}

/** One look-up for id, token and revocation: all three fail alike (statement 28). */
export function deviceByToken(ctx: HubContext, id: string, token: string): DeviceRow | undefined {
  const row = deviceById(ctx, id);
  if (!row || row.revoked_at !== null || row.token_hash === null) return undefined;
  return row.token_hash === hashOf(token) ? row : undefined;
}

/** The row as `GET /api/devices` tells it. */
export function publicRow(ctx: HubContext, row: DeviceRow) {
  const presence = presenceOf(ctx, row);
  const online = presence.state === 'online';
  return {
    id: row.id,
    name: row.name,
    platform: row.platform,
    kind: row.kind,
    capabilities: row.capabilities,
    last_seen: row.last_seen,
    created_at: row.created_at,
    // Whether a device that is called answers is known only by calling it (statement 93).
    online: row.kind === 'endpoint' ? null : online,
    ...(row.url === null ? {} : { url: row.url }),
    ...(online && row.kind !== 'endpoint' && row.lan_url !== null ? { lan_url: row.lan_url } : {}),
    // Ours: what a gateway knows of its board beyond being there or not.
    ...(row.gateway_id === null || ctx.tinyOnly ? {} : { presence }),
  };
}

/** Within a write: refuses what would be one device too many. */
export function mustHaveRoom(ctx: HubContext, w: Sync, ownerId: string): void {
  const count = liveCount.get(w, { owner: ownerId })?.n ?? 0;
  if (count >= ctx.limits.devices) throw new Refusal(424, ENROL_SAID.limit(ctx.limits.devices));
}

/**
 * Enrols a device that dials in; `endpoint/enrol.ts` does those that are called. A stale row of the same name is re-keyed in place of a second
 * one, before the limit is looked at (statements 17 to 20).
 */
export async function enrol(
  ctx: HubContext,
  ownerId: string,
  input: EnrolRequest,
): Promise<{ id: string; token: string; adopted: boolean }> {
  const token = newSecret('tind_');
  const hash = hashOf(token);
  const s = ctx.time.seconds();
  const fields = {
    platform: input.platform ?? '',
    kind: input.kind,
    capabilities: JSON.stringify(input.capabilities),
  };
  return ctx.db.write((w) => {
    const stale = s - TINY_LIMITS.presentS;
    const namesake = staleNamesake.get(w, { owner: ownerId, name: input.name, stale });
    if (namesake) {
      rekey.run(w, { id: namesake.id, hash, ...fields });
      audit(w, ownerId, 'device.adopt', namesake.id, s * 1000);
      return { id: namesake.id, token, adopted: true };
    }
    mustHaveRoom(ctx, w, ownerId);
    const id = newId();
    insert.run(w, { id, owner: ownerId, name: input.name, hash, s, ...fields });
    audit(w, ownerId, 'device.enrol', id, s * 1000);
    return { id, token, adopted: false };
  });
}

/** The row that was revoked, now or before; undefined for strangers' and unknown ids. */
export async function revoke(
  ctx: HubContext,
  ownerId: string,
  id: string,
): Promise<DeviceRow | undefined> {
  const s = ctx.time.seconds();
  const row = await ctx.db.write((w) => {
    const row = byId.get(w, { id });
    if (!row || row.owner_id !== ownerId) return undefined;
    if (row.revoked_at === null) {
      setRevoked.run(w, { id, s });
      audit(w, ownerId, 'device.revoke', id, s * 1000);
    }
    return row;
  });
  if (row?.revoked_at === null) ctx.bus.fleetChanged(ownerId);
  return row;
}

/** A fresh token; the old one dies at once. Boards behind a gateway have none to give. */
export async function adopt(ctx: HubContext, ownerId: string, id: string): Promise<string> {
  const token = newSecret('tind_');
  const s = ctx.time.seconds();
  await ctx.db.write((w) => {
    const row = byId.get(w, { id });
    const known = row && row.owner_id === ownerId && row.revoked_at === null;
    if (!known || row.kind === 'endpoint') throw new Refusal(404, DEVICE_NOT_FOUND);
    setToken.run(w, { id, hash: hashOf(token) });
    audit(w, ownerId, 'device.adopt', id, s * 1000);
  });
  return token;
}

export interface Beat {
  capabilities: string[] | undefined;
  lanUrl: string | undefined;
}

export async function heartbeat(ctx: HubContext, device: DeviceRow, said: Beat): Promise<void> {
  const s = ctx.time.seconds();
  const capabilities =
    said.capabilities === undefined ? device.capabilities : JSON.stringify(said.capabilities);
  const lan = said.lanUrl ?? device.lan_url;
  const same =
    device.last_seen === s && device.capabilities === capabilities && device.lan_url === lan;
  if (!same) await ctx.db.write((w) => beat.run(w, { id: device.id, s, capabilities, lan }));
  // A device that dials in tells of its return by its first beat.
  if (device.gateway_id === null && presenceOf(ctx, device).state !== 'online') {
    ctx.bus.tell(device.owner_id, {
      type: 'presence',
      data: {
        device_id: device.id,
        name: device.name,
        presence: { state: 'online', since: s * 1000 },
      },
    });
  }
}
