/** Web push (RFC 8030, 8291, 8292) under keys of the hub's own. */
import { createECDH } from 'node:crypto';
import { lookup } from 'node:dns';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import type { LookupFunction } from 'node:net';
import { z } from 'zod';
import { readTarget } from './endpoint/address.js';
import { isPublicAddress } from './endpoint/public-address.js';

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
  const agent = options.agent ?? new Agent({ lookup: publicOnly });
  return {
    publicKey: keys.publicKey,
    refuses: (endpoint) => refusal(endpoint, options.allowed ?? []),
    async send({ endpoint, p256dh, auth }, payload) {
      if (refusal(endpoint, options.allowed ?? []) !== undefined) return 410;
      // Read when it is first needed: most hubs have no browser that subscribed.
      const { default: library } = await import('web-push');
      try {
        const to = { endpoint, keys: { p256dh, auth } };
        const answer = await library.sendNotification(to, payload, {
          vapidDetails: { subject: options.subject, ...keys },
          TTL: TTL_S,
          timeout: TIMEOUT_MS,
          agent,
        });
        return answer.statusCode;
      } catch (error) {
        if (error instanceof library.WebPushError) return error.statusCode;
        throw error;
      }
    },
  };
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
export const publicOnly: LookupFunction = (host, options, done) => {
  lookup(host, { ...options, all: true }, (error, found) => {
    const [first] = found ?? [];
    const fault =
      error ??
      (first && found.every(({ address }) => isPublicAddress(address)) ? null : notPublic());
    if (fault !== null || first === undefined) done(fault ?? notPublic(), []);
    else if (options.all === true) done(null, found);
    else done(null, first.address, first.family);
  });
};

const notPublic = (): Error => new Error('the name leads to an address that is not public');
