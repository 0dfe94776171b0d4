/** The event ring: the newest 200 of each owner (wire document, part A4; statement 78). */
import { cutText, eventDetail, TINY_LIMITS } from '../protocol/tiny.js';
import type { Sync } from '../store/index.js';
import type { OwnerEvent } from './bus.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';

/** JSON of an event that says more than a sentence, at most so many UTF-16 units. */
const DATA_UNITS = 4_096;

export interface NewEvent {
  ownerId: string;
  device?: { id: string; name: string };
  kind: string;
  detail: string;
  data?: unknown;
  /** Unix milliseconds. */
  at: number;
}

const insert = query<{
  owner: string;
  device: string | null;
  kind: string;
  detail: string;
  data: string | null;
  ms: number;
}>()((p) =>
  tables
    .insertInto('events')
    .values({
      owner_id: p.owner,
      device_id: p.device,
      kind: p.kind,
      detail: p.detail,
      data: p.data,
      created_ms: p.ms,
    })
    .returning('id'),
);
const prune = query<{ owner: string }>()((p) =>
  tables
    .deleteFrom('events')
    .where('owner_id', '=', p.owner)
    .where('id', '<=', (eb) =>
      eb
        .selectFrom('events as kept')
        .where('kept.owner_id', '=', p.owner)
        .orderBy('kept.id', 'desc')
        .select('kept.id')
        .limit(1)
        .offset(TINY_LIMITS.events),
    ),
);
const newest = query<{ owner: string; since: number; limit: number }>()((p) =>
  tables
    .selectFrom('events')
    .where('owner_id', '=', p.owner)
    .where('id', '>', p.since)
    .orderBy('id', 'desc')
    .limit(p.limit)
    .selectAll(),
);
const lastId = query<{ owner: string }>()((p) =>
  tables
    .selectFrom('events')
    .where('owner_id', '=', p.owner)
    .orderBy('id', 'desc')
    .limit(1)
    .select('id'),
);

export type StoredEvent = Extract<OwnerEvent, { type: 'event' }>;

/** Part of a write; tell the bus what it returns once that write is durable. */
export function keepEvent(w: Sync, event: NewEvent): StoredEvent {
  const text = event.data === undefined ? null : JSON.stringify(event.data);
  const data = text !== null && text.length <= DATA_UNITS ? text : null;
  const row = insert.get(w, {
    owner: event.ownerId,
    device: event.device?.id ?? null,
    kind: event.kind,
    detail: event.detail,
    data,
    ms: event.at,
  });
  prune.run(w, { owner: event.ownerId });
  return stored(row?.id ?? 0, event.kind, event.detail, event.device?.id ?? null, data, event.at);
}

/** `<name ≤40>: <detail ≤240>`. */
export function said(device: { name: string }, detail: string): string {
  return eventDetail(device.name, cutText(detail, TINY_LIMITS.eventDetail));
}

/** Newest first to read, oldest first to answer. */
export function eventsSince(
  ctx: HubContext,
  ownerId: string,
  since: number,
  limit: number,
): StoredEvent[] {
  const rows = ctx.db.read((r) => newest.all(r, { owner: ownerId, since, limit }));
  return rows
    .reverse()
    .map((e) => stored(e.id, e.kind, e.detail, e.device_id, e.data, e.created_ms));
}

export function lastEventId(ctx: HubContext, ownerId: string): number {
  return ctx.db.read((r) => lastId.get(r, { owner: ownerId }))?.id ?? 0;
}

function stored(
  id: number,
  kind: string,
  detail: string,
  deviceId: string | null,
  data: string | null,
  ms: number,
): StoredEvent {
  return {
    type: 'event',
    id,
    data: {
      id,
      kind,
      detail,
      created: Math.floor(ms / 1000),
      ...(deviceId === null ? {} : { device_id: deviceId }),
      ...(data === null ? {} : { data: JSON.parse(data) }),
    },
  };
}
