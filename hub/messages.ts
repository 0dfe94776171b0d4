/** Messages between the owners of one hub (wire document, part A7; statements 34 and 119). */
import { cutText, TINY_LIMITS } from '../protocol/tiny.js';
import type { HubContext } from './context.js';
import { mediaBy, mediaUrl, ownKey } from './media.js';
import {
  idsNamed,
  insertMessage,
  inThread,
  lastOfThreads,
  markRead,
  sentSince,
  unreadFrom,
} from './message-queries.js';
import type { Owner } from './owner.js';
import { ownerById } from './owners.js';
import { Refusal } from './refusal.js';

const DAY_MS = 86_400_000;
const THREADS = 50;
const SENDERS = 20;
const PREVIEW = 140;
const ATTACHMENTS = 4;

/** An owner as the other side sees one. */
function shown({ id, name }: Owner) {
  return { userId: id, login: name, name, avatar: null };
}

/** By id, or by the name (with or without an @ before it) where only one owner has it. */
function findPeer(ctx: HubContext, said: string): Owner {
  const wanted = said.trim();
  return ctx.db.read((r) => {
    const byId = ownerById.get(r, { id: wanted });
    if (byId) return byId;
    const named = idsNamed.all(r, { name: wanted, bare: wanted.replace(/^@/, '') });
    const [only] = named;
    if (!only) throw new Refusal(404, 'nobody of that name is on this hub; nothing was done');
    if (named.length > 1) {
      throw new Refusal(400, `${named.length} people here have that name; use one of their ids`);
    }
    return only;
  });
}

export interface NewMessage {
  to: string;
  body: string;
  attachments: unknown;
  /** The name of the device it is sent by. */
  via?: string | undefined;
}

/** Resolves with the message's number once it is durable. */
export async function sendMessage(
  ctx: HubContext,
  ownerId: string,
  message: NewMessage,
): Promise<number> {
  const peer = findPeer(ctx, message.to);
  if (peer.id === ownerId) throw new Refusal(400, 'a message to yourself is not sent');
  const attachments = attached(ctx, ownerId, message.attachments);
  if (message.body.trim() === '' && attachments.length === 0) {
    throw new Refusal(400, 'body required for send');
  }
  const ms = ctx.time.ms();
  return ctx.db.write((w) => {
    const today = sentSince.get(w, { owner: ownerId, after: ms - DAY_MS })?.n ?? 0;
    if (today >= TINY_LIMITS.messagesADay) {
      throw new Refusal(
        429,
        `${TINY_LIMITS.messagesADay} messages went out within a day; nothing was sent, try later`,
      );
    }
    const made = insertMessage.get(w, {
      from: ownerId,
      to: peer.id,
      body: message.body,
      attachments: JSON.stringify(attachments),
      via: message.via === undefined ? null : cutText(message.via, TINY_LIMITS.eventName),
      ms,
    });
    return made?.id ?? 0;
  });
}

/** Media that the sender keeps on this hub; a foreign address would be fetched by the reader. */
function attached(ctx: HubContext, ownerId: string, said: unknown): string[] {
  if (said === undefined || said === null) return [];
  const list = Array.isArray(said) ? said : [said];
  const keys = list.map((one) => (typeof one === 'string' ? ownKey(ctx, one) : undefined));
  const own = keys.filter(
    (key): key is string => key !== undefined && mediaBy(ctx, ownerId, key) !== undefined,
  );
  if (own.length < list.length || list.length > ATTACHMENTS) {
    throw new Refusal(
      400,
      `attachments must be at most ${ATTACHMENTS} media that you uploaded here; nothing was sent`,
    );
  }
  return own.map((key) => mediaUrl(ctx, key));
}

/** Undefined where the count can't be had, so that nobody reads an outage as "nothing new". */
export function unreadCount(ctx: HubContext, ownerId: string): number | undefined {
  try {
    return unread(ctx, ownerId).unread;
  } catch (error) {
    ctx.log.error({ err: error }, 'unread messages could not be counted');
    return undefined;
  }
}

/** How many, and from whom: those with the most first. */
export function unread(ctx: HubContext, ownerId: string) {
  const rows = ctx.db.read((r) => unreadFrom.all(r, { owner: ownerId }));
  return {
    unread: rows.reduce((sum, row) => sum + row.n, 0),
    from: rows.slice(0, SENDERS).map(({ name, n }) => ({ login: name, name, count: n })),
  };
}

/** The newest threads, the one that moved last first. */
export function inbox(ctx: HubContext, ownerId: string) {
  return ctx.db.read((r) => {
    const counts = new Map(unreadFrom.all(r, { owner: ownerId }).map((row) => [row.id, row.n]));
    return lastOfThreads.all(r, { owner: ownerId, limit: THREADS }).map((row) => ({
      ...shown({ id: row.peer, name: row.name }),
      unread: counts.get(row.peer) ?? 0,
      lastBody: cutText(row.body, PREVIEW),
      lastAttachments: JSON.parse(row.attachments) as string[],
      lastAt: Math.floor(row.created_ms / 1000),
    }));
  });
}

/**
 * The newest messages with one owner, oldest first, each as it was before; then all that came
 * from there counts as read.
 */
export async function thread(ctx: HubContext, ownerId: string, said: string, limit: number) {
  const peer = findPeer(ctx, said);
  const both = { owner: ownerId, peer: peer.id };
  const ms = ctx.time.ms();
  const read = (r: Parameters<typeof inThread.all>[0]) => inThread.all(r, { ...both, limit });
  const isNew = ctx.db
    .read((r) => unreadFrom.all(r, { owner: ownerId }))
    .some((row) => row.id === peer.id);
  // What nobody has to remember needs no sync of the disk.
  const rows = isNew
    ? await ctx.db.write((w) => {
        const found = read(w);
        markRead.run(w, { ...both, ms });
        return found;
      })
    : ctx.db.read(read);
  return {
    peer: shown(peer),
    messages: rows.reverse().map((row) => ({
      id: row.id,
      direction: row.sender_id === ownerId ? ('sent' as const) : ('received' as const),
      body: row.body,
      attachments: JSON.parse(row.attachments) as string[],
      viaTiny: row.via,
      read: row.read_ms !== null,
      created: Math.floor(row.created_ms / 1000),
    })),
  };
}
