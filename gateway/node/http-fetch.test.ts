import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTls } from 'node:https';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HubBody } from '../doors/relay/client.js';
import { TEST_TLS } from '../links/tls-fixture.js';
import { type HttpFetch, httpFetch } from './http-fetch.js';

type Handler = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

let handler: Handler;
let http: HttpFetch;
let server: Server;
let connections: number;

const handle: Handler = (incoming, outgoing) => handler(incoming, outgoing);

async function listen(one: Server): Promise<number> {
  await new Promise<void>((done) => one.listen(0, '127.0.0.1', done));
  const address = one.address();
  return typeof address === 'object' && address ? address.port : 0;
}

let url: string;
beforeEach(async () => {
  connections = 0;
  server = createServer(handle);
  server.on('connection', () => (connections += 1));
  url = `http://127.0.0.1:${await listen(server)}/at?q=1`;
  http = httpFetch();
});

afterEach(async () => {
  http.close();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

function ask(to = url, signal = new AbortController().signal, body?: string | ArrayBuffer) {
  return http.fetch(to, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-own': 'yes' },
    ...(body === undefined ? {} : { body }),
    signal,
    redirect: 'error',
  });
}

async function textOf(body: HubBody | null): Promise<string> {
  const reader = body?.getReader();
  const parts: Uint8Array[] = [];
  for (let read = await reader?.read(); read?.value; read = await reader?.read()) {
    parts.push(read.value);
  }
  return Buffer.concat(parts).toString('utf8');
}

const echo: Handler = async (incoming, outgoing) => {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  const { method, url: path, headers } = incoming;
  const said = { method, path, own: headers['x-own'], length: headers['content-length'] };
  outgoing.writeHead(201, { 'X-Kind': 'echo' });
  outgoing.end(JSON.stringify({ ...said, body: Buffer.concat(parts).toString('utf8') }));
};

test('method, headers and body go out, status, headers and body come back', async () => {
  handler = echo;
  const answer = await ask(url, undefined, 'grüße');
  expect(answer).toMatchObject({ ok: true, status: 201 });
  expect(answer.headers.get('x-kind')).toBe('echo');
  expect(answer.headers.get('X-KIND')).toBe('echo');
  expect(answer.headers.get('x-none')).toBeNull();
  const sent = { method: 'POST', path: '/at?q=1', own: 'yes', length: '7', body: 'grüße' };
  expect(JSON.parse(await textOf(answer.body))).toEqual(sent);
  const bytes = await ask(url, undefined, new TextEncoder().encode('bytes').buffer);
  expect(JSON.parse(await textOf(bytes.body))).toMatchObject({ length: '5', body: 'bytes' });
});

test('one request after another goes over connections that are kept', async () => {
  handler = echo;
  for (let i = 0; i < 5; i++) await textOf((await ask()).body);
  // The next one may begin a moment before the first connection counts as free.
  expect(connections).toBeLessThanOrEqual(2);
});

test('an answer is read while it comes, and a large one no faster than it is asked for', async () => {
  const open = new Promise<ServerResponse>((resolve) => {
    handler = (_incoming, outgoing) => {
      outgoing.write('data: 1\n\n');
      resolve(outgoing);
    };
  });
  const answer = await ask();
  const reader = answer.body?.getReader();
  const next = async () => Buffer.from((await reader?.read())?.value ?? []).toString();
  expect(await next()).toBe('data: 1\n\n');
  const outgoing = await open;
  outgoing.write('data: 2\n\n');
  expect(await next()).toBe('data: 2\n\n');
  const size = 32 * 1024 * 1024;
  expect(outgoing.write(Buffer.alloc(size))).toBe(false);
  outgoing.end();
  let got = 0;
  for (let read = await reader?.read(); !read?.done; read = await reader?.read()) {
    const length = read?.value?.length ?? 0;
    expect(length).toBeLessThanOrEqual(1024 * 1024);
    got += length;
  }
  expect(got).toBe(size);
});

test('an answer that is cut off is an error, not an end', async () => {
  handler = (_incoming, outgoing) => {
    outgoing.writeHead(200, { 'content-length': '10' });
    outgoing.write('half', () => outgoing.destroy());
  };
  const answer = await ask();
  await expect(textOf(answer.body)).rejects.toThrow(new TypeError('terminated'));
});

test('its signal ends a request before, while it waits, and while its answer comes', async () => {
  const why = new Error('no longer wanted');
  await expect(ask(url, AbortSignal.abort(why))).rejects.toBe(why);
  expect(connections).toBe(0);

  const waiting = new AbortController();
  const gone = new Promise<void>((resolve) => {
    handler = (_incoming, outgoing) => {
      outgoing.on('close', resolve);
      waiting.abort(why);
    };
  });
  await expect(ask(url, waiting.signal)).rejects.toBe(why);
  await gone;

  const reading = new AbortController();
  const closed = new Promise<void>((resolve) => {
    handler = (_incoming, outgoing) => {
      outgoing.on('close', resolve);
      outgoing.write('first');
    };
  });
  const reader = (await ask(url, reading.signal)).body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  const rest = reader?.read();
  reading.abort(why);
  await expect(rest).rejects.toBe(why);
  await closed;
});

test('cancelling the body ends its connection', async () => {
  const closed = new Promise<void>((resolve) => {
    handler = (_incoming, outgoing) => {
      outgoing.on('close', resolve);
      outgoing.write('first');
    };
  });
  await (await ask()).body?.cancel();
  await closed;
});

test('no connection is a TypeError with Node’s error as its cause', async () => {
  const free = createServer();
  const unused = await listen(free);
  await new Promise((done) => free.close(done));
  const error = await ask(`http://127.0.0.1:${unused}/`).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TypeError);
  expect(error).toMatchObject({ message: 'fetch failed', cause: { code: 'ECONNREFUSED' } });
});

test('a redirect is refused and not followed', async () => {
  let asked = 0;
  handler = (_incoming, outgoing) => {
    asked += 1;
    outgoing.writeHead(307, { location: '/elsewhere' });
    outgoing.end();
  };
  await expect(ask()).rejects.toMatchObject({ cause: { message: 'unexpected redirect' } });
  expect(asked).toBe(1);
});

test('TLS: who signed the certificate has to be trusted', async () => {
  handler = echo;
  const tls = createTls({ key: TEST_TLS.key, cert: TEST_TLS.cert }, handle);
  const to = `https://localhost:${await listen(tls)}/`;
  const error = await ask(to).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    message: 'fetch failed',
    cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
  });
  http.close();
  http = httpFetch({ ca: TEST_TLS.cert });
  expect((await ask(to)).status).toBe(201);
  tls.closeAllConnections();
  await new Promise((done) => tls.close(done));
});
