/**
 * One HTTPS request to an endpoint device: to an address that was looked up and checked here, and
 * to no other. No redirect is followed, no proxy is asked, and nothing of it outlives the call.
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { SecureContext } from 'node:tls';
import { ENDPOINT_SAID } from '../../protocol/tiny.js';
import type { Target } from './address.js';
import { CallFault } from './fault.js';
import { type Meter, metered } from './meter.js';
import { mayBeCalled } from './own-networks.js';
import type { Resolve } from './resolve.js';

export interface Dial {
  target: Target;
  method: 'GET' | 'POST';
  path: string;
  /** Undefined for what anybody may fetch. */
  secret?: string;
  /** JSON. */
  body?: string;
  resolve: Resolve;
  /** Trusts an authority beside the public ones; used for allowed hosts only. */
  trust: SecureContext | undefined;
  /** Ends the call; its reason is what the call then rejects with. */
  signal: AbortSignal;
  /** Looks at the head of the answer: the most bytes to read of its body, or throws. */
  head(status: number, headers: IncomingHttpHeaders): { most: number; tooBig: string };
}

/** Bytes that may come before the answer's body, and beside it: the head, and what frames chunks. */
const BESIDE_BODY = 64 * 1024;

export interface DeviceAnswer {
  headers: IncomingHttpHeaders;
  bytes: Buffer;
}

/** Rejects with `CallFault`, or with what `head` threw. */
export async function dial(call: Dial): Promise<DeviceAnswer> {
  const { signal } = call;
  signal.throwIfAborted();
  let stop = (): void => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    // Not every resolver can be called back, so the deadline does not wait for it.
    const addresses = await Promise.race([addressesOf(call), stopped]);
    return await Promise.race([exchange(call, addresses), stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

const unreachable = (why: string): CallFault =>
  new CallFault('unreachable', ENDPOINT_SAID.unreachable(why), why);
const broken = (why: string): CallFault =>
  new CallFault('broken', ENDPOINT_SAID.unreachable(why), why);

/** Looked up anew for each call; one address that is not public condemns the name. */
async function addressesOf({ target, resolve, signal }: Dial): Promise<string[]> {
  if (isIP(target.host) !== 0) return [target.host];
  const found = await resolve(target.host, signal).catch((error) => {
    throw unreachable(wordsOf(error));
  });
  const addresses = found.filter((address) => isIP(address) !== 0);
  if (addresses.length === 0) throw unreachable('its name has no address');
  if (!target.allowed && !addresses.every((one) => mayBeCalled(one))) {
    throw unreachable('its name leads to an address that is not public');
  }
  return addresses;
}

function exchange(call: Dial, addresses: readonly string[]): Promise<DeviceAnswer> {
  const { target, method, path, secret, body, trust, signal } = call;
  return new Promise((resolve, reject) => {
    let spoken = false;
    let answered = false;
    const agent = new Agent({ keepAlive: false, maxCachedSessions: 0 });
    const sent: ClientRequest = request({
      agent,
      host: target.host,
      port: target.port,
      method,
      path,
      lookup: pinned(addresses),
      ...(isIP(target.host) === 0 ? { servername: target.host } : {}),
      // Said aloud, so that no variable of the environment can switch it off.
      rejectUnauthorized: true,
      ...(target.allowed && trust !== undefined ? { secureContext: trust } : {}),
      signal,
      headers: {
        host: target.origin.slice('https://'.length),
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
        accept: '*/*',
        'accept-encoding': 'identity',
        'user-agent': 'motebridge',
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      },
    });
    const fail = (error: unknown): void => {
      reject(error);
      sent.destroy();
    };
    const failed = (error: unknown): void => {
      const why = wordsOf(error);
      fail(spoken ? broken(why) : unreachable(why));
    };
    const meter = metered(sent, BESIDE_BODY, () => {
      fail(broken('it sent far more than an answer needs'));
    });
    sent.on('socket', (socket) => {
      socket.once('secureConnect', () => {
        spoken = true;
      });
    });
    sent.on('error', failed);
    sent.on('close', () => {
      // An answer's own end says how it ended.
      if (!answered) failed({ code: 'ECONNRESET' });
    });
    sent.on('upgrade', () => fail(new CallFault('failed', ENDPOINT_SAID.returned(101))));
    sent.on('response', (answer) => {
      answered = true;
      readBody(call, answer, meter).then((read) => {
        resolve(read);
        sent.destroy();
      }, fail);
    });
    sent.end(body);
  });
}

/** Whatever name is asked for, the answer is what was checked. */
function pinned(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_name, options, done) => {
    const [first] = all;
    if (options.all) done(null, all);
    else done(null, first?.address ?? '', first?.family);
  };
}

/** The whole body, or a rejection: part of an answer is never taken for one. */
function readBody(call: Dial, answer: IncomingMessage, meter: Meter): Promise<DeviceAnswer> {
  return new Promise((resolve, reject) => {
    const { headers, statusCode = 0 } = answer;
    const { most, tooBig } = call.head(statusCode, headers);
    meter.grant(2 * most);
    const length = headers['content-length'];
    if (Number(length ?? 0) > most) throw new CallFault('failed', tooBig);
    const coding = headers['transfer-encoding']?.trim().toLowerCase() ?? '';
    const chunked = coding === 'chunked';
    // Chunks of what is compressed, say: read as they are, they would be taken for the answer.
    if (coding !== '' && !chunked) throw broken('its answer is coded in a way that is not read');
    if (length === undefined && !chunked && statusCode !== 204) {
      throw broken('its answer has neither a length nor an end, so a broken one would not be seen');
    }
    const parts: Buffer[] = [];
    let size = 0;
    answer.on('data', (part: Buffer) => {
      size += part.length;
      if (size > most) reject(new CallFault('failed', tooBig));
      else parts.push(part);
    });
    answer.on('end', () => {
      if (answer.complete) resolve({ headers, bytes: Buffer.concat(parts) });
    });
    answer.on('error', () => reject(broken('its answer broke off')));
    answer.on('close', () => reject(broken('its answer broke off')));
  });
}

const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'its name is unknown',
  EAI_AGAIN: 'its name can’t be looked up now',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection broke',
  EPIPE: 'the connection broke',
  ETIMEDOUT: 'the connection could not be made',
  EHOSTUNREACH: 'there is no way to it',
  ENETUNREACH: 'there is no way to it',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  CERT_HAS_EXPIRED: 'its certificate has expired',
};

/** Never the error's own message, which may hold addresses and what the device wrote. */
function wordsOf(error: unknown): string {
  const code = error instanceof Object && 'code' in error ? String(error.code) : '';
  const known = WORDS[code];
  if (known !== undefined) return known;
  if (/CERT|SIGNATURE|ISSUER/.test(code)) return `its certificate is not trusted (${code})`;
  if (code.startsWith('HPE_')) return 'its answer is not HTTP';
  return /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'the call failed';
}
