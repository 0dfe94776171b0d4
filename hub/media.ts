/** Hosted media: files in a folder under names that nobody can guess (part A5; 83 to 87). */
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { MEDIA_KEY, MEDIA_TYPES, type MediaType } from '../protocol/tiny.js';
import type { Reader } from '../store/index.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import { newId } from './ids.js';
import { Refusal } from './refusal.js';

const insert = query<{ key: string; owner: string; type: string; bytes: number; ms: number }>()(
  (p) =>
    tables.insertInto('media').values({
      key: p.key,
      owner_id: p.owner,
      content_type: p.type,
      bytes: p.bytes,
      created_ms: p.ms,
    }),
);
const used = query<{ owner: string }>()((p) =>
  tables
    .selectFrom('media')
    .where('owner_id', '=', p.owner)
    .select((eb) => eb.fn.sum<number | null>('bytes').as('bytes')),
);
const byKey = query<{ key: string }>()((p) =>
  tables.selectFrom('media').where('key', '=', p.key).select(['owner_id', 'content_type', 'bytes']),
);

export interface StoredMedia {
  key: string;
  url: string;
  bytes: number;
}

/** The file is on the disk before its row is, and the row before this resolves. */
export async function keepMedia(
  ctx: HubContext,
  ownerId: string,
  type: MediaType,
  bytes: Uint8Array,
): Promise<StoredMedia> {
  ctx.db.read((r) => mustFit(ctx, r, ownerId, bytes.length));
  const key = `${newId()}.${MEDIA_TYPES[type]}`;
  const file = mediaFile(ctx, key);
  try {
    await writeDurably(file, bytes);
    const ms = ctx.time.ms();
    await ctx.db.write((w) => {
      // Others may have come while the file was written.
      mustFit(ctx, w, ownerId, bytes.length);
      insert.run(w, { key, owner: ownerId, type, bytes: bytes.length, ms });
    });
  } catch (error) {
    await rm(file, { force: true }).catch(() => {});
    if (error instanceof Refusal) throw error;
    ctx.log.error({ err: error }, 'a medium could not be stored');
    throw new Refusal(424, 'media storage unavailable; nothing was stored, try again', {
      retryable: true,
    });
  }
  return { key, url: mediaUrl(ctx, key), bytes: bytes.length };
}

function mustFit(ctx: HubContext, r: Reader, ownerId: string, bytes: number): void {
  const before = used.get(r, { owner: ownerId })?.bytes ?? 0;
  if (before + bytes > ctx.limits.mediaBytes) {
    throw new Refusal(
      424,
      `media are full (${ctx.limits.mediaBytes} bytes); nothing was stored, raise the limit`,
    );
  }
}

async function writeDurably(file: string, bytes: Uint8Array): Promise<void> {
  const part = `${file}.part`;
  try {
    const handle = await open(part, 'wx', 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true }).catch(() => {});
    throw error;
  }
}

export function mediaFile(ctx: HubContext, key: string): string {
  return join(ctx.mediaDir, key);
}

/** Absolute where the hub knows the name it is reached under, else a path on it. */
export function mediaUrl(ctx: HubContext, key: string): string {
  return `${ctx.publicUrl ?? ''}/media/${key}`;
}

export function mediaOf(ctx: HubContext, key: string): { type: string; bytes: number } | undefined {
  const row = ctx.db.read((r) => byKey.get(r, { key }));
  return row && { type: row.content_type, bytes: row.bytes };
}

/** The key of a medium of this hub, by its address, its path or the key itself. */
export function ownKey(ctx: HubContext, address: string): string | undefined {
  const prefixes = [...(ctx.publicUrl === undefined ? [] : [`${ctx.publicUrl}/media/`]), '/media/'];
  const prefix = prefixes.find((one) => address.startsWith(one)) ?? '';
  const key = address.slice(prefix.length);
  return MEDIA_KEY.test(key) ? key : undefined;
}

/** A medium that this very owner, or a device of the owner, uploaded. */
export function mediaBy(
  ctx: HubContext,
  ownerId: string,
  key: string,
): { type: string; bytes: number } | undefined {
  const row = ctx.db.read((r) => byKey.get(r, { key }));
  return row?.owner_id === ownerId ? { type: row.content_type, bytes: row.bytes } : undefined;
}

/** Base64 (either alphabet) to bytes; undefined where it is none, or nothing. */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text) || text.replace(/=+$/, '').length % 4 === 1) {
    return undefined;
  }
  return Buffer.from(text, 'base64');
}

/**
 * One range of a `Range` header (statement 85): a window, `'none'` past the end, or undefined
 * for no header, junk and several ranges, which get the whole.
 */
export function rangeOf(
  header: string | undefined,
  size: number,
): { start: number; end: number } | 'none' | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '');
  if (!match) return undefined;
  const [, from = '', to = ''] = match;
  if (from === '' && to === '') return undefined;
  if (from === '') {
    const length = Math.min(Number(to), size);
    return length === 0 ? 'none' : { start: size - length, end: size - 1 };
  }
  const start = Number(from);
  const end = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return start >= size || start > end ? 'none' : { start, end };
}
