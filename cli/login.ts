/**
 * The command line's side of the consent login (wire document, part A10): a state, a listener on
 * loopback for the code, and the exchange of the code for a token.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { authTokenReply, healthReply } from '../protocol/tiny.js';
import { errorOf } from './client.js';
import { CliError, EXIT, systemCode, usage } from './fault.js';

/** How long it waits for the owner, in milliseconds. */
export const LOGIN_MS = 300_000;
const ASK_MS = 15_000;

export const newState = (): string => randomBytes(24).toString('base64url');

/**
 * Plain http lets everyone on the way read the token, so it is taken on this machine and on
 * addresses of a local network only. Throws a usage error.
 */
export function mayLogInAt(base: string): void {
  const url = new URL(base);
  if (url.protocol === 'https:' || isLocal(url.hostname)) return;
  throw usage(`${base} is plain http on a public address; log in over https://.`);
}

function isLocal(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost') || host.endsWith('.local')) return true;
  if (host === '[::1]' || /^\[f[cd]/.test(host) || /^\[fe[89ab]/.test(host)) return true;
  const octets = /^(\d+)\.(\d+)\.\d+\.\d+$/.exec(host);
  if (!octets) return false;
  const [a, b] = [Number(octets[1]), Number(octets[2])];
  return (
    a === 127 ||
    a === 10 ||
    (a === 172 && b >= 16 && b <= 31) ||
    (a === 192 && b === 168) ||
    (a === 169 && b === 254)
  );
}

export interface Callback {
  port: number;
  /** Resolves with the code that the hub sent the browser here with. */
  code: Promise<string>;
  close(): Promise<void>;
}

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  connection: 'close',
};

function say(response: ServerResponse, status: number, words: string): void {
  response.writeHead(status, PAGE_HEADERS);
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Motebridge</title><p>${words}</p>`,
  );
}

/** Listens on 127.0.0.1 alone, on a free port. */
export async function listenForCode(state: string): Promise<Callback> {
  let found: (code: string) => void = () => {};
  const code = new Promise<string>((done) => {
    found = done;
  });
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (url.pathname !== '/callback' || request.method !== 'GET') {
      say(response, 404, 'There is nothing here.');
      return;
    }
    const given = url.searchParams.get('code');
    if (!sameState(url.searchParams.get('state'), state) || given === null || given === '') {
      say(response, 400, 'This answer belongs to another login, and was not taken.');
      return;
    }
    say(response, 200, 'You are logged in. You can close this page.');
    found(given);
  });
  server.requestTimeout = 5_000;
  await new Promise<void>((done, fail) => {
    server.once('error', fail);
    server.listen(0, '127.0.0.1', done);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    code,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeIdleConnections();
      }),
  };
}

function sameState(given: string | null, state: string): boolean {
  const [a, b] = [Buffer.from(given ?? ''), Buffer.from(state)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** From what a person pasted: the address that the browser ended at, or the code by itself. */
export function pastedCode(text: string, state: string): string | undefined {
  const trimmed = text.trim();
  if (/^[\w.-]{16,4096}$/.test(trimmed)) return trimmed;
  let url: URL;
  try {
    url = new URL(trimmed);
  } catch {
    return undefined;
  }
  if (!sameState(url.searchParams.get('state'), state)) return undefined;
  return url.searchParams.get('code') ?? undefined;
}

/** Rejects where no hub answers at `base`, before anybody is sent to a browser. */
export async function mustBeHub(base: string): Promise<void> {
  const response = await request(base, '/api/health', undefined);
  const health = healthReply.safeParse(await response.json().catch(() => undefined));
  if (response.ok && health.success) return;
  throw new CliError(
    'not_a_hub',
    `${base} answered, but not as a hub does; give the address of a Motebridge or tiny hub.`,
  );
}

export interface LoggedIn {
  token: string;
  user: { id: string; name: string };
  /** Unix seconds. */
  expires: number;
}

export async function exchange(base: string, code: string, state: string): Promise<LoggedIn> {
  const response = await request(base, '/api/auth/cli/token', { code, state });
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) {
    const { message } = errorOf(body, `it answered ${response.status}`);
    throw new CliError(
      'login_refused',
      `The hub gave no token: ${message}; run \`motebridge login\` again.`,
      EXIT.refused,
    );
  }
  const parsed = authTokenReply.safeParse(body);
  if (!parsed.success) {
    throw new CliError('not_a_hub', `${base} answered the login in a way that can't be read.`);
  }
  const { token, user, expires } = parsed.data;
  return { token, user: { id: String(user.id), name: user.name ?? user.login }, expires };
}

async function request(base: string, path: string, body: unknown): Promise<Response> {
  try {
    return await fetch(base + path, {
      // The code must not follow a redirect to somewhere else.
      redirect: 'error',
      signal: AbortSignal.timeout(ASK_MS),
      ...(body === undefined
        ? {}
        : {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(body),
          }),
    });
  } catch (error) {
    const why = systemCode(error) || 'it did not answer';
    throw new CliError(
      'hub_unreachable',
      `No hub answers at ${base} (${why}), so nobody was logged in; check the address.`,
      EXIT.unreachable,
    );
  }
}
