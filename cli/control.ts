/**
 * The way in for `boards …` while `start` runs and holds the journal: HTTP on loopback only, one
 * route, with a token that only the user's own credentials file has.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AdminRequest, adminRequest, type BoardAdmin } from './board-admin.js';
import { CliError, EXIT, type ExitCode, systemCode } from './fault.js';
import type { Credentials } from './home.js';

const MAX_BODY = 4_096;

export interface ControlServer {
  url: string;
  token: string;
  close(): Promise<void>;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

export async function startControl(admin: BoardAdmin): Promise<ControlServer> {
  const token = randomBytes(32).toString('base64url');
  const expected = digest(`Bearer ${token}`);
  const server = createServer((request, response) => {
    answer(request, response, admin, expected).catch(() => response.destroy());
  });
  server.requestTimeout = 5_000;
  await new Promise<void>((done, fail) => {
    server.once('error', fail);
    server.listen(0, '127.0.0.1', done);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    token,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  admin: BoardAdmin,
  expected: Buffer,
): Promise<void> {
  const say = (status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(body));
  };
  if (!timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) {
    say(401, {
      ok: false,
      error: { code: 'unauthorized', message: 'This token is not valid here.' },
    });
    return;
  }
  if (request.method !== 'POST' || request.url !== '/boards') {
    say(404, { ok: false, error: { code: 'not_found', message: 'There is only POST /boards.' } });
    return;
  }
  const parsed = adminRequest.safeParse(await body(request));
  if (!parsed.success) {
    say(400, { ok: false, error: { code: 'bad_request', message: 'The request can’t be read.' } });
    return;
  }
  try {
    say(200, { ok: true, value: await admin.ask(parsed.data) });
  } catch (error) {
    const known = error instanceof CliError;
    const message = error instanceof Error ? error.message : 'unknown error';
    const exit = known ? error.exit : EXIT.failed;
    say(200, { ok: false, error: { code: known ? error.code : 'failed', message }, exit });
  }
}

/** The JSON of a small body; undefined for anything else. */
async function body(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    if (!Buffer.isBuffer(part)) return undefined;
    size += part.length;
    if (size > MAX_BODY) return undefined;
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Rejects with `ControlGone` where no process answers any more. */
export function controlAdmin(control: NonNullable<Credentials['control']>): BoardAdmin {
  return { ask: (request) => ask(control, request) };
}

/** Nothing listens there any more: the process that wrote the entry was killed. */
export class ControlGone extends Error {
  override readonly name = 'ControlGone';
}

async function ask(
  control: NonNullable<Credentials['control']>,
  request: AdminRequest,
): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(`${control.url}/boards`, {
      method: 'POST',
      headers: { authorization: `Bearer ${control.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(request),
      redirect: 'error',
      signal: AbortSignal.timeout(15_000),
    });
  } catch (error) {
    if (systemCode(error) === 'ECONNREFUSED') throw new ControlGone();
    throw new CliError(
      'control',
      'The running Motebridge does not answer; look at its output, or stop it and try again.',
      EXIT.unreachable,
    );
  }
  // Another program may have that port by now: it does not know the token.
  if (response.status === 401 || response.status === 404) throw new ControlGone();
  return answeredValue(await response.json().catch(() => undefined));
}

function answeredValue(answered: unknown): unknown {
  if (typeof answered === 'object' && answered !== null && 'ok' in answered) {
    if (answered.ok === true && 'value' in answered) return answered.value;
    if ('error' in answered && typeof answered.error === 'object' && answered.error !== null) {
      const { code, message } = answered.error as { code?: unknown; message?: unknown };
      const exit = 'exit' in answered ? answered.exit : undefined;
      const known = Object.values(EXIT).find((value): value is ExitCode => value === exit);
      throw new CliError(String(code), String(message), known ?? EXIT.failed);
    }
  }
  throw new CliError('control', 'The running Motebridge gave no readable answer; try again.');
}
