/** One hub over HTTP: deadlines, bounded answers, and three errors that say what to do next. */
import type { z } from 'zod';
import { refusal } from '../../../protocol/tiny/common.js';
import type { Clock } from '../../core/types.js';

/** The hub does not know this credential (any more). */
export class Unauthorized extends Error {
  override readonly name = 'Unauthorized';
}

/** No usable answer: no connection, too late, too large, garbage, or a fault of the hub (5xx). */
export class HubUnreachable extends Error {
  override readonly name = 'HubUnreachable';
  constructor(
    message: string,
    /** The request may have been carried out although no answer to it was understood. */
    readonly mayHaveRun = true,
  ) {
    super(message);
  }
}

/** The hub answered and said no, for good or (5xx, `retryable`) for now. */
export class HubRefused extends Error {
  override readonly name = 'HubRefused';
  constructor(
    readonly status: number,
    /** The hub's own sentence. */
    readonly error: string,
    /** The same request may be accepted later. */
    readonly retryable: boolean,
  ) {
    super(`the hub refused (${status}): ${error}`);
  }
}

/** Whether the same request should be made again later. */
export function isTransient(error: unknown): boolean {
  return !(error instanceof HubRefused) || error.retryable;
}

/** What is used of `fetch`, so that a host without a cheap one can bring its own. */
export type Fetch = (
  url: string,
  init: {
    method: string;
    headers: Record<string, string>;
    body?: string | ArrayBuffer;
    signal: AbortSignal;
    redirect: 'error';
  },
) => Promise<HubAnswer>;

export interface HubAnswer {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: HubBody | null;
}

export interface HubBody {
  getReader(): {
    read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
  cancel(): Promise<void>;
}

export interface Ask<S extends z.ZodType> {
  method: string;
  path: string;
  query?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is. */
  raw?: { bytes: Uint8Array; contentType: string };
  /** Bearer token. */
  token?: string;
  answer: S;
  /** Milliseconds for the whole exchange, default 10,000. */
  deadlineMs?: number;
  /** Largest answer in bytes, default 1 MiB. */
  maxBytes?: number;
}

const DEADLINE_MS = 10_000;
const MAX_BYTES = 1024 * 1024;
/** Failures before the first byte went out. */
const NEVER_ARRIVED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'];
/** Statuses that pass: too early, too many, request timeout. */
const PASSING = [408, 425, 429];

export class HubClient {
  readonly base: string;
  readonly #fetch: Fetch;
  readonly #clock: Clock;

  /** @throws TypeError where `url` is no http(s) URL. */
  constructor(options: { url: string; fetch: Fetch; clock: Clock }) {
    const url = new URL(options.url);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new TypeError(`a hub's URL begins with http:// or https://, not ${url.protocol}`);
    }
    this.base = url.origin + url.pathname.replace(/\/+$/, '');
    this.#fetch = options.fetch;
    this.#clock = options.clock;
  }

  /** @throws Unauthorized, HubRefused, HubUnreachable */
  async ask<S extends z.ZodType>(ask: Ask<S>): Promise<z.output<S>> {
    const { method, path } = ask;
    const what = `${method} ${path}`;
    const deadline = ask.deadlineMs ?? DEADLINE_MS;
    const { status, text } = await this.#within(deadline, what, async (signal) => {
      const response = await this.#send(ask, signal);
      const bytes = await readCapped(response, ask.maxBytes ?? MAX_BYTES, what);
      return { status: response.status, text: new TextDecoder().decode(bytes) };
    });
    const json = parse(text);
    const no = refusal.safeParse(json);
    if (status >= 500 && !no.success) {
      throw new HubUnreachable(`${what}: the hub answered ${status}`);
    }
    if (status === 401) throw new Unauthorized(`${what}: ${no.data?.error ?? 'unauthorized'}`);
    if (status >= 400 || no.success) {
      const passes = status >= 500 || PASSING.includes(status);
      const retryable = no.data?.retryable ?? passes;
      throw new HubRefused(status, (no.data?.error ?? 'no reason given').slice(0, 300), retryable);
    }
    const read = ask.answer.safeParse(json);
    if (status < 200 || status > 299 || !read.success) {
      throw new HubUnreachable(`${what}: the hub's answer (${status}) can't be read`);
    }
    return read.data;
  }

  /**
   * Opens a stream. The deadline is for the headers; what comes after is the caller's to watch
   * and to end through `signal`.
   * @throws Unauthorized, HubRefused, HubUnreachable
   */
  async open(
    path: string,
    options: { token: string; lastEventId?: string; abort: AbortController },
  ): Promise<HubBody> {
    const what = `GET ${path}`;
    const response = await this.#within(
      DEADLINE_MS,
      what,
      () =>
        this.#fetch(this.base + path, {
          method: 'GET',
          headers: {
            accept: 'text/event-stream',
            authorization: `Bearer ${options.token}`,
            ...(options.lastEventId === undefined ? {} : { 'last-event-id': options.lastEventId }),
          },
          signal: options.abort.signal,
          redirect: 'error',
        }),
      options.abort,
    );
    const type = response.headers.get('content-type') ?? '';
    if (response.ok && response.body && type.includes('text/event-stream')) return response.body;
    await response.body?.cancel().catch(() => undefined);
    if (response.status === 401) throw new Unauthorized(`${what}: unauthorized`);
    if (response.status >= 400 && response.status < 500) {
      throw new HubRefused(response.status, 'no stream', PASSING.includes(response.status));
    }
    throw new HubUnreachable(`${what}: the hub answered ${response.status} and no stream`);
  }

  #send(ask: Ask<z.ZodType>, signal: AbortSignal): Promise<HubAnswer> {
    const headers: Record<string, string> = { accept: 'application/json' };
    if (ask.token !== undefined) headers.authorization = `Bearer ${ask.token}`;
    let body: string | ArrayBuffer | undefined;
    if (ask.raw) {
      headers['content-type'] = ask.raw.contentType;
      body = ask.raw.bytes.slice().buffer;
    } else if (ask.body !== undefined) {
      headers['content-type'] = 'application/json';
      body = JSON.stringify(ask.body);
    }
    const query = ask.query ? `?${new URLSearchParams(ask.query)}` : '';
    // A redirect would carry the credential in the body to wherever it points.
    return this.#fetch(this.base + ask.path + query, {
      method: ask.method,
      headers,
      ...(body === undefined ? {} : { body }),
      signal,
      redirect: 'error',
    });
  }

  /** Runs `work` with a deadline that holds even where `fetch` does not mind its signal. */
  async #within<T>(
    ms: number,
    what: string,
    work: (signal: AbortSignal) => Promise<T>,
    abort = new AbortController(),
  ): Promise<T> {
    let tooLate: (error: Error) => void = () => undefined;
    const late = new Promise<never>((_, reject) => {
      tooLate = reject;
    });
    late.catch(() => undefined);
    const timer = this.#clock.after(ms, () => {
      tooLate(new HubUnreachable(`${what}: no answer within ${ms / 1000} s`));
      abort.abort();
    });
    try {
      return await Promise.race([work(abort.signal), late]);
    } catch (error) {
      if (error instanceof HubUnreachable) throw error;
      const { why, code } = causeOf(error);
      throw new HubUnreachable(`${what}: ${why}`, !NEVER_ARRIVED.includes(code));
    } finally {
      timer.cancel();
    }
  }
}

/** Node hides the cause of a failed fetch one level down. */
function causeOf(error: unknown): { why: string; code: string } {
  if (!(error instanceof Error)) return { why: 'the request failed', code: '' };
  const { cause } = error;
  if (!(cause instanceof Error)) return { why: error.message, code: '' };
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  return { why: `${error.message} (${cause.message || code})`, code };
}

async function readCapped(response: HubAnswer, max: number, what: string): Promise<Uint8Array> {
  const reader = response.body?.getReader();
  if (!reader) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done || !value) break;
    size += value.length;
    if (size > max) {
      await reader.cancel().catch(() => undefined);
      throw new HubUnreachable(`${what}: the hub's answer is larger than ${max} bytes`);
    }
    chunks.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
