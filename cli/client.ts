/** The hub over HTTP, as its owner. Everything it answers is parsed before it is believed. */
import { z } from 'zod';
import { CliError, EXIT, systemCode } from './fault.js';
import type { Target } from './target.js';
import { oneLine } from './text.js';

const MAX_JSON = 4_000_000;
const MAX_MEDIA = 16_000_000;
const QUICK_MS = 15_000;

/** Codes for refusals that are a sentence only. */
const STATUS_CODES: Readonly<Record<number, string>> = {
  400: 'bad_request',
  403: 'forbidden',
  404: 'not_found',
  413: 'too_large',
};

/** A row of `GET /api/devices`; `capabilities` travels as JSON text. */
const deviceRow = z.object({
  id: z.string(),
  name: z.string(),
  kind: z.string(),
  platform: z.string().nullish(),
  online: z.boolean().nullable(),
  capabilities: z.union([z.string(), z.array(z.string())]).nullish(),
  /** Unix seconds; null for a device that is called and never dials in. */
  last_seen: z.number().nullish(),
});
const deviceList = z.object({ devices: z.array(deviceRow) });

export interface Device {
  id: string;
  name: string;
  kind: string;
  online: boolean | null;
  capabilities: string[];
  last_seen: number | null;
}

const errorShape = z.object({
  error: z
    .union([z.string(), z.object({ code: z.string().optional(), message: z.string().optional() })])
    .optional(),
});

const invokeShape = z.object({
  ok: z.boolean(),
  result: z.unknown().optional(),
  images: z.array(z.string().max(2048)).optional(),
  truncated: z.boolean().optional(),
  pending: z.boolean().optional(),
  note: z.string().optional(),
  outcome: z.string().optional(),
  device_id: z.string().optional(),
  envelope_id: z.string().optional(),
  error: z.unknown().optional(),
});
/** A call that was not done, whatever the status beside it. */
const failureShape = z.object({ ok: z.literal(false), outcome: z.string() });
export type Invocation = z.infer<typeof invokeShape>;

export type UseDevice =
  | { action: 'invoke'; device_id: string; prompt: string; wait: boolean; timeout_ms: number }
  | { action: 'result'; envelope_id: string };

function parseCapabilities(value: string | string[] | null | undefined): string[] {
  if (Array.isArray(value)) return value;
  if (value === null || value === undefined) return [];
  try {
    const parsed: unknown = JSON.parse(value);
    return Array.isArray(parsed) ? parsed.filter((item) => typeof item === 'string') : [];
  } catch {
    return [];
  }
}

/** What an error body says, as `{code, message}`; both cleaned and short. */
export function errorOf(body: unknown, fallback: string): { code: string; message: string } {
  const parsed = errorShape.safeParse(body);
  const error = parsed.success ? parsed.data.error : undefined;
  if (typeof error === 'string') return { code: 'hub', message: oneLine(error, 400) };
  return {
    code: error?.code === undefined ? 'hub' : oneLine(error.code, 64),
    message: error?.message === undefined ? fallback : oneLine(error.message, 400),
  };
}

export class HubClient {
  constructor(
    private readonly target: Target,
    private readonly fetchIt: typeof fetch = fetch,
  ) {}

  get url(): string {
    return this.target.url;
  }

  async devices(): Promise<Device[]> {
    const body = deviceList.safeParse(await this.json('GET', '/api/devices', undefined, QUICK_MS));
    if (!body.success) throw this.unreadable();
    return body.data.devices.map((row) => ({
      id: row.id,
      name: row.name,
      kind: row.kind,
      online: row.online,
      capabilities: parseCapabilities(row.capabilities),
      last_seen: row.last_seen ?? null,
    }));
  }

  /** A call that failed on the board is an answer (`ok: false`), not an error of this client. */
  async useDevice(request: UseDevice): Promise<Invocation> {
    // Also where it is not to wait: a device that is called by its URL answers or fails at once.
    const waits = request.action === 'invoke' ? request.timeout_ms : 0;
    const body = invokeShape.safeParse(
      await this.json('POST', '/api/use-device', request, waits + QUICK_MS, true),
    );
    if (!body.success) throw this.unreadable();
    return body.data;
  }

  /** One of the account's routes, its answer parsed. */
  async ask<T>(method: string, path: string, body: unknown, shape: z.ZodType<T>): Promise<T> {
    const parsed = shape.safeParse(await this.json(method, path, body, QUICK_MS));
    if (!parsed.success) throw this.unreadable();
    return parsed.data;
  }

  async removeDevice(deviceId: string): Promise<void> {
    await this.json('DELETE', '/api/devices', { deviceId }, QUICK_MS);
  }

  /** `{ok, service, …}`; needs no token. */
  async health(timeoutMs = 5_000): Promise<unknown> {
    return this.json('GET', '/api/health', undefined, timeoutMs);
  }

  /** A picture that a reply named. Only this hub's own media are fetched, never another host's. */
  async media(reference: string): Promise<{ bytes: Uint8Array; type: string }> {
    const path = mediaPath(reference);
    if (path === undefined) {
      throw new CliError(
        'foreign_media',
        `The reply names a picture outside the hub (${oneLine(reference, 120)}), which was not fetched; open it yourself if you trust it.`,
      );
    }
    const response = await this.send('GET', path, undefined, AbortSignal.timeout(60_000));
    if (!response.ok) {
      throw new CliError(
        'media',
        `The hub answered ${response.status} for the picture ${path}; take the snapshot again.`,
      );
    }
    const bytes = await readUpTo(response, MAX_MEDIA);
    if (bytes === undefined) {
      throw new CliError('media', `The picture is over ${MAX_MEDIA} bytes and was not kept.`);
    }
    const type = (response.headers.get('content-type') ?? '').split(';')[0]?.trim() ?? '';
    return { bytes, type };
  }

  /** Opens the event stream; the body is for `watch` to read. */
  async stream(lastEventId: string | undefined, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { accept: 'text/event-stream' };
    if (lastEventId !== undefined) headers['last-event-id'] = lastEventId;
    const response = await this.send('GET', '/api/stream', undefined, signal, headers);
    if (!response.ok) throw this.refusal(response.status, await bodyOf(response));
    return response;
  }

  private async json(
    method: string,
    path: string,
    body: unknown,
    timeoutMs: number,
    failuresToo = false,
  ): Promise<unknown> {
    const response = await this.send(method, path, body, AbortSignal.timeout(timeoutMs));
    const answer = await bodyOf(response);
    if (response.ok) return answer;
    // A refused or failed call carries its outcome; the caller words it.
    if (failuresToo && failureShape.safeParse(answer).success) {
      return answer;
    }
    throw this.refusal(response.status, answer);
  }

  private async send(
    method: string,
    path: string,
    body: unknown,
    signal: AbortSignal,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    headers.authorization = `Bearer ${this.target.token}`;
    if (body !== undefined) headers['content-type'] = 'application/json';
    let response: Response;
    try {
      response = await this.fetchIt(this.target.url + path, {
        method,
        headers,
        signal,
        // The token must not follow a redirect to somewhere else.
        redirect: 'manual',
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw this.unreachable(error);
    }
    if (response.status >= 300 && response.status < 400) {
      throw new CliError(
        'redirected',
        `${this.url} sends clients elsewhere (${response.status}); set MOTEBRIDGE_URL to the hub's own address.`,
        EXIT.refused,
      );
    }
    return response;
  }

  private unreachable(error: unknown): CliError {
    const name = error instanceof Error ? error.name : '';
    const why =
      name === 'TimeoutError'
        ? 'it did not answer in time'
        : systemCode(error) || (error instanceof Error ? oneLine(error.message, 120) : 'unknown');
    return new CliError(
      'hub_unreachable',
      `No hub answers at ${this.url} (${why}); start one with \`motebridge start\`, or set MOTEBRIDGE_URL to where it runs.`,
      EXIT.unreachable,
    );
  }

  private refusal(status: number, body: unknown): CliError {
    if (status === 401) {
      return new CliError(
        'unauthorized',
        `${this.url} does not accept this token; run \`motebridge login\`, or set MOTEBRIDGE_TOKEN to the one that \`motebridge start\` prints.`,
        EXIT.refused,
      );
    }
    const { code, message } = errorOf(body, `the hub answered ${status}`);
    if (status === 429 || status >= 500) {
      return new CliError(code, `${this.url} can't answer now: ${message}; try again shortly.`);
    }
    const name = code === 'hub' ? (STATUS_CODES[status] ?? 'hub') : code;
    const way = status === 404 ? '; `motebridge devices` lists what is there' : '';
    return new CliError(
      name,
      `The hub refused: ${message.replace(/[.\s]+$/, '')}${way}.`,
      EXIT.refused,
    );
  }

  private unreadable(): CliError {
    return new CliError(
      'not_a_hub',
      `${this.url} answered, but not as a hub does; check that MOTEBRIDGE_URL names a Motebridge or tiny hub.`,
    );
  }
}

/** The `/media/…` path of a reference, absolute or not; undefined for anything else. */
export function mediaPath(reference: string): string | undefined {
  let path: string;
  try {
    path = new URL(reference, 'http://hub.invalid').pathname;
  } catch {
    return undefined;
  }
  return /^\/media\/[A-Za-z0-9._-]{1,128}$/.test(path) ? path : undefined;
}

/** The whole body, or undefined when it is longer than `max` bytes. */
async function readUpTo(response: Response, max: number): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  if (response.body === null) return new Uint8Array();
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > max) {
      await reader.cancel();
      return undefined;
    }
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The JSON of a body, or undefined for one that is too long, broken or not JSON. */
async function bodyOf(response: Response): Promise<unknown> {
  try {
    const bytes = await readUpTo(response, MAX_JSON);
    return bytes === undefined ? undefined : JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
