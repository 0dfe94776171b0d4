/** The relay mailbox: `/api/devices/relay` (wire document, part A2; statements 35 to 71). */
import { z } from 'zod';
import { asBody, bodyOf, clampMax, credential, filled, lenient } from './common.js';

export interface RelayOutcome {
  readonly status: 400 | 404 | 413 | 424;
  /** Whether the envelope may stand in the mailbox although the sender was refused. */
  readonly delivered: 'no' | 'unknown';
  readonly retryable: boolean;
}

/** The seven ways a send fails (statements 39 to 41). Never a 5xx. */
export const RELAY_OUTCOMES = {
  /** Unknown, foreign or revoked device. */
  no_such_device: { status: 404, delivered: 'no', retryable: false },
  /** Payload over the limit or no JSON. */
  too_big: { status: 413, delivered: 'no', retryable: false },
  bad_request: { status: 400, delivered: 'no', retryable: false },
  /** The service's own key was refused: not the caller's login. */
  server_key: { status: 424, delivered: 'no', retryable: false },
  relay_fault: { status: 424, delivered: 'unknown', retryable: true },
  unreachable: { status: 424, delivered: 'unknown', retryable: true },
  /** It may have been queued: sending again could run it twice. */
  no_envelope: { status: 424, delivered: 'unknown', retryable: false },
} as const satisfies Record<string, RelayOutcome>;
export type RelayOutcomeCode = keyof typeof RELAY_OUTCOMES;

/**
 * `POST /api/devices/relay` (session). The payload is checked before the device (37): hand it
 * to `payloadText`. A body without `payload` is accepted as `null`.
 */
export const relaySendRequest = bodyOf({
  toDevice: filled('toDevice required'),
  payload: lenient(),
});
export const relaySendReply = z.looseObject({ ok: z.literal(true), id: z.string() });
export const relaySendRefusal = z.looseObject({
  ok: z.literal(false),
  error: z.string(),
  delivered: z.enum(['no', 'unknown']),
  retryable: z.boolean(),
});
export const RELAY_SAID = {
  toDeviceRequired: 'toDevice required',
  deviceNotFound: 'device not found',
  /** Ours: an endpoint device has no mailbox. */
  endpoint: 'endpoint devices are called, not mailed',
  inReplyToRequired: 'inReplyTo required',
} as const;

/**
 * `GET /api/devices/relay?inReplyTo=<envelope id or ticket>` (session): the earliest reply, again
 * and again, null for others (46, 47, 51, 52). `Cache-Control: no-store`.
 */
export const relayReadQuery = z.preprocess(
  asBody,
  z.object({ inReplyTo: filled('inReplyTo required') }),
);
export const relayReadReply = z.looseObject({
  ok: z.literal(true),
  reply: z.looseObject({ id: z.string(), payload: z.string(), created_at: z.number() }).nullable(),
});

/** `PUT /api/devices/relay` (device): oldest first, each envelope once at most (42 to 44). */
export const relayPollRequest = bodyOf({
  ...credential('deviceId and token required'),
  max: lenient().transform(clampMax),
});
export const relayMessage = z.looseObject({
  id: z.string(),
  payload: z.string(),
  created_at: z.number(),
});
export type RelayMessage = z.infer<typeof relayMessage>;
export const relayPollReply = z.looseObject({
  ok: z.literal(true),
  messages: z.array(relayMessage),
});

/**
 * `PATCH /api/devices/relay` (device): the payload is a text that holds JSON, or any JSON value
 * (50): hand it to `payloadText`. 424 "payload must be valid JSON ≤8KB" or "envelope not found"
 * (45, 48, 49); 401 "unauthorized". The first reply wins (47); a second one may be told 409.
 */
export const relayReplyRequest = bodyOf({
  ...credential('deviceId, token, inReplyTo required'),
  inReplyTo: filled('deviceId, token, inReplyTo required'),
  payload: lenient(),
});
export const okReply = z.looseObject({ ok: z.literal(true) });
