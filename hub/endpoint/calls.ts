/** The three calls to an endpoint device (wire document, part A8; statements 94 to 104). */
import type { IncomingHttpHeaders } from 'node:http';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import {
  cutText,
  ENDPOINT_CALLS,
  ENDPOINT_SAID,
  SNAPSHOT_TYPES,
  TINY_LIMITS,
} from '../../protocol/tiny.js';
import type { Secrets } from '../../store/index.js';
import type { HubClock } from '../clock.js';
import type { DeviceTable } from '../db/schema.js';
import { parseJson } from '../http/json.js';
import { Refusal } from '../refusal.js';
import { readTarget, type Target } from './address.js';
import { type DeviceAnswer, type Dial, dial } from './dial.js';
import { CallFault } from './fault.js';
import { byDns, bySystem, type Resolve } from './resolve.js';
import { without } from './secret.js';

export type EndpointCall = keyof typeof ENDPOINT_CALLS;
export type SnapshotType = (typeof SNAPSHOT_TYPES)[number];
export interface Snapshot {
  type: SnapshotType;
  bytes: Buffer;
}

export interface EndpointOptions {
  clock: HubClock;
  secrets: Secrets;
  /** Hosts that may be private: `host` or `host:port`. */
  hosts: readonly string[];
  /** The same for `fetch`, which asks for any path. */
  recordingHosts: readonly string[];
  /** PEM of an authority that is trusted for those hosts. */
  ca: string | undefined;
  resolve: Resolve | undefined;
  /** Calls of one owner that may be open at a time. */
  calls: number;
}

/** What ends a call before the device has answered. */
export interface CallLimits {
  /** Less than the call's own budget. */
  mostMs?: number | undefined;
  /** The call then rejects with a `CallFault` that says so. */
  signal?: AbortSignal | undefined;
}

/** What `head` looks at: the answer's own words about itself, without the secret. */
type Head = (status: number, headers: IncomingHttpHeaders) => ReturnType<Dial['head']>;

export class Endpoints {
  readonly hosts: readonly string[];
  readonly #options: EndpointOptions;
  /** Open calls of each owner. */
  readonly #open = new Map<string, number>();
  readonly #closing = new AbortController();
  readonly #trust: SecureContext | undefined;

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.hosts = options.hosts;
    const { ca } = options;
    // Once for all: the public authorities are some 150 certificates to read.
    this.#trust =
      ca === undefined ? undefined : createSecureContext({ ca: [...rootCertificates, ca] });
  }

  /** Sealed for this device alone. */
  seal(deviceId: string, secret: string): string {
    return this.#options.secrets.seal(secret, deviceId);
  }

  /** JSON as it is, other text cut to 8,192. Rejects with `CallFault`, or `Refusal` when busy. */
  async telemetry(device: DeviceTable, limits?: CallLimits): Promise<unknown> {
    return (await this.#text(device, 'telemetry', undefined, limits)).value;
  }

  /** Its reply, result or text, else all that it answered. */
  async chat(device: DeviceTable, prompt: string, limits?: CallLimits): Promise<unknown> {
    const body = JSON.stringify({ prompt });
    const { value } = await this.#text(device, 'chat', body, limits);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const own = (key: string): unknown =>
      Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
    return own('reply') ?? own('result') ?? own('text') ?? value;
  }

  async snapshot(device: DeviceTable, limits?: CallLimits): Promise<Snapshot> {
    let type: SnapshotType | undefined;
    const { bytes } = await this.#call(device, 'snapshot', {
      limits,
      head: (_status, headers) => {
        const said = (headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
        type = SNAPSHOT_TYPES.find((one) => one === said.toLowerCase());
        if (type === undefined) {
          throw new CallFault('failed', ENDPOINT_SAID.notImage(cutText(said, 64)));
        }
        return { most: TINY_LIMITS.snapshotBytes, tooBig: ENDPOINT_SAID.imageTooBig };
      },
    });
    if (bytes.length === 0 || type === undefined) {
      throw new CallFault('failed', ENDPOINT_SAID.imageEmpty);
    }
    return { type, bytes };
  }

  /**
   * What anybody may fetch at an address that somebody named, by the same rules as a device and
   * without a credential. Rejects with `CallFault`, `Refusal` when busy, or the signal's reason.
   */
  async fetch(
    ownerId: string,
    address: string,
    { head, signal }: Pick<Dial, 'head' | 'signal'>,
  ): Promise<DeviceAnswer> {
    const target = readTarget(address, this.#options.recordingHosts);
    if (typeof target === 'string') throw new CallFault('unreachable', target);
    const { pathname, search } = new URL(address);
    const release = this.#take(ownerId);
    try {
      return await dial({
        target,
        method: 'GET',
        path: pathname + search,
        resolve: this.#resolve(target),
        trust: this.#trust,
        signal: AbortSignal.any([signal, this.#closing.signal]),
        head: (status, headers) => {
          mustBeGood(status, headers);
          return head(status, headers);
        },
      });
    } finally {
      release();
    }
  }

  /** Ends what is open; its callers hear that nothing is known. */
  close(): void {
    const why = 'the hub is stopping';
    this.#closing.abort(new CallFault('broken', ENDPOINT_SAID.unreachable(why), why));
  }

  async #text(
    device: DeviceTable,
    call: 'telemetry' | 'chat',
    body?: string,
    limits?: CallLimits,
  ): Promise<{ value: unknown }> {
    const { bytes, secret } = await this.#call(device, call, {
      body,
      limits,
      head: () => ({
        most: TINY_LIMITS.endpointBodyBytes,
        tooBig: ENDPOINT_SAID.bodyTooBig,
      }),
    });
    const text = new TextDecoder().decode(bytes);
    const value = parseJson(text);
    if (value !== undefined) return { value: without(secret, value) };
    return { value: cutText(without(secret, text), TINY_LIMITS.endpointText) };
  }

  async #call(
    device: DeviceTable,
    call: EndpointCall,
    ask: { body?: string | undefined; limits?: CallLimits | undefined; head: Head },
  ): Promise<DeviceAnswer & { secret: string }> {
    const { method, path, budgetS } = ENDPOINT_CALLS[call];
    const { clock } = this.#options;
    const { mostMs, signal } = ask.limits ?? {};
    // The rules may have changed since it was enrolled, and the row may have been written by hand.
    const target = readTarget(device.url, this.hosts);
    if (typeof target === 'string') {
      throw new CallFault('unreachable', ENDPOINT_SAID.unreachable(target), target);
    }
    const secret = this.#secretOf(device);
    const release = this.#take(device.owner_id);
    const ending = new AbortController();
    const budgetMs = Math.min(mostMs ?? Number.POSITIVE_INFINITY, budgetS * 1000);
    const timer = clock.after(budgetMs, () =>
      ending.abort(new CallFault('timeout', ENDPOINT_SAID.timeout(budgetMs / 1000))),
    );
    try {
      const answer = await dial({
        target,
        method,
        path,
        secret,
        ...(ask.body === undefined ? {} : { body: ask.body }),
        resolve: this.#resolve(target),
        trust: this.#trust,
        signal: AbortSignal.any([
          ending.signal,
          this.#closing.signal,
          ...(signal === undefined ? [] : [signal]),
        ]),
        head: (status, headers) => {
          // Before they are cut: what is left of a secret would no longer be known for one.
          const told = without(secret, headers);
          mustBeGood(status, told);
          return ask.head(status, told);
        },
      });
      return { ...answer, secret };
    } catch (error) {
      if (signal?.aborted && error === signal.reason) {
        throw new CallFault('cancelled', ENDPOINT_SAID.cancelled);
      }
      // What the device calls its answer stands in the sentence.
      if (!(error instanceof CallFault)) throw error;
      const said = without(secret, oneLine(error.message));
      throw new CallFault(error.kind, said, error.why === error.message ? said : error.why);
    } finally {
      timer.cancel();
      release();
    }
  }

  #resolve({ allowed }: Target): Resolve {
    return this.#options.resolve ?? (allowed ? bySystem : byDns());
  }

  #secretOf(device: DeviceTable): string {
    try {
      if (device.secret !== null) return this.#options.secrets.open(device.secret, device.id);
    } catch {
      // Another key file, or a text that was changed: as good as none.
    }
    throw new CallFault('unauthorized', ENDPOINT_SAID.unreadable);
  }

  #take(ownerId: string): () => void {
    const open = this.#open.get(ownerId) ?? 0;
    if (open >= this.#options.calls) {
      throw new Refusal(503, ENDPOINT_SAID.busy, { retryable: true });
    }
    this.#open.set(ownerId, open + 1);
    return () => {
      const left = (this.#open.get(ownerId) ?? 1) - 1;
      if (left === 0) this.#open.delete(ownerId);
      else this.#open.set(ownerId, left);
    };
  }
}

function mustBeGood(status: number, headers: IncomingHttpHeaders): void {
  if (status >= 300 && status < 400) {
    throw new CallFault('failed', ENDPOINT_SAID.redirected(status));
  }
  if (status === 401 || status === 403) {
    throw new CallFault('unauthorized', ENDPOINT_SAID.unauthorized);
  }
  if (status < 200 || status >= 300) {
    throw new CallFault('failed', ENDPOINT_SAID.returned(status));
  }
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (coding !== '' && coding !== 'identity') {
    throw new CallFault('failed', ENDPOINT_SAID.compressed(cutText(coding, 32)));
  }
}

/** Header values may hold bytes that are no text. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Co}]/gu, '');
