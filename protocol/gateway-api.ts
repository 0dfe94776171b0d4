/**
 * `/api/gateway/v1`: what a gateway and its own hub say to each other over HTTP. A gateway has
 * its own credential (`Authorization: Bearer mgw_…`), bound to one owner and to the boards that
 * it registered. Everything that goes up is answered when it is durable.
 */
import { z } from 'zod';

export const GATEWAY_TOKEN = /^mgw_[A-Za-z0-9_-]{43}$/;

const boardId = z.string().regex(/^[0-9a-f]{16}$/);
const at = z.number().int().min(0).describe('unix milliseconds');

/** `POST /api/gateway/v1/enrol` (owner session): makes a gateway and shows its token once. */
export const enrolRequest = z.object({ name: z.string().trim().min(1).max(64) });
export const enrolReply = z.object({
  ok: z.literal(true),
  gateway_id: z.string(),
  gateway_token: z.string(),
});

/**
 * `POST /api/gateway/v1/boards` (gateway): registers or refreshes a board it speaks for. The
 * answer is the same device id each time. A board of another owner is refused with 409.
 */
export const boardRequest = z.object({
  boardId,
  name: z.string().trim().min(1).max(64),
  platform: z.string().max(32),
  capabilities: z.array(z.string().max(64)).max(256),
  /** The portable catalog: verbs with JSON Schemas, readings with units. */
  catalog: z.object({
    firmware: z.string().max(64),
    verbs: z
      .array(
        z.object({
          name: z.string().max(64),
          description: z.string().max(1024),
          signature: z.string().max(1024),
          parameters: z.record(z.string(), z.unknown()),
          protected: z.boolean(),
          idempotent: z.boolean(),
          readOnly: z.boolean(),
        }),
      )
      .max(256),
    readings: z.array(z.object({ name: z.string(), unit: z.string() })).max(256),
  }),
});
export const boardReply = z.object({ ok: z.literal(true), device_id: z.string() });

export const presence = z.discriminatedUnion('state', [
  z.object({ state: z.literal('online'), since: at }),
  z.object({ state: z.literal('asleep'), since: at, until: at }),
  z.object({ state: z.literal('unreachable'), since: at }),
]);

/** One thing that goes up; `seq` grows by one per gateway and is acknowledged. */
export const upItem = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('presence'),
    seq: z.number().int(),
    device_id: z.string(),
    at,
    presence,
  }),
  z.object({
    kind: z.literal('readings'),
    seq: z.number().int(),
    device_id: z.string(),
    at,
    values: z.record(z.string(), z.unknown()),
    stored: z.boolean(),
  }),
  z.object({
    kind: z.literal('event'),
    seq: z.number().int(),
    device_id: z.string(),
    at,
    boot: z.number().int(),
    board_seq: z.number().int(),
    event: z.string().max(64),
    detail: z.unknown(),
  }),
  z.object({
    kind: z.literal('transcript'),
    seq: z.number().int(),
    device_id: z.string(),
    at,
    boot: z.number().int(),
    board_seq: z.number().int(),
    text: z.string().max(16_384),
    label: z.string().max(80).optional(),
    durationS: z.number().min(0).optional(),
    /** The recording, put up by `POST /api/gateway/v1/media` before. */
    audioUrl: z
      .string()
      .max(300)
      .regex(/^(https?:\/\/|\/media\/)/)
      .optional(),
  }),
  z.object({
    kind: z.literal('task_result'),
    seq: z.number().int(),
    device_id: z.string(),
    at,
    boot: z.number().int(),
    board_seq: z.number().int(),
    taskId: z.string().regex(/^[A-Za-z0-9_-]{1,48}$/),
    summary: z.string().max(140),
    result: z.unknown(),
  }),
  z.object({
    kind: z.literal('late'),
    seq: z.number().int(),
    device_id: z.string(),
    at,
    envelope_id: z.string(),
    payload: z.string(),
  }),
  z.object({
    kind: z.literal('progress'),
    seq: z.number().int(),
    device_id: z.string(),
    at,
    envelope_id: z.string(),
    percent: z.number().optional(),
    note: z.string().optional(),
  }),
  z.object({
    kind: z.literal('health'),
    seq: z.number().int(),
    at,
    links: z.array(z.object({ via: z.string(), state: z.string(), lastHeardAt: at.optional() })),
  }),
]);
export type UpBody = z.infer<typeof upItem>;

/**
 * `POST /api/gateway/v1/up`: a batch, at most 500 items. Items that were stored before (same
 * board, boot and board_seq) are acknowledged and dropped. An item that fails its schema or
 * names a device that is not this gateway's is refused by itself; the rest of the batch goes on.
 */
export const upRequest = z.object({ items: z.array(z.unknown()).max(500) });
export const upReply = z.object({
  ok: z.literal(true),
  /** Highest seq that is durable (or refused for good): forget everything up to it. */
  ack: z.number().int(),
  refused: z.array(z.object({ seq: z.number().int(), why: z.string() })),
});

/**
 * `GET /api/gateway/v1/stream` (SSE; `Last-Event-ID` resumes): names of events below, data is
 * JSON, a comment each 15 s. On connect every undelivered envelope of the gateway's boards
 * that is newer than `Last-Event-ID` is offered again.
 */
export const offerEvent = z.object({
  envelope_id: z.string(),
  device_id: z.string(),
  payload: z.string(),
  created_at: z.number().int(),
  /** Claims after this are refused: the undelivered tier ends (unix seconds). */
  expires_at: z.number().int(),
});
export const cancelEvent = z.object({ envelope_id: z.string() });
/** Another gateway of the owner adopts a board of this one: seal its new key to that key. */
export const handoverEvent = z.object({
  handover_id: z.string(),
  board_id: boardId,
  /** X25519, 32 bytes as base64url. */
  public_key: z.string().max(64),
  /** The adopting gateway's name, for people. */
  to: z.string(),
});
/** The board is another gateway's now; told again at each connect until it is acknowledged. */
export const handedOverEvent = z.object({ handover_id: z.string(), board_id: boardId });
export const STREAM_EVENTS = {
  offer: offerEvent,
  cancel: cancelEvent,
  handover: handoverEvent,
  handed_over: handedOverEvent,
} as const;

/**
 * `POST /api/gateway/v1/handover` (the adopting gateway): asks the gateway that has the board for
 * a key of it, relayed by the hub, and waits for it (`protocol/handover.ts`). 404 for a
 * device that is none of the owner's boards, 409 where its gateway is away or says no; nothing was changed then.
 */
export const handoverRequest = z.object({
  device_id: z.string().max(64),
  public_key: z.string().max(64),
});
export const handoverReply = z.object({
  ok: z.literal(true),
  handover_id: z.string(),
  board_id: boardId,
  name: z.string(),
  sealed_key: z.string().max(128),
});
/** `POST /api/gateway/v1/handover/answer` (the gateway that has the board). */
export const handoverAnswer = z.object({
  handover_id: z.string().max(64),
  sealed_key: z.string().max(128).optional(),
  /** Why it is not handed over, in a sentence for people. */
  refused: z.string().max(300).optional(),
});
/**
 * `POST /api/gateway/v1/handover/done` (the adopting gateway, once it has stored the key): the
 * device is its own from now on. Repeatable. `POST …/handover/gone` (the other, once it has
 * forgotten the board) ends what `handed_over` tells.
 */
export const handoverStep = z.object({ handover_id: z.string().max(64) });
export const done = z.object({ ok: z.literal(true) });

/** `POST /api/gateway/v1/claim`: compare-and-set; repeatable by the same gateway. */
export const claimRequest = z.object({ envelope_ids: z.array(z.string().max(64)).min(1).max(200) });
export const claimReply = z.object({
  ok: z.literal(true),
  claimed: z.array(z.string()),
  lost: z.array(
    z.object({ envelope_id: z.string(), why: z.enum(['taken', 'unknown', 'answered']) }),
  ),
});

/**
 * `POST /api/gateway/v1/reply`: answers claimed envelopes; first reply wins; the same reply by
 * the same gateway again is `stored` again. `payload` is JSON text of at most 8,192 UTF-16 units.
 */
export const replyRequest = z.object({
  replies: z
    .array(z.object({ envelope_id: z.string(), payload: z.string() }))
    .min(1)
    .max(200),
});
export const replyReply = z.object({
  ok: z.literal(true),
  results: z.array(
    z.object({
      envelope_id: z.string(),
      status: z.enum(['stored', 'answered_before', 'unknown', 'bad_payload']),
    }),
  ),
});

/** `POST /api/gateway/v1/media` : raw body, its content type; answers as `POST /api/media` does. */
export const mediaReply = z.object({
  ok: z.literal(true),
  key: z.string(),
  url: z.string(),
  bytes: z.number().int(),
});

/** In `GET /api/health` of a hub that has all this: `{gateway: {version: 1, stream: path}}`. */
export const healthGateway = z.object({ version: z.literal(1), stream: z.string() });
