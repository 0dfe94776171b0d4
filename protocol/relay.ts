/**
 * What travels inside the relay mailbox (wire document, parts A2, A9 and B4): the envelope that
 * an owner's agent sends and the reply of a board. Both are JSON texts of at most 8,192 UTF-16
 * units.
 */
import { z } from 'zod';
import { TINY_LIMITS } from './tiny/common.js';

/** UTF-16 units of an envelope's or a reply's text (statement 35). */
export const PAYLOAD_UNITS = TINY_LIMITS.payload;

/** Run something; `type` may be absent (A2, late reply). */
export const invokePayload = z.looseObject({
  type: z.literal('invoke').optional(),
  prompt: z.string(),
});

/** Show something to the owner (A2, notify fan-out). */
export const notifyPayload = z.looseObject({
  type: z.literal('notify'),
  title: z.string(),
  body: z.string().optional(),
  tag: z.string().optional(),
  url: z.string().optional(),
});

/** Any other type is passed through to boards that take envelopes. */
export const otherPayload = z.looseObject({ type: z.string().min(1).max(64) });

export type Envelope =
  | { kind: 'invoke'; prompt: string }
  | { kind: 'notify'; title: string; body?: string; tag?: string; url?: string }
  | { kind: 'other'; type: string; text: string }
  /** `why` is a sentence for the sender. */
  | { kind: 'unreadable'; why: string };

/**
 * Reads the text of an envelope; never throws. An `invoke` without a prompt has an empty one,
 * so that what answers it can say so.
 */
export function readEnvelope(text: string): Envelope {
  if (text.length > PAYLOAD_UNITS) {
    return unreadable(`it has ${text.length} characters and ${PAYLOAD_UNITS} are allowed`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return unreadable('it is no JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return unreadable('it is no JSON object');
  }
  const read = (key: string): unknown =>
    Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
  const optional = (key: string): string | undefined => {
    const found = read(key);
    return typeof found === 'string' && found !== '' ? found : undefined;
  };
  const type = read('type');
  if (type === undefined || type === 'invoke') {
    const prompt = read('prompt');
    if (prompt !== undefined && prompt !== null && typeof prompt !== 'string') {
      return unreadable('its prompt is no text');
    }
    return { kind: 'invoke', prompt: prompt ?? '' };
  }
  if (typeof type !== 'string' || type === '' || type.length > 64) {
    return unreadable('its type is no text of 1 to 64 characters');
  }
  if (type !== 'notify') return { kind: 'other', type, text };
  const notify: Envelope = { kind: 'notify', title: optional('title') ?? 'tiny' };
  const body = optional('body');
  const tag = optional('tag');
  const url = optional('url');
  if (body !== undefined) notify.body = body;
  if (tag !== undefined) notify.tag = tag;
  if (url !== undefined) notify.url = url;
  return notify;
}

function unreadable(why: string): Envelope {
  return {
    kind: 'unreadable',
    why: `This envelope can't be read: ${why}. Send {"type":"invoke","prompt":"<verb> …"}.`,
  };
}

/** How a call ended, as the reply says it. */
export const OUTCOME_KINDS = [
  'ok',
  'failed',
  'refused',
  'unreachable',
  'expired',
  'cancelled',
  'outcome_unknown',
] as const;
export type OutcomeKind = (typeof OUTCOME_KINDS)[number];

export const goodReply = z.looseObject({
  ok: z.literal(true),
  outcome: z.literal('ok'),
  result: z.unknown(),
  /** URLs of hosted pictures. */
  images: z.array(z.string()).optional(),
  truncated: z.literal(true).optional(),
});

/** `result` is the sentence again: a stock client reads nothing else. */
export const badReply = z.looseObject({
  ok: z.literal(false),
  outcome: z.enum(OUTCOME_KINDS).exclude(['ok']),
  error: z.looseObject({ code: z.string(), message: z.string() }),
  result: z.string(),
});

/** What a board behind a gateway answers; other devices answer anything (`{result}` at least). */
export const replyPayload = z.discriminatedUnion('ok', [goodReply, badReply]);
export type ReplyPayload = z.infer<typeof replyPayload>;
