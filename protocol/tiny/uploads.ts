/**
 * What a device sends up by itself: task results, events, transcripts, media (wire document,
 * parts A3 to A5; statements 72 to 87).
 */
import { z } from 'zod';
import {
  bodyOf,
  credential,
  cutText,
  filled,
  lenient,
  optionalText,
  TASK_ID,
  TINY_LIMITS,
} from './common.js';

const taskSentence = 'deviceId, token, taskId and result required';

/**
 * `POST /api/devices/task-result` (device). 424 with `UPLOAD_SAID.taskId` when the id does not
 * match `TASK_ID`; 401 "unauthorized". The payload to keep is `taskPayload(result)`.
 */
export const taskResultRequest = bodyOf({
  ...credential(taskSentence),
  taskId: filled(taskSentence),
  summary: optionalText(TINY_LIMITS.taskSummary),
  result: lenient()
    .transform((v) => v)
    .refine((v) => v !== undefined && v !== null && v !== '', taskSentence),
});
export const taskResultReply = z.looseObject({ ok: z.literal(true), ticket: z.string() });

/** A ticket belongs to the device that deposited it (statements 72, 73). */
export function taskTicket(deviceId: string, taskId: string): string {
  return `task_${deviceId.slice(0, 8)}_${taskId}`;
}

export function isTaskId(text: string): boolean {
  return TASK_ID.test(text);
}

/**
 * The payload that a task's ticket redeems: exactly `{"result":"…"}`. Cut at 7,000 units and
 * then further until the JSON text fits 8,192 (statements 74, 75).
 */
export function taskPayload(result: unknown): string {
  const text = typeof result === 'string' ? result : JSON.stringify(result);
  let kept = cutText(text ?? 'null', TINY_LIMITS.taskResult);
  let payload = JSON.stringify({ result: kept });
  while (payload.length > TINY_LIMITS.payload) {
    const over = payload.length - TINY_LIMITS.payload;
    // One unit takes six at most when escaped, so this never cuts below what would have fitted.
    kept = cutText(kept, kept.length - Math.max(1, Math.floor(over / 6)));
    payload = JSON.stringify({ result: kept });
  }
  return payload;
}

/** What `POST /api/devices/event` takes (statement 77); our own hub's gateways may say more. */
export const EVENT_KINDS = [
  'nicla_wake',
  'nicla_sentry',
  'nicla_transcript',
  'device_note',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

const eventSentence = 'deviceId, token and kind required';

/** `POST /api/devices/event` (device). 424 "unsupported kind"; 401 "unknown device". */
export const eventRequest = bodyOf({
  ...credential(eventSentence),
  kind: filled(eventSentence),
  detail: lenient().transform((v): string => {
    if (v === undefined || v === null) return '';
    return cutText(typeof v === 'string' ? v : JSON.stringify(v), TINY_LIMITS.eventDetail);
  }),
});

/** The stored detail: `<name>: <detail>`, each part cut (statement 77). */
export function eventDetail(deviceName: string, detail: string): string {
  const name = cutText(deviceName, TINY_LIMITS.eventName);
  return `${name}: ${cutText(detail, TINY_LIMITS.eventDetail)}`;
}

/** A row of `GET /api/events?sinceId=` (session): the newest 50 at most, oldest first. */
export const eventRow = z.looseObject({
  id: z.union([z.number(), z.string()]),
  kind: z.string(),
  detail: z.string(),
  created: z.number(),
});
export const eventsReply = z.looseObject({ ok: z.literal(true), events: z.array(eventRow) });

const transcriptSentence = 'deviceId, token and text required';

/**
 * `POST /api/devices/transcript` (device). `audioUrl` comes as it is: where it is given,
 * `audioUrlOf` must accept it, else 424 with `UPLOAD_SAID.audioUrl`.
 */
export const transcriptRequest = bodyOf({
  ...credential(transcriptSentence),
  text: filled(transcriptSentence).transform((text) => cutText(text, TINY_LIMITS.transcriptText)),
  label: optionalText(TINY_LIMITS.transcriptLabel),
  audioUrl: lenient(),
  durationS: lenient().transform((v): number | undefined => {
    const number = typeof v === 'string' && v.trim() !== '' ? Number(v) : v;
    return typeof number === 'number' && Number.isFinite(number)
      ? Math.max(0, Math.floor(number))
      : undefined;
  }),
});
export const transcriptReply = z.looseObject({ ok: z.literal(true), id: z.string() });

/** `GET /api/devices/transcript?limit=` (session): default 20, at most 50 (statement 80). */
export const transcriptsReply = z.looseObject({
  ok: z.literal(true),
  transcripts: z.array(
    z.looseObject({
      id: z.string(),
      label: z.string().nullable(),
      preview: z.string(),
      chars: z.number(),
      truncated: z.boolean(),
      audio_url: z.string().nullable(),
      duration_s: z.number().nullable(),
      created: z.number(),
    }),
  ),
});
/** `GET /api/devices/transcript?id=` (session): 404 "not found" for strangers (81). */
export const transcriptOneReply = z.looseObject({
  ok: z.literal(true),
  transcript: z.looseObject({
    id: z.string(),
    device_id: z.string(),
    label: z.string().nullable(),
    text: z.string(),
    audio_url: z.string().nullable(),
    duration_s: z.number().nullable(),
    created: z.number(),
  }),
});

/** Media type to the extension of its key (statement 84: no html, no svg). */
export const MEDIA_TYPES = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'audio/mp4': 'm4a',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/ogg': 'ogg',
  'video/mp4': 'mp4',
  'text/x-python': 'py',
  'application/json': 'json',
  'application/octet-stream': 'bin',
} as const;
export type MediaType = keyof typeof MEDIA_TYPES;

/** The bare, lower-case media type where it is on the list. */
export function mediaTypeOf(contentType: unknown): MediaType | undefined {
  if (typeof contentType !== 'string') return undefined;
  const bare = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  return Object.hasOwn(MEDIA_TYPES, bare) ? (bare as MediaType) : undefined;
}

const mediaSentence = 'data and contentType required';

/**
 * `POST /api/media` (session, or the full device credential: half of one counts as none, 83).
 * `data` is base64; the length is checked before it is decoded. 424 for type and base64.
 */
export const mediaRequest = bodyOf({
  deviceId: optionalText(128),
  token: optionalText(128),
  data: filled(mediaSentence),
  contentType: filled(mediaSentence),
});
export const mediaReply = z.looseObject({
  ok: z.literal(true),
  key: z.string(),
  url: z.string(),
  bytes: z.number(),
});

export const UPLOAD_SAID = {
  taskId: 'taskId must be [A-Za-z0-9_-]{1,48}',
  taskTooBig: 'result payload must fit 8KB',
  unsupportedKind: 'unsupported kind',
  audioUrl: 'audioUrl must be https:// and ≤300 chars',
  notFound: 'not found',
} as const;
