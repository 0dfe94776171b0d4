/** A hub for tests: node:http, scripted answers, and a record of what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Io, Stream } from './io.js';
import { run } from './run.js';

export interface Asked {
  method: string;
  path: string;
  token: string | undefined;
  headers: IncomingMessage['headers'];
  body: unknown;
}

export type Answer = (asked: Asked, response: ServerResponse) => void;

export interface FakeHub {
  url: string;
  asked: Asked[];
  /** By `METHOD /path`; anything else is answered 404. */
  on(route: string, answer: Answer): void;
  close(): Promise<void>;
}

export const TOKEN = `mto_${'t'.repeat(43)}`;

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

export async function fakeHub(): Promise<FakeHub> {
  const answers = new Map<string, Answer>();
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const text = Buffer.concat(parts).toString('utf8');
      const one: Asked = {
        method: request.method ?? '',
        path: request.url ?? '',
        token: request.headers.authorization?.replace(/^Bearer /, ''),
        headers: request.headers,
        body: text === '' ? undefined : JSON.parse(text),
      };
      asked.push(one);
      const answer = answers.get(`${one.method} ${one.path}`);
      if (answer === undefined) json(response, 404, { ok: false, error: 'not found' });
      else answer(one, response);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    on: (route, answer) => void answers.set(route, answer),
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

export interface TestIo extends Io {
  /** What was shown in a browser. */
  opened: string[];
  /** Types a line. */
  type(line: string): void;
  out(): string;
  err(): string;
  /** What SIGINT does. */
  interrupt(): void;
}

export function testIo(env: Record<string, string> = {}, tty = false): TestIo {
  const outs: Uint8Array[] = [];
  const errs: Uint8Array[] = [];
  const stops = new Set<() => void>();
  const opened: string[] = [];
  const typed: string[] = [];
  let reader: ((line: string | undefined) => void) | undefined;
  const line = (signal: AbortSignal): Promise<string | undefined> =>
    new Promise((done) => {
      const next = typed.shift();
      if (next !== undefined) {
        done(next);
        return;
      }
      reader = done;
      signal.addEventListener('abort', () => done(undefined));
    });
  const stream = (into: Uint8Array[]): Stream => ({
    write: (text) => void into.push(typeof text === 'string' ? Buffer.from(text) : text),
    isTTY: tty,
  });
  return {
    stdout: stream(outs),
    stderr: stream(errs),
    stdin: { isTTY: tty, line, secret: line },
    opened,
    open: (url) => void opened.push(url),
    type: (line) => {
      if (reader === undefined) typed.push(line);
      else reader(line);
      reader = undefined;
    },
    // No test may find the folder of the person who runs it.
    env: { HOME: '/nonexistent', ...env },
    now: () => 0,
    exitNow: (code) => {
      throw new Error(`exitNow(${code})`);
    },
    onStop: (run) => {
      stops.add(run);
      return () => void stops.delete(run);
    },
    out: () => Buffer.concat(outs).toString('utf8'),
    err: () => Buffer.concat(errs).toString('utf8'),
    interrupt: () => {
      for (const stop of stops) stop();
    },
  };
}

export interface Ran {
  code: number;
  out: string;
  err: string;
}

/** One command line against a hub. */
export async function cli(hub: Pick<FakeHub, 'url'> | undefined, ...argv: string[]): Promise<Ran> {
  const io = testIo(hub === undefined ? {} : { MOTEBRIDGE_URL: hub.url, MOTEBRIDGE_TOKEN: TOKEN });
  const code = await run(argv, io);
  return { code, out: io.out(), err: io.err() };
}
