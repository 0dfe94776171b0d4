/** The fleet: `/api/devices` and its heartbeat (wire document, part A1; statements 1 to 34). */
import { z } from 'zod';
import {
  bodyOf,
  credential,
  cutCapabilities,
  cutText,
  filled,
  isOn,
  lanUrlOf,
  lenient,
  optionalText,
  TINY_LIMITS,
} from './common.js';

export const DEVICE_KINDS = ['daemon', 'browser', 'cli', 'endpoint'] as const;
export type DeviceKind = (typeof DEVICE_KINDS)[number];

/** An unknown kind is stored as `cli`; `endpoint` only where it is exactly that (statement 7). */
export function kindOf(value: unknown): DeviceKind {
  return DEVICE_KINDS.find((kind) => kind === value) ?? 'cli';
}

/** A row of `GET /api/devices`; times are unix seconds. */
export const deviceRow = z.looseObject({
  id: z.string(),
  name: z.string(),
  platform: z.string(),
  kind: z.string(),
  /** A JSON list as text (statement 14). */
  capabilities: z.string(),
  last_seen: z.number().nullable(),
  created_at: z.number(),
  /** Null for endpoints (statement 93). */
  online: z.boolean().nullable(),
  /** Endpoints only. */
  url: z.string().optional(),
  /** Dial-in devices only, and only while they are present (statement 15). */
  lan_url: z.string().optional(),
});
export type DeviceRow = z.infer<typeof deviceRow>;

/** `GET /api/devices` (session): newest seen first, no revoked rows. 503 retryable, never empty. */
export const devicesReply = z.looseObject({ ok: z.literal(true), devices: z.array(deviceRow) });

/**
 * `POST /api/devices` (session): enrol. The output is cut and normalised as it is stored;
 * `url` and `secret` come as they are, for the endpoint's own checks (A8).
 * Refusals: 400 "name required"; 424 for the limit and for endpoints (`ENROL_SAID`); 503 retryable.
 */
export const enrolRequest = bodyOf({
  name: filled('name required').transform((name) => cutText(name.trim(), TINY_LIMITS.name)),
  platform: optionalText(TINY_LIMITS.platform),
  kind: lenient().transform(kindOf),
  capabilities: lenient().transform(cutCapabilities),
  url: lenient(),
  secret: lenient(),
});
export type EnrolRequest = z.infer<typeof enrolRequest>;

/** A dial-in device (statements 9, 11, 17); `adopted` where a stale row was re-keyed. */
export const enrolReply = z.looseObject({
  ok: z.literal(true),
  device_id: z.string(),
  device_token: z.string(),
  adopted: z.boolean().optional(),
});

export const enrolEndpointReply = z.looseObject({
  ok: z.literal(true),
  device_id: z.string(),
  kind: z.literal('endpoint'),
  url: z.string(),
});

/** What enrolment says with 424. */
export const ENROL_SAID = {
  limit: (limit: number) => `device limit reached (${limit}) — revoke one first`,
  urlRequired: 'url required for an endpoint device',
  urlInvalid: 'invalid url',
  urlNotHttps: 'url must be https',
  urlNotPublic: 'url must be a public hostname',
  urlPort: 'url must use port 443, or one above 1023',
  secretRequired: 'secret required for an endpoint device',
  secretTooLong: 'secret too long',
  secretUnfit: 'secret must be printable ASCII without line breaks',
} as const;

/** `DELETE /api/devices` (session): 0 for strangers and unknown ids, 1 also when repeated (21). */
export const revokeRequest = bodyOf({ deviceId: filled('deviceId required') });
export const revokeReply = z.looseObject({ ok: z.literal(true), revoked: z.number() });

/**
 * `POST /api/devices/adopt` (session): a fresh token for a device that is known; the old one
 * dies at once (24, 25). 404 "device not found" for unknown, foreign, revoked, endpoint (26);
 * 503 retryable; 424 where no token came back.
 */
export const adoptRequest = bodyOf({ deviceId: filled('deviceId required') });
export const adoptReply = z.looseObject({
  ok: z.literal(true),
  device_id: z.string(),
  device_token: z.string(),
});
export const DEVICE_NOT_FOUND = 'device not found';

/**
 * `POST /api/devices/heartbeat` (device). `capabilities`: undefined keeps the stored list,
 * a list replaces it, anything else clears it (29). `lanUrl`: undefined keeps (also where it was
 * invalid, 30). 401 "unknown device" is one answer for wrong token, unknown and revoked (28);
 * 424 "registry unreachable".
 */
export const heartbeatRequest = bodyOf({
  ...credential('deviceId and token required'),
  capabilities: lenient().transform((v) => (v == null ? undefined : cutCapabilities(v))),
  lanUrl: lenient().transform(lanUrlOf),
  wantUnread: lenient().transform(isOn),
});
/** `unread` is left out when it was not wanted or can't be had, never 0 in its place (34). */
export const heartbeatReply = z.looseObject({
  ok: z.literal(true),
  unread: z.number().optional(),
});
