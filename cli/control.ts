/**
 * The way in for `boards …`, `owners …` and `pair` while `start` runs and holds the data folder: HTTP on
 * loopback only, a route for each, with a token that only the user's own credentials file has.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { adminRequest, type BoardAdmin } from './board-admin.js';
import { CliError, EXIT, type ExitCode, systemCode } from './fault.js';
import type { Credentials } from './home.js';
import { type OwnerAdmin, ownerRequest } from './owner-admin.js';
import { type PairAdmin, pairRequest } from './pair-admin.js';

const MAX_BODY = 4_096;

export interface ControlServer {
  url: string;
  token: string;
  close(): Promise<void>;
}

/** What the running process answers for. */
export interface Admins {
  boards: BoardAdmin;
  owners: OwnerAdmin;
  pairing: PairAdmin;
}
type AdminName = keyof Admins;

const adminName = z.enum(['boards', 'owners', 'pairing']);

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

export async function startControl(admins: Admins): Promise<ControlServer> {
  const token = randomBytes(32).toString('base64url');
  const expected = digest(`Bearer ${token}`);
  const server = createServer((request, response) => {
    answer(request, response, admins, expected).catch(() => response.destroy());
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
  admins: Admins,
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
  const name = adminName.safeParse(request.url?.slice(1));
  if (request.method !== 'POST' || !name.success) {
    const message = 'There are POST /boards, POST /owners and POST /pairing.';
    say(404, { ok: false, error: { code: 'not_found', message } });
    return;
  }
  const asked = askFor(admins, name.data, await body(request));
  if (asked === undefined) {
    say(400, { ok: false, error: { code: 'bad_request', message: 'The request can’t be read.' } });
    return;
  }
  try {
    say(200, { ok: true, value: await asked() });
  } catch (error) {
    const known = error instanceof CliError;
    const message = error instanceof Error ? error.message : 'unknown error';
    const exit = known ? error.exit : EXIT.failed;
    say(200, { ok: false, error: { code: known ? error.code : 'failed', message }, exit });
  }
}

/** Undefined for a request that can't be read. */
function askFor(
  admins: Admins,
  name: AdminName,
  request: unknown,
): (() => Promise<unknown>) | undefined {
  if (name === 'boards') {
    const parsed = adminRequest.safeParse(request);
    return parsed.success ? () => admins.boards.ask(parsed.data) : undefined;
  }
  if (name === 'pairing') {
    const parsed = pairRequest.safeParse(request);
    return parsed.success ? () => admins.pairing.ask(parsed.data) : undefined;
  }
  const parsed = ownerRequest.safeParse(request);
  return parsed.success ? () => admins.owners.ask(parsed.data) : undefined;
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

/** Nothing listens there any more: the process that wrote the entry was killed. */
export class ControlGone extends Error {
  override readonly name = 'ControlGone';
}

/** Rejects with `ControlGone` where no process answers any more. */
export async function askControl(
  control: NonNullable<Credentials['control']>,
  name: AdminName,
  request: unknown,
  ms = 15_000,
): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(`${control.url}/${name}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${control.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(request),
      redirect: 'error',
      signal: AbortSignal.timeout(ms),
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
