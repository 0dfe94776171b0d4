/** Web push (RFC 8030, 8291, 8292) under keys of the hub's own. */
import { createECDH } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ClientRequest } from 'node:http';
import { Agent, request } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { z } from 'zod';
import { readTarget } from './endpoint/address.js';
import { metered } from './endpoint/meter.js';
import { mayBeCalled } from './endpoint/own-networks.js';
import { byDns, type Resolve } from './endpoint/resolve.js';

/** As a browser gives it: the address is a secret of the browser's, the keys are base64url. */
export interface Subscription {
  endpoint: string;
  p256dh: string;
  auth: string;
}

/** What sends to the push services of browsers. */
export interface PushSender {
  /** For browsers to subscribe with: base64url of an uncompressed P-256 point. */
  readonly publicKey: string;
  /** Undefined, or the sentence why nothing is sent to this address. */
  refuses(endpoint: string): string | undefined;
  /** Resolves with the service's status; rejects where there was none. */
  send(to: Subscription, payload: string): Promise<number>;
}

const TIMEOUT_MS = 10_000;
/** How long a service keeps a notice for a browser that is away, in seconds. */
const TTL_S = 86_400;
const ENDPOINT_MAX = 1_024;
/** What a service may send until its status is known. */
const HEAD_MAX = 64 * 1024;

const keyPair = z.object({
  publicKey: z.string().regex(/^[\w-]{87}$/),
  privateKey: z.string().regex(/^[\w-]{43}$/),
});
type KeyPair = z.infer<typeof keyPair>;

export interface WebPushOptions {
  /** Where the keys are kept; without it they end with the process, and so do subscriptions. */
  file?: string;
  /** Whom a push service may write to: `mailto:` or `https:`. */
  subject: string;
  /** Hosts that are taken though they are no public names. */
  allowed?: readonly string[];
  /** In place of one that connects to public addresses only. */
  agent?: Agent;
}

export function webPush(options: WebPushOptions): PushSender {
  const keys = options.file === undefined ? newKeys() : keysIn(options.file);
  const agent = options.agent ?? new Agent({ lookup: publicOnly(byDns()) });
  return {
    publicKey: keys.publicKey,
    refuses: (endpoint) => refusal(endpoint, options.allowed ?? []),
    async send({ endpoint, p256dh, auth }, payload) {
      if (refusal(endpoint, options.allowed ?? []) !== undefined) return 410;
      // Read when it is first needed: most hubs have no browser that subscribed.
      const { default: library } = await import('web-push');
      const to = { endpoint, keys: { p256dh, auth } };
      const vapidDetails = { subject: options.subject, ...keys };
      const said = library.generateRequestDetails(to, payload, { vapidDetails, TTL: TTL_S });
      return statusOf(said, agent);
    },
  };
}

interface Said {
  endpoint: string;
  method: string;
  headers: Record<string, string>;
  body: Buffer;
}

/**
 * Posts by itself: the library reads what a service answers to its end, which need not come, and
 * its time begins anew with each byte.
 */
function statusOf({ endpoint, method, headers, body }: Said, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = request(endpoint, {
      method,
      headers,
      agent,
      rejectUnauthorized: true,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const end = (error: Error): void => {
      reject(error);
      sent.destroy();
    };
    metered(sent, HEAD_MAX, () => end(new Error('the service sent more than an answer needs')));
    sent.on('error', end);
    sent.on('response', ({ statusCode = 0 }) => {
      resolve(statusCode);
      sent.destroy();
    });
    sent.end(body);
  });
}

function newKeys(): KeyPair {
  const pair = createECDH('prime256v1');
  const publicKey = pair.generateKeys('base64url');
  // A private key with zeros in front is told shorter, and is 32 bytes all the same.
  const bytes = pair.getPrivateKey();
  const privateKey = Buffer.concat([Buffer.alloc(32 - bytes.length), bytes]).toString('base64url');
  return { publicKey, privateKey };
}

/** Made once: with other keys every subscription would be void. Throws on a file that is none. */
function keysIn(file: string): KeyPair {
  const made = newKeys();
  try {
    writeFileSync(file, `${JSON.stringify(made)}\n`, { mode: 0o600, flag: 'wx' });
    return made;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  try {
    return keyPair.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    throw new Error(`${file} holds no keys for push; move it away, and browsers subscribe anew.`);
  }
}

/** A service has a public name under https: the hub must not be sent at its own network. */
function refusal(endpoint: string, allowed: readonly string[]): string | undefined {
  if (endpoint.length > ENDPOINT_MAX || !URL.canParse(endpoint)) return 'invalid endpoint';
  const url = new URL(endpoint);
  if (url.protocol !== 'https:') return 'endpoint must be https';
  if (url.username !== '' || url.password !== '') return 'invalid endpoint';
  const target = readTarget(endpoint, allowed);
  return typeof target === 'string' ? 'endpoint must be a public push service' : undefined;
}

/** A public name may lead to a private address all the same; the connection is to what is seen here. */
export function publicOnly(resolve: Resolve): LookupFunction {
  return (host, options, done) => {
    resolve(host, AbortSignal.timeout(TIMEOUT_MS)).then(
      (found) => {
        const all = found.map((address) => ({ address, family: isIP(address) }));
        const [first] = all;
        if (first === undefined || !found.every((one) => mayBeCalled(one))) done(notPublic(), []);
        else if (options.all === true) done(null, all);
        else done(null, first.address, first.family);
      },
      (error) => done(error, []),
    );
  };
}

const notPublic = (): Error => new Error('the name leads to an address that is not public');
