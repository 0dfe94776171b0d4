/** Which firmware an owner's boards should run, by channel (wire document, part A12). */
import { compareVersions, type FirmwarePublish } from '../protocol/tiny.js';
import { audit } from './audit.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import { Refusal } from './refusal.js';

const byChannel = query<{ owner: string; channel: string }>()((p) =>
  tables
    .selectFrom('firmware')
    .where('owner_id', '=', p.owner)
    .where('channel', '=', p.channel)
    .selectAll(),
);
const put = query<{
  owner: string;
  channel: string;
  version: string;
  url: string;
  sha256: string;
  force: number;
  s: number;
}>()((p) =>
  tables
    .insertInto('firmware')
    .values({
      owner_id: p.owner,
      channel: p.channel,
      version: p.version,
      url: p.url,
      sha256: p.sha256,
      force: p.force,
      updated_at: p.s,
    })
    .onConflict((oc) =>
      oc.columns(['owner_id', 'channel']).doUpdateSet((eb) => ({
        version: eb.ref('excluded.version'),
        url: eb.ref('excluded.url'),
        sha256: eb.ref('excluded.sha256'),
        force: eb.ref('excluded.force'),
        updated_at: eb.ref('excluded.updated_at'),
      })),
    ),
);

export type Bundle = {
  version: string;
  url: string;
  sha256: string;
  /** Unix seconds. */
  updated_at: number;
  /** Install it also where it is older, or can't be compared. */
  force?: '1';
};

export function bundleOf(ctx: HubContext, ownerId: string, channel: string): Bundle | null {
  const row = ctx.db.read((r) => byChannel.get(r, { owner: ownerId, channel }));
  if (!row) return null;
  const { version, url, sha256, updated_at, force } = row;
  return { version, url, sha256, updated_at, ...(force === 1 ? { force: '1' as const } : {}) };
}

/**
 * Resolves when it is durable. A version that is lower than the channel's, or that can't be
 * compared with it, is refused unless it is forced; a forced one tells the boards so.
 */
export async function publish(
  ctx: HubContext,
  ownerId: string,
  { channel, version, url, sha256, force }: FirmwarePublish,
): Promise<Bundle> {
  mustBeTrusted(ctx, url);
  const s = ctx.time.seconds();
  await ctx.db.write((w) => {
    const before = byChannel.get(w, { owner: ownerId, channel });
    const order = before && compareVersions(version, before.version);
    if (before && !force && (order === undefined || order < 0)) {
      const why = order === undefined ? 'can’t be compared with' : 'is lower than';
      throw new Refusal(
        409,
        `version ${version} ${why} ${before.version}; nothing was published, force it if it is meant`,
      );
    }
    put.run(w, { owner: ownerId, channel, version, url, sha256, force: force ? 1 : 0, s });
    audit(w, ownerId, 'firmware.publish', `${channel} ${version}`, s * 1000);
  });
  return { version, url, sha256, updated_at: s, ...(force ? { force: '1' as const } : {}) };
}

function mustBeTrusted(ctx: HubContext, url: string): void {
  if (ctx.firmwareHosts.length === 0) {
    throw new Refusal(
      424,
      'no host is trusted with firmware, so nothing was published; whoever runs this hub must ' +
        'name some with `motebridge start --firmware-hosts <list>` (`firmwareHosts` in its options)',
    );
  }
  if (!ctx.firmwareHosts.includes(new URL(url).host)) {
    throw new Refusal(
      400,
      `url must be on one of the hosts trusted with firmware (${ctx.firmwareHosts.join(', ')})`,
    );
  }
}
