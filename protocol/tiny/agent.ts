/**
 * A device asks its owner's agent, and sends its owner's messages (wire document, parts A6 and
 * A7; statements 117 to 119).
 */
import { z } from 'zod';
import {
  asBody,
  audioUrlOf,
  credential,
  lenient,
  MEDIA_KEY,
  optionalText,
  TINY_LIMITS,
} from './common.js';

const askSentence = 'deviceId, token and text or audioUrl required';

/**
 * `POST /api/devices/ask` (device): a text of 4,000 units at most, or a spoken question by its
 * URL (ours also takes the id of a hosted medium). 400, 401, 402, 404, 422 as they are, others
 * 424. Refusals come as JSON before any stream (117).
 */
export const askRequest = z.preprocess(
  asBody,
  z
    .object({
      ...credential(askSentence),
      text: lenient().transform((v) => (typeof v === 'string' && v.trim() !== '' ? v : undefined)),
      audioUrl: lenient().transform((v) => (typeof v === 'string' && v !== '' ? v : undefined)),
      tiny: optionalText(128),
      stream: lenient().transform((v) => v === '1' || v === 1 || v === true),
    })
    .refine((ask) => ask.text !== undefined || ask.audioUrl !== undefined, askSentence)
    .refine(
      (ask) => (ask.text?.length ?? 0) <= TINY_LIMITS.askText,
      `text must be at most ${TINY_LIMITS.askText} characters`,
    )
    .refine(
      (ask) => ask.audioUrl === undefined || isRecording(ask.audioUrl),
      'audioUrl must be https:// and ≤300 chars',
    ),
);

/** An https URL, or (ours) a medium that this hub hosts, by its path or its key. */
function isRecording(audioUrl: string): boolean {
  return audioUrlOf(audioUrl) !== undefined || MEDIA_KEY.test(audioUrl.replace(/^\/media\//, ''));
}

export const CARD_TYPES = ['text', 'list', 'kv', 'chart', 'image', 'buttons', 'composite'] as const;
/** A card in an answer: an object with a known type, 4 KB of JSON at most (118). */
export const askCard = z.looseObject({ type: z.enum(CARD_TYPES) });

export const askReply = z.looseObject({
  ok: z.literal(true),
  text: z.string(),
  card: z.unknown().optional(),
});

/**
 * `data:` of the stream (`text/event-stream`, a comment each 10 s): pieces of text, then a card
 * where there is one, or an error; at the end the data is `[DONE]` itself.
 */
export const askFrame = z.union([
  z.looseObject({ t: z.string() }),
  z.looseObject({ card: z.unknown() }),
  z.looseObject({ error: z.string() }),
]);
export const SSE_DONE = '[DONE]';
export const NO_ANSWER = '(no answer)';

export const MESSAGE_OPS = ['send', 'inbox', 'thread', 'unread'] as const;
export type MessageOp = (typeof MESSAGE_OPS)[number];

export const MESSAGES_SAID = {
  required: 'deviceId, token and op required',
  op: 'op must be send | inbox | thread | unread',
  to: 'to required for send',
  with: 'with required for thread',
  unavailable: 'messages unavailable',
} as const;

const said = (required: string) => ({
  op: z
    .string({ error: required })
    .min(1, required)
    .refine((op) => MESSAGE_OPS.some((known) => known === op), MESSAGES_SAID.op)
    .transform((op) => op as MessageOp),
  to: optionalText(128),
  body: lenient().transform((v) => (typeof v === 'string' ? v : '')),
  attachments: lenient(),
  with: optionalText(128),
  limit: lenient().transform((v) => {
    const number = typeof v === 'number' || typeof v === 'string' ? Number(v) : Number.NaN;
    return Number.isFinite(number) && number >= 1 ? Math.min(200, Math.trunc(number)) : 50;
  }),
});

const own = z.object(said('op required'));
export type MessagesRequest = z.infer<typeof own>;

/** What is missing for an operation is the sentence of the refusal. */
function complete(m: MessagesRequest, issues: z.RefinementCtx): void {
  const refuse = (message: string) => issues.addIssue({ code: 'custom', message });
  if (m.op === 'send' && m.to === undefined) refuse(MESSAGES_SAID.to);
  if (m.op === 'thread' && m.with === undefined) refuse(MESSAGES_SAID.with);
  if (m.op === 'send' && [...m.body].length > TINY_LIMITS.messageBody) {
    refuse(`body must be at most ${TINY_LIMITS.messageBody} characters`);
  }
}

/**
 * `POST /api/devices/messages` (device). The body of a `send` is refused, not cut, beyond 2,000
 * code points. 401 "unknown device"; 404 recipient; 429 the day's limit; 503 "messages
 * unavailable", never an empty inbox in its place (119).
 */
export const messagesRequest = z.preprocess(
  asBody,
  z
    .object({ ...credential(MESSAGES_SAID.required), ...said(MESSAGES_SAID.required) })
    .superRefine(complete),
);
/** `POST /api/messages` (session, ours): the same as a person. */
export const ownMessagesRequest = z.preprocess(asBody, own.superRefine(complete));

export const unreadReply = z.looseObject({
  ok: z.literal(true),
  unread: z.number(),
  from: z.array(z.looseObject({ login: z.string(), name: z.string(), count: z.number() })),
});
export const sentReply = z.looseObject({ ok: z.literal(true), id: z.number() });
export const inboxReply = z.looseObject({
  ok: z.literal(true),
  threads: z.array(
    z.looseObject({
      userId: z.union([z.string(), z.number()]),
      login: z.string(),
      name: z.string(),
      avatar: z.string().nullable(),
      unread: z.number(),
      lastBody: z.string(),
      lastAttachments: z.unknown(),
      lastAt: z.number(),
    }),
  ),
});
export const threadReply = z.looseObject({
  ok: z.literal(true),
  peer: z.unknown(),
  messages: z.array(
    z.looseObject({
      id: z.union([z.string(), z.number()]),
      direction: z.enum(['sent', 'received']),
      body: z.string(),
      attachments: z.unknown(),
      viaTiny: z.string().nullable(),
      read: z.boolean(),
      created: z.number(),
    }),
  ),
});
