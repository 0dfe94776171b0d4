import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { onCleanup } from './cleanup.fixture.js';
import { type TestHub, testHub } from './hub.fixture.js';

async function statuses(times: number, ask: () => Promise<{ status: number }>): Promise<number[]> {
  const all = [];
  for (let i = 0; i < times; i++) all.push((await ask()).status);
  return all;
}

describe('how often', () => {
  it('an owner over the limit hears 429 and when to come again; other owners do not', async () => {
    const t = await testHub({ limits: { ownerPerMinute: 3 } });
    const bob = (await t.hub.createOwner('bob')).token;
    const me = (as = t.token) => t.ask('GET', '/api/me', { as });
    expect(await statuses(3, me)).toEqual([200, 200, 200]);
    t.clock.leap(20_000);
    const over = await me();
    expect([over.status, over.headers['retry-after']]).toEqual([429, '40']);
    expect(over.body).toEqual({
      ok: false,
      error: 'too many requests from this owner; nothing was done, try again in 40 s',
      retryable: true,
    });
    const send = { toDevice: 'x', payload: 1 };
    const relay = await t.own('POST', '/api/devices/relay', send);
    expect([relay.status, relay.body.delivered, relay.body.retryable]).toEqual([429, 'no', true]);
    expect((await me(bob)).status).toBe(200);
    // A wall clock that is set neither lifts the limit nor draws it out.
    t.clock.setWall(3_600_000);
    expect((await me()).status).toBe(429);
    t.clock.leap(40_000);
    expect((await me()).status).toBe(200);
  });

  it('an address is limited before it is known who asks', async () => {
    const t = await testHub({ limits: { addressPerMinute: 2 } });
    const junk = () => t.ask('GET', '/api/devices', { as: 'junk' });
    expect(await statuses(3, junk)).toEqual([401, 401, 429]);
    expect((await t.own('GET', '/api/me')).status).toBe(429);
  });

  it('tries of a secret share a limit of their own', async () => {
    const t = await testHub({ limits: { loginsPerMinute: 2 } });
    const body = { token: 'mto_x', code: 'x', state: 'x' };
    const login = () => t.ask('POST', '/api/login', { body });
    const token = () => t.ask('POST', '/api/auth/cli/token', { body });
    expect(
      [await login(), await token(), await token(), await login()].map((a) => a.status),
    ).toEqual([401, 401, 429, 429]);
    expect((await t.ask('POST', '/auth/sign-in', { body })).status).toBe(429);
    expect((await t.own('GET', '/api/me')).status).toBe(200);
  });

  it('devices and gateways may ask as often as they like', async () => {
    const limits = { ownerPerMinute: 4, addressPerMinute: 4, loginsPerMinute: 1 };
    const t = await testHub({ limits });
    const device = await t.enrol();
    const gateway = await t.gateway();
    const beat = () => t.ask('POST', '/api/devices/heartbeat', { body: device });
    expect(new Set(await statuses(20, beat))).toEqual(new Set([200]));
    expect(new Set(await statuses(20, () => gateway.up()))).toEqual(new Set([200]));
  });

  it('behind a proxy of this machine each address is counted by itself', async () => {
    const t = await testHub({ limits: { addressPerMinute: 1 } });
    const from = (address: string) =>
      t.ask('GET', '/api/me', { as: t.token, headers: { 'x-forwarded-for': address } });
    expect((await from('198.51.100.1')).status).toBe(200);
    expect((await from('198.51.100.1')).status).toBe(429);
    expect((await from('198.51.100.2')).status).toBe(200);
  });
});

describe('connections', () => {
  async function open(t: TestHub): Promise<{ socket: Socket; closed: Promise<string> }> {
    const socket = connect(Number(new URL(await t.url()).port), '127.0.0.1');
    onCleanup(() => void socket.destroy());
    let heard = '';
    socket.on('data', (data) => {
      heard += String(data);
    });
    const closed = new Promise<string>((done) => {
      socket.on('error', () => {});
      socket.on('close', () => done(heard));
    });
    await new Promise((done) => socket.once('connect', done));
    return { socket, closed };
  }

  it('over the limit are closed at once, and the others go on', async () => {
    const t = await testHub({ limits: { connections: 1 } });
    const first = await open(t);
    const second = await open(t);
    expect(await second.closed).toBe('');
    first.socket.write('GET /api/health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(await first.closed).toContain('"service":"web"');
  });

  it('that never finish their headers are ended', async () => {
    const t = await testHub({ limits: { headersMs: 100 } });
    const slow = await open(t);
    slow.socket.write('GET /api/health HTTP/1.1\r\nx-slow: ');
    expect(await slow.closed).toContain('408 Request Timeout');
  });
});

describe('headers', () => {
  it('that guard a browser stand on every answer, streams and unreadable paths too', async () => {
    const t = await testHub();
    const guards = (answer: { headers: Record<string, unknown> }) =>
      expect(answer.headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      });
    for (const url of ['/api/health', '/nowhere', '/%zz', '/media/x'])
      guards(await t.ask('GET', url));
    const stop = new AbortController();
    const headers = { authorization: `Bearer ${t.token}` };
    const stream = await fetch(`${await t.url()}/api/stream`, { headers, signal: stop.signal });
    guards({ headers: Object.fromEntries(stream.headers) });
    stop.abort();
  });
});
