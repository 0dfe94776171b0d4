/** Enrols a device that is called by its URL (wire document, part A1; statements 88 to 92). */
import type { EnrolRequest } from '../../protocol/tiny.js';
import { audit } from '../audit.js';
import type { HubContext } from '../context.js';
import { query, tables } from '../db/query.js';
import { mustHaveRoom } from '../devices.js';
import { newId } from '../ids.js';
import { Refusal } from '../refusal.js';
import { readTarget } from './address.js';
import { secretRefusal } from './secret.js';

const insert = query<{
  id: string;
  owner: string;
  name: string;
  platform: string;
  capabilities: string;
  url: string;
  secret: string;
  s: number;
}>()((p) =>
  tables.insertInto('devices').values({
    id: p.id,
    owner_id: p.owner,
    name: p.name,
    platform: p.platform,
    kind: 'endpoint',
    capabilities: p.capabilities,
    created_at: p.s,
    url: p.url,
    secret: p.secret,
  }),
);

/** Nothing is called or looked up for it: a device may be enrolled before it is there. */
export async function enrolEndpoint(
  ctx: HubContext,
  ownerId: string,
  input: EnrolRequest,
): Promise<{ id: string; url: string }> {
  const target = readTarget(input.url, ctx.endpoints.hosts);
  if (typeof target === 'string') throw new Refusal(424, target);
  const refused = secretRefusal(input.secret);
  if (refused !== undefined) throw new Refusal(424, refused);
  const id = newId();
  const secret = ctx.endpoints.seal(id, String(input.secret));
  const s = ctx.time.seconds();
  await ctx.db.write((w) => {
    mustHaveRoom(ctx, w, ownerId);
    insert.run(w, {
      id,
      owner: ownerId,
      name: input.name,
      platform: input.platform ?? '',
      capabilities: JSON.stringify(input.capabilities),
      url: target.origin,
      secret,
      s,
    });
    audit(w, ownerId, 'device.enrol', id, s * 1000);
  });
  return { id, url: target.origin };
}
