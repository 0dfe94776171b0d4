import { request } from 'node:https';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { endpointSecret } from '../../protocol/identity.js';
import type { EndpointDoor } from '../doors/endpoint.js';
import { TEST_TLS } from '../links/tls-fixture.js';
import { boardOfSecret } from './endpoint-secret.js';
import { type EndpointServer, startEndpointServer } from './endpoint-server.js';

let server: EndpointServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const echo: EndpointDoor = async (request) =>
  Response.json({
    path: new URL(request.url).pathname,
    auth: request.headers.get('authorization'),
    body: await request.text(),
  });

async function serve(door: EndpointDoor = echo): Promise<string> {
  server = await startEndpointServer(door, { host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${server.port}`;
}

/** Raw bytes in, everything that comes back until the server ends it. */
function raw(port: number, bytes: string): Promise<string> {
  return new Promise((done) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (data) => (text += data));
    socket.on('error', () => {});
    socket.on('close', () => done(text));
  });
}

describe('endpoint server', () => {
  test('hands path, bearer and body on, and the answer back', async () => {
    const url = await serve();
    const answer = await fetch(`${url}/api/chat?x=1`, {
      method: 'POST',
      headers: { authorization: 'Bearer s' },
      body: '{"prompt":"hi"}',
    });
    expect(await answer.json()).toEqual({
      path: '/api/chat',
      auth: 'Bearer s',
      body: '{"prompt":"hi"}',
    });
  });

  test('a body beyond 64 KiB is 413 and never reaches the door', async () => {
    let asked = 0;
    const url = await serve(async () => {
      asked += 1;
      return new Response();
    });
    const answer = await fetch(`${url}/api/chat`, { method: 'POST', body: 'x'.repeat(70_000) });
    expect([answer.status, asked]).toEqual([413, 0]);
  });

  test('other methods, odd targets and bytes that are no HTTP leave it serving', async () => {
    const url = await serve();
    const port = server?.port ?? 0;
    expect((await fetch(`${url}/api/chat`, { method: 'PUT', body: 'x' })).status).toBe(404);
    expect(await raw(port, 'GET //[ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 200.*"path":"\/\/\["/s,
    );
    expect(await raw(port, '\u0000\u0001nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400/);
    expect((await fetch(`${url}/api/telemetry`)).status).toBe(200);
  });

  test('a caller that hangs up aborts the request’s signal', async () => {
    let aborted: () => void = () => {};
    const seen = new Promise<void>((done) => (aborted = done));
    let started: () => void = () => {};
    const running = new Promise<void>((done) => (started = done));
    const url = await serve((request) => {
      started();
      return new Promise((done) => {
        request.signal.addEventListener('abort', () => {
          aborted();
          done(new Response());
        });
      });
    });
    const caller = new AbortController();
    const asked = fetch(`${url}/api/telemetry`, { signal: caller.signal }).catch(() => 'gone');
    await running;
    caller.abort();
    await seen;
    expect(await asked).toBe('gone');
  });

  test('with a certificate it speaks TLS; a certificate that is none is said at the start', async () => {
    server = await startEndpointServer(echo, { host: '127.0.0.1', port: 0, tls: TEST_TLS });
    const { port } = server;
    const status = await new Promise((done, fail) => {
      request({ host: 'localhost', port, path: '/api/telemetry', ca: TEST_TLS.cert }, (answer) => {
        answer.resume();
        done(answer.statusCode);
      })
        .on('error', fail)
        .end();
    });
    expect(status).toBe(200);
    const bad = { host: '127.0.0.1', port: 0, tls: { cert: 'no', key: 'no' } };
    await expect(startEndpointServer(echo, bad)).rejects.toThrow();
  });
});

describe('the bearer of a board', () => {
  const ID = '00112233445566aa';
  const key = new Uint8Array(16).fill(3);
  const book = { key: (id: string) => (id === ID ? key : undefined) };
  const good = endpointSecret(ID, key);

  test('opens that board, and nothing near it does', () => {
    expect(good).toMatch(/^mote_00112233445566aa_[A-Za-z0-9_-]{43}$/);
    expect(boardOfSecret(book, good)).toBe(ID);
    const other = endpointSecret('00112233445566ab', key);
    const stale = endpointSecret(ID, new Uint8Array(16).fill(4));
    for (const bad of ['', 'mote_', good.slice(0, -1), `${good}x`, other, stale]) {
      expect(boardOfSecret(book, bad)).toBeUndefined();
    }
  });

  test('of a board whose key can’t be read opens nothing', () => {
    const broken = {
      key(): Uint8Array {
        throw new Error('unreadable');
      },
    };
    expect(boardOfSecret(broken, good)).toBeUndefined();
  });
});
