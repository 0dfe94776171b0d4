/** Taking an owner off the hub, with everything that is the owner's. */
import { rm } from 'node:fs/promises';
import type { Sync } from '../store/index.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import { mediaFile } from './media.js';

const mediaKeys = query<{ owner: string }>()((p) =>
  tables.selectFrom('media').where('owner_id', '=', p.owner).select('key'),
);
const gatewayIds = query<{ owner: string }>()((p) =>
  tables.selectFrom('gateways').where('owner_id', '=', p.owner).select('id'),
);
const dropOwner = query<{ id: string }>()((p) =>
  tables.deleteFrom('owners').where('id', '=', p.id),
);

/** False where there is no such owner. Tokens and streams are dead when it resolves. */
export async function removeOwner(ctx: HubContext, ownerId: string): Promise<boolean> {
  const { done, keys, gateways } = await ctx.db.write((w) => {
    const keys = mediaKeys.all(w, { owner: ownerId }).map((row) => row.key);
    const gateways = gatewayIds.all(w, { owner: ownerId }).map((row) => row.id);
    dropRows(w, ownerId);
    return { done: dropOwner.run(w, { id: ownerId }) === 1, keys, gateways };
  });
  ctx.bus.hangUp(ownerId);
  for (const id of gateways) ctx.streams.of(id)?.end();
  for (const key of keys) await rm(mediaFile(ctx, key), { force: true });
  if (done) ctx.log.info({ owner: ownerId }, 'an owner was removed');
  return done;
}

/** Read from the schema itself, so that no table of a later version is forgotten. */
function dropRows(w: Sync, ownerId: string): void {
  w.run('PRAGMA defer_foreign_keys = ON');
  const columns = w.all<{ tab: string; col: string }>(
    `SELECT m.name AS tab, c.name AS col FROM sqlite_schema m, pragma_table_info(m.name) c
      WHERE m.type = 'table' AND c.name IN ('owner_id', 'device_id')`,
  );
  const owned = new Set(columns.filter((c) => c.col === 'owner_id').map((c) => c.tab));
  for (const tab of new Set(columns.map((c) => c.tab))) {
    if (owned.has(tab)) continue;
    const theirs = 'SELECT id FROM devices WHERE owner_id = ?';
    w.run(`DELETE FROM "${tab}" WHERE device_id IN (${theirs})`, [ownerId]);
  }
  for (const tab of owned) w.run(`DELETE FROM "${tab}" WHERE owner_id = ?`, [ownerId]);
}
