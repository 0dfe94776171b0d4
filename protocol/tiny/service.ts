/** Login of a command line, health, firmware (wire document, parts A10 to A12; 114 to 116). */
import { z } from 'zod';
import { healthGateway } from '../gateway-api.js';
import { asBody, bodyOf, credential, filled, isOn, lenient } from './common.js';

export const CLI_STATE = /^[A-Za-z0-9_-]{16,128}$/;
export const CLI_CODE_S = 300;

export const AUTH_SAID = {
  port: 'invalid port',
  state: 'invalid state',
  required: 'code and state required',
  expired: 'code expired or invalid',
  mismatch: 'state mismatch',
} as const;

/** `POST /api/auth/cli` (session): a phone gives `scheme` in place of a port. */
export const authCliRequest = z.preprocess(
  asBody,
  z
    .object({
      port: lenient().transform((v) => {
        const number = typeof v === 'string' && v.trim() !== '' ? Number(v) : v;
        return typeof number === 'number' ? number : undefined;
      }),
      state: z.string({ error: AUTH_SAID.state }).regex(CLI_STATE, AUTH_SAID.state),
      scheme: lenient().transform((v) => (v === 'tinyapp' ? v : undefined)),
    })
    .refine(
      ({ port, scheme }) =>
        scheme !== undefined ||
        (port !== undefined && Number.isInteger(port) && port >= 1024 && port <= 65_535),
      AUTH_SAID.port,
    ),
);
export const authCliReply = z.looseObject({ ok: z.literal(true), redirect: z.string() });

/** `POST /api/auth/cli/token`: a code works once (ours), for five minutes, bound to its state. */
export const authTokenRequest = bodyOf({
  code: filled(AUTH_SAID.required),
  state: filled(AUTH_SAID.required),
});
export const authTokenReply = z.looseObject({
  ok: z.literal(true),
  token: z.string(),
  user: z.looseObject({
    id: z.union([z.string(), z.number()]),
    login: z.string(),
    name: z.string().nullable(),
    avatar: z.string().nullable(),
  }),
  expires: z.number(),
});

/** `GET /api/health`, cacheable 60 s (116). `gateway` stands where `/api/gateway/v1` is served. */
export const healthReply = z.looseObject({
  ok: z.literal(true),
  service: z.literal('web'),
  sseTerminator: z.string().optional(),
  siteName: z.string().optional(),
  workerUrl: z.string().optional(),
  workerConfigured: z.boolean().optional(),
  paymentsEnabled: z.boolean().optional(),
  gateway: healthGateway.optional(),
});
export type HealthReply = z.infer<typeof healthReply>;

export const FIRMWARE_CHANNEL = /^[a-z0-9][a-z0-9_-]{0,31}$/;
export const SHA256_HEX = /^[0-9a-f]{64}$/;

const versionParts = (version: string): bigint[] | undefined =>
  /^v?\d{1,32}(\.\d{1,32}){0,15}$/.test(version)
    ? version.replace(/^v/, '').split('.').map(BigInt)
    : undefined;

/**
 * Below 0 where `a` is the lower version, 0 where they are the same (`1.2` is `1.2.0`), above 0
 * where it is the higher one. Undefined where either is anything but numbers and points: then
 * nobody may call it newer.
 */
export function compareVersions(a: string, b: string): number | undefined {
  const [left, right] = [versionParts(a), versionParts(b)];
  if (!left || !right) return undefined;
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const [x, y] = [left[i] ?? 0n, right[i] ?? 0n];
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
}

/** An https address without user, password and fragment, at most 512 units. */
function isBundleUrl(text: string): boolean {
  if (text.length > 512 || !URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return protocol === 'https:' && username + password + hash === '';
}

/**
 * `POST /api/firmware/manifest` (session, ours). 400 also where the host is not one that the hub
 * trusts with firmware; 409 for a version that is lower, or can't be compared, unless forced.
 */
export const firmwarePublish = bodyOf({
  channel: filled('channel required').refine((c) => FIRMWARE_CHANNEL.test(c), 'invalid channel'),
  version: filled('version required').refine(
    (v) => v.length <= 128 && /^[\x21-\x7e]+$/.test(v),
    'version must be at most 128 characters without blanks',
  ),
  url: filled('url required').refine(isBundleUrl, 'url must be https:// and ≤512 chars'),
  sha256: filled('sha256 required')
    .transform((hash) => hash.toLowerCase())
    .refine((hash) => SHA256_HEX.test(hash), 'sha256 must be 64 hex digits'),
  force: lenient().transform(isOn),
});
export type FirmwarePublish = z.infer<typeof firmwarePublish>;

/** `PUT /api/firmware/manifest` (device). */
export const firmwareRequest = bodyOf({
  ...credential('deviceId, token and channel required'),
  channel: filled('deviceId, token and channel required').refine(
    (channel) => FIRMWARE_CHANNEL.test(channel),
    'invalid channel',
  ),
});
export const firmwareReply = z.looseObject({
  ok: z.literal(true),
  bundle: z
    .looseObject({
      version: z.string().max(128),
      url: z.string(),
      sha256: z.string().regex(SHA256_HEX),
      updated_at: z.number(),
      force: z.literal('1').optional(),
    })
    .nullable(),
});
