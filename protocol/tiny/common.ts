/**
 * What all routes of the tiny Devices API share (wire document, part A0): names of ids, limits,
 * how a body is read and how a refusal looks. A server reads requests leniently (a body that is
 * no JSON object counts as an empty one) and says the first problem as its sentence.
 */
import { z } from 'zod';

/** Shown once; only the lower-case hex SHA-256 is kept (statements 9, 10). */
export const DEVICE_TOKEN = /^tind_[A-Za-z0-9_-]{43}$/;
/** Devices, envelopes and transcripts. */
export const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const TASK_ID = /^[A-Za-z0-9_-]{1,48}$/;
export const TASK_TICKET = /^task_[0-9a-f]{8}_[A-Za-z0-9_-]{1,48}$/;
export const BATCH_TICKET = /^batch_[A-Za-z0-9-]{8,64}$/;

/** `GET /media/<key>`; anything else is 404 before storage is asked (statement 87). */
export const MEDIA_KEY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.[a-z0-9]{2,4}$/;

/** Sizes are UTF-16 units unless a name says otherwise; times are seconds. */
export const TINY_LIMITS = {
  name: 64,
  platform: 32,
  capabilities: 32,
  capability: 32,
  capabilitiesText: 2048,
  devices: 20,
  /** Text of an envelope or of a reply (statement 35). */
  payload: 8192,
  pollDefault: 10,
  pollMax: 50,
  /** Seen less long ago than this is online (statement 12). */
  presentS: 60,
  undeliveredS: 3600,
  undeliveredGraceS: 300,
  keptS: 86_400,
  /** A reply later than this is announced (statement 66). */
  lateS: 45,
  notifySeenS: 120,
  notifyTitle: 100,
  notifyBody: 400,
  taskSummary: 140,
  taskResult: 7000,
  eventName: 40,
  eventDetail: 240,
  events: 200,
  eventsRead: 50,
  transcriptText: 16_384,
  transcriptLabel: 80,
  transcriptPreview: 200,
  transcripts: 200,
  audioUrl: 300,
  mediaBytes: 6 * 1024 * 1024,
  askText: 4000,
  askAnswer: 2000,
  askCard: 4096,
  askAudioBytes: 8 * 1024 * 1024,
  /** Code points, refused and not cut. */
  messageBody: 2000,
  messagesADay: 100,
  endpointSecret: 4096,
  endpointText: 8192,
  endpointBodyBytes: 256 * 1024,
  snapshotBytes: 8 * 1024 * 1024,
} as const;

/** Every refusal: one sentence, and flags only where a route lists them. */
export const refusal = z.looseObject({
  ok: z.literal(false),
  error: z.string(),
  retryable: z.boolean().optional(),
  delivered: z.union([z.boolean(), z.string()]).optional(),
  unreachable: z.boolean().optional(),
  timeout: z.boolean().optional(),
  unauthorized: z.boolean().optional(),
});
export type Refusal = z.infer<typeof refusal>;

/** The sentences that more than one route says. */
export const SAID = {
  loginRequired: 'login required',
  unknownDevice: 'unknown device',
  unauthorized: 'unauthorized',
  envelopeNotFound: 'envelope not found',
  badPayload: 'payload must be valid JSON ≤8KB',
  registryUnreachable: 'registry unreachable',
} as const;

/** At most `max` UTF-16 units, never half a code point. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}

/** A JSON object as it is; anything else (no JSON, a list, null) counts as an empty object. */
export function asBody(body: unknown): object {
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {};
}

/** A request body with lenient fields; every issue's message is the sentence to answer with. */
export function bodyOf<const S extends z.ZodRawShape>(shape: S) {
  return z.preprocess(asBody, z.object(shape));
}

/** The sentence to answer with (status 400) when a request schema refuses a body. */
export function sentenceOf(error: z.ZodError): string {
  return error.issues[0]?.message ?? 'bad request';
}

/** Text that must be there and not blank, kept as it came. */
export function filled(sentence: string) {
  return z.string({ error: sentence }).refine((text) => text.trim() !== '', sentence);
}

/** A field that may be missing and may be anything. */
export function lenient() {
  return z.unknown().optional();
}

/** Optional text: anything that is no text counts as absent; cut at a code point. */
export function optionalText(max: number) {
  return lenient().transform((v): string | undefined => {
    if (typeof v !== 'string' || v === '') return undefined;
    return cutText(v, max);
  });
}

/** `{deviceId, token}` of the device credential, in the body (A0). */
export function credential(sentence: string) {
  return { deviceId: filled(sentence), token: filled(sentence) };
}

/** A device's credential as it stands in a body. */
export const deviceCredential = z.object({ deviceId: z.string(), token: z.string() });
export type DeviceCredential = z.infer<typeof deviceCredential>;

/**
 * The body of a device route whose caller is a gateway that speaks for the device (its bearer
 * token took the place of `token`): the same body with a token that opens nothing, so that the
 * one schema reads both.
 */
export function spokenFor(body: unknown): object {
  return { ...asBody(body), token: 'gateway' };
}

/** `max` of a poll: 1 to 50, junk is 10 (statement 43). */
export function clampMax(value: unknown): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return TINY_LIMITS.pollDefault;
  return Math.min(TINY_LIMITS.pollMax, Math.max(1, Math.trunc(number)));
}

/**
 * A capability list as it is stored (statement 8): the first 32 entries, each cut to 32, and
 * entries dropped from the end until the JSON text fits 2,048. A text that holds a JSON list is
 * read as that list; no list gives none.
 */
export function cutCapabilities(value: unknown): string[] {
  let list = value;
  if (typeof value === 'string') {
    try {
      list = JSON.parse(value);
    } catch {
      return [];
    }
  }
  if (!Array.isArray(list)) return [];
  const kept: string[] = [];
  for (const item of list.slice(0, TINY_LIMITS.capabilities)) {
    if (typeof item === 'string') kept.push(cutText(item, TINY_LIMITS.capability));
    else if (typeof item === 'number' || typeof item === 'boolean') kept.push(String(item));
  }
  while (JSON.stringify(kept).length > TINY_LIMITS.capabilitiesText) kept.pop();
  return kept;
}

/**
 * The origin of a board's page on its own network, or undefined where the rule refuses it (the
 * wire document's lan_url rule; statements 31 to 33): plain http, a private or link-local IPv4
 * after the URL's own decoding, path and query dropped.
 */
export function lanUrlOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 2048) return undefined;
  let url: URL;
  try {
    url = new URL(value.trim());
  } catch {
    return undefined;
  }
  if (url.protocol !== 'http:') return undefined;
  const octets = /^(\d{1,3})\.(\d{1,3})\.\d{1,3}\.\d{1,3}$/.exec(url.hostname);
  if (!octets) return undefined;
  const a = Number(octets[1]);
  const b = Number(octets[2]);
  const isPrivate =
    a === 10 ||
    (a === 172 && b >= 16 && b <= 31) ||
    (a === 192 && b === 168) ||
    (a === 169 && b === 254);
  return isPrivate ? url.origin : undefined;
}

/** A switch that is on unless it is absent, empty, 0 or false, also as text (`wantUnread`). */
export function isOn(value: unknown): boolean {
  return Boolean(value) && value !== '0' && value !== 'false';
}

/**
 * The text of a payload as it is queued: a text must be JSON itself, any other value is
 * serialised, a missing one is `null`. Undefined where it is no JSON or over 8,192 UTF-16 units
 * (statements 35, 36, 50).
 */
export function payloadText(payload: unknown): string | undefined {
  let text: string | undefined;
  try {
    if (typeof payload === 'string') JSON.parse(payload);
    text = typeof payload === 'string' ? payload : JSON.stringify(payload ?? null);
  } catch {
    return undefined;
  }
  return text !== undefined && text.length <= TINY_LIMITS.payload ? text : undefined;
}

/** `https` and at most 300 units (transcripts, asks); undefined where it is not. */
export function audioUrlOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > TINY_LIMITS.audioUrl) return undefined;
  try {
    return new URL(value).protocol === 'https:' ? value : undefined;
  } catch {
    return undefined;
  }
}
