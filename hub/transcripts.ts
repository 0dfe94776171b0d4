/** Transcripts: the newest 200 of each owner (wire document, part A4; statements 79 to 82). */
import { cutText, TINY_LIMITS } from '../protocol/tiny.js';
import type { Sync } from '../store/index.js';
import type { HubContext } from './context.js';
import { query, tables } from './db/query.js';
import type { DeviceRow } from './devices.js';
import { keepEvent, type StoredEvent } from './events.js';
import { newId } from './ids.js';

export interface NewTranscript {
  text: string;
  label?: string | undefined;
  audioUrl?: string | undefined;
  durationS?: number | undefined;
}

const insert = query<{
  id: string;
  owner: string;
  device: string;
  label: string | null;
  text: string;
  audio: string | null;
  duration: number | null;
  ms: number;
}>()((p) =>
  tables.insertInto('transcripts').values({
    id: p.id,
    owner_id: p.owner,
    device_id: p.device,
    label: p.label,
    text: p.text,
    audio_url: p.audio,
    duration_s: p.duration,
    created_ms: p.ms,
  }),
);
const prune = query<{ owner: string }>()((p) =>
  tables
    .deleteFrom('transcripts')
    .where('owner_id', '=', p.owner)
    .where('seq', '<=', (eb) =>
      eb
        .selectFrom('transcripts as kept')
        .where('kept.owner_id', '=', p.owner)
        .orderBy('kept.seq', 'desc')
        .select('kept.seq')
        .limit(1)
        .offset(TINY_LIMITS.transcripts),
    ),
);
const newest = query<{ owner: string; limit: number }>()((p) =>
  tables
    .selectFrom('transcripts')
    .where('owner_id', '=', p.owner)
    .orderBy('seq', 'desc')
    .limit(p.limit)
    .selectAll(),
);
const byId = query<{ owner: string; id: string }>()((p) =>
  tables
    .selectFrom('transcripts')
    .where('owner_id', '=', p.owner)
    .where('id', '=', p.id)
    .selectAll(),
);

/** Part of a write; the event is for the bus once that is durable. */
export function keepTranscript(
  w: Sync,
  device: DeviceRow,
  said: NewTranscript,
  ms: number,
): { id: string; event: StoredEvent } {
  const id = newId();
  insert.run(w, {
    id,
    owner: device.owner_id,
    device: device.id,
    label: said.label ?? null,
    text: said.text,
    audio: said.audioUrl ?? null,
    duration: said.durationS === undefined ? null : Math.max(0, Math.floor(said.durationS)),
    ms,
  });
  prune.run(w, { owner: device.owner_id });
  const name = cutText(device.name, TINY_LIMITS.eventName);
  const preview = cutText(said.text, TINY_LIMITS.transcriptPreview);
  const event = keepEvent(w, {
    ownerId: device.owner_id,
    device,
    kind: 'nicla_transcript',
    detail: `${name}: "${preview}" (transcript ${id})`,
    at: ms,
  });
  return { id, event };
}

/** Newest first. */
export function listTranscripts(ctx: HubContext, ownerId: string, limit: number) {
  const rows = ctx.db.read((r) => newest.all(r, { owner: ownerId, limit }));
  return rows.map((row) => ({
    id: row.id,
    label: row.label,
    preview: cutText(row.text, TINY_LIMITS.transcriptPreview),
    chars: row.text.length,
    truncated: row.text.length > TINY_LIMITS.transcriptPreview,
    audio_url: row.audio_url,
    duration_s: row.duration_s,
    created: Math.floor(row.created_ms / 1000),
  }));
}

export function transcriptOf(ctx: HubContext, ownerId: string, id: string) {
  const row = ctx.db.read((r) => byId.get(r, { owner: ownerId, id }));
  if (!row) return undefined;
  return {
    id: row.id,
    device_id: row.device_id,
    label: row.label,
    text: row.text,
    audio_url: row.audio_url,
    duration_s: row.duration_s,
    created: Math.floor(row.created_ms / 1000),
  };
}
