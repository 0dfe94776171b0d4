/**
 * Devices that are called by their URL (wire document, part A8; statements 88 to 104), and what
 * an owner's agent says with `use_device` (part A9; statements 105 to 113).
 */
import { z } from 'zod';
import { asBody, bodyOf, filled, lenient, optionalText } from './common.js';

/** The three fixed calls to an endpoint device, each with its budget (94, 101). */
export const ENDPOINT_CALLS = {
  telemetry: { method: 'GET', path: '/api/telemetry', budgetS: 20 },
  snapshot: { method: 'GET', path: '/api/camera/snapshot', budgetS: 10 },
  chat: { method: 'POST', path: '/api/chat', budgetS: 90 },
} as const;

/** `GET /api/devices/endpoint?deviceId=&action=` (session): telemetry unless it says snapshot. */
export const endpointQuery = z.preprocess(
  asBody,
  z.object({
    deviceId: filled('deviceId required'),
    action: lenient()
      .transform((v) => (v === undefined || v === '' ? 'telemetry' : v))
      .refine(
        (v) => v === 'telemetry' || v === 'snapshot',
        'unsupported action — use telemetry | snapshot',
      )
      .transform((v) => v as 'telemetry' | 'snapshot'),
  }),
);

/** `POST /api/devices/endpoint/chat` (session). */
export const endpointChatRequest = bodyOf({
  deviceId: filled('deviceId and prompt required'),
  prompt: filled('deviceId and prompt required'),
});
export const endpointReply = z.looseObject({ ok: z.literal(true), result: z.unknown() });

/** What the endpoint routes say: 404, 502, 503 and 504 as listed in A8. */
export const ENDPOINT_SAID = {
  unknown: 'unknown endpoint device',
  redirected: (status: number) => `device redirected (${status}) — refusing to follow`,
  unauthorized: 'device rejected our credential — re-enroll with a fresh token',
  returned: (status: number) => `device returned ${status}`,
  unreachable: (why: string) => `device unreachable: ${why}`,
  timeout: (seconds: number) => `device did not finish within ${seconds}s`,
  cancelled: 'the call was taken back before device had answered',
  notImage: (type: string) => `device returned a non-image content-type (${type || 'none'})`,
  imageTooBig: 'image exceeded 8MB',
  imageEmpty: 'device returned an empty image',
  bodyTooBig: 'answer exceeded 256KB',
  compressed: (coding: string) => `device sent a compressed answer (${coding}), which is not read`,
  unreadable: 'the stored secret can’t be read — re-enroll with a fresh token',
  busy: 'too many calls to devices are open; nothing was sent, try again',
} as const;

export const SNAPSHOT_TYPES = ['image/jpeg', 'image/png', 'image/webp'] as const;

/**
 * `POST /api/use-device` (session; our hub's HTTP face of the agent tool). `device_id` may be an
 * exact name where it is unambiguous. Waits for the reply itself, 45 s unless told otherwise.
 */
export const useDeviceRequest = bodyOf({
  action: z.enum(['list', 'invoke', 'result'], {
    error: 'action must be list | invoke | result',
  }),
  device_id: optionalText(128),
  prompt: lenient().transform((v) => (typeof v === 'string' ? v : undefined)),
  wait: lenient().transform((v) => v !== false && v !== 'false' && v !== '0' && v !== 0),
  timeout_ms: lenient().transform((v): number | undefined => {
    const number = Number(v ?? Number.NaN);
    return Number.isFinite(number) ? Math.min(600_000, Math.max(0, number)) : undefined;
  }),
  envelope_id: optionalText(128),
});

/** A device as `use_device` lists it: presence null is kept, capabilities are parsed (105). */
export const usedDevice = z.looseObject({
  id: z.string(),
  name: z.string(),
  kind: z.string(),
  platform: z.string(),
  capabilities: z.array(z.string()),
  online: z.boolean().nullable(),
  url: z.string().optional(),
  last_seen_seconds_ago: z.number().nullable(),
  superseded: z.boolean().optional(),
  current_for_name: z.boolean().optional(),
});
export const useDeviceListReply = z.looseObject({
  ok: z.literal(true),
  devices: z.array(usedDevice),
});
/** What `invoke` and `result` answer; a send that failed is never `pending` (107, 109). */
export const useDeviceReply = z.union([
  z.looseObject({
    ok: z.literal(true),
    pending: z.literal(true),
    device_id: z.string(),
    envelope_id: z.string(),
    note: z.string(),
    background: z.literal(true).optional(),
  }),
  z.looseObject({
    ok: z.literal(true),
    result: z.unknown(),
    images: z.array(z.string()).optional(),
    truncated: z.literal(true).optional(),
    device_id: z.string(),
    envelope_id: z.string(),
  }),
  z.looseObject({
    ok: z.literal(false),
    error: z.union([z.string(), z.looseObject({ code: z.string(), message: z.string() })]),
    outcome: z.string().optional(),
    device_id: z.string().optional(),
    envelope_id: z.string().optional(),
  }),
]);
