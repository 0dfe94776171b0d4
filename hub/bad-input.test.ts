import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { depthOf, MAX_DEPTH, parseJson } from './http/json.js';
import { type TestHub, withBoard } from './hub.fixture.js';

interface Target {
  method: string;
  url: string;
  as?: string;
  /** Fields that make a body of this route good, with a place for what is hostile. */
  body: Record<string, unknown>;
}

async function targets(): Promise<{ t: TestHub; all: Target[] }> {
  // Refused for its number nothing would be looked at.
  const { t, gateway, board } = await withBoard({
    limits: { loginsPerMinute: 1e9, ownerPerMinute: 1e9, addressPerMinute: 1e9 },
  });
  const device = await t.enrol();
  const id = await t.send(device.deviceId, 1);
  const own = (method: string, path: string, body = {}): Target => ({
    method,
    url: `/api/${path}`,
    as: t.token,
    body,
  });
  const dev = (method: string, path: string, body = {}): Target => ({
    method,
    url: `/api/devices/${path}`,
    body: { ...device, ...body },
  });
  const gw = (path: string, body = {}): Target => ({
    method: 'POST',
    url: `/api/gateway/v1/${path}`,
    as: gateway.token,
    body,
  });
  const event = { kind: 'event', seq: 1, device_id: board, at: 0, boot: 1, board_seq: 1 };
  return {
    t,
    all: [
      { method: 'POST', url: '/api/login', body: { token: t.token } },
      own('POST', 'devices', { name: 'x', platform: 'x', kind: 'cli', capabilities: [] }),
      own('POST', 'devices', { name: 'x', kind: 'endpoint', url: 'x', secret: 'x' }),
      own('DELETE', 'devices', { deviceId: 'x' }),
      own('POST', 'devices/adopt', { deviceId: 'x' }),
      own('POST', 'devices/restore', { deviceId: 'x' }),
      own('POST', 'devices/relay', { toDevice: device.deviceId, payload: {} }),
      own('POST', 'devices/endpoint/chat', { deviceId: 'x', prompt: 'x' }),
      own('POST', 'media', { data: 'AAAA', contentType: 'image/png' }),
      own('POST', 'use-device', { action: 'result', envelope_id: id, device_id: 'x', prompt: 'x' }),
      own('POST', 'gateway/v1/enrol', { name: 'x' }),
      own('POST', 'auth/cli', { port: 4321, state: 'x'.repeat(32) }),
      { method: 'POST', url: '/api/auth/cli/token', body: { code: 'x', state: 'x' } },
      own('POST', 'tokens', { label: 'x', days: 1 }),
      own('DELETE', 'tokens', { id: 'x' }),
      own('POST', 'push', { endpoint: 'https://push.example/x', keys: {} }),
      own('DELETE', 'push', { endpoint: 'x' }),
      own('DELETE', 'gateway/v1/enrol', { gateway_id: 'x' }),
      dev('POST', 'heartbeat', { capabilities: [], lanUrl: 'x', wantUnread: '1' }),
      dev('PUT', 'relay', { max: 1 }),
      dev('PATCH', 'relay', { inReplyTo: id, payload: {} }),
      dev('POST', 'event', { kind: 'device_note', detail: 'x' }),
      dev('POST', 'task-result', { taskId: 'x', summary: 'x', result: 'x' }),
      dev('POST', 'transcript', { text: 'x', label: 'x', durationS: 1 }),
      dev('POST', 'messages', { op: 'send', to: 'x', body: 'x', attachments: [] }),
      dev('POST', 'messages', { op: 'thread', with: 'x', limit: 1 }),
      own('POST', 'messages', { op: 'send', to: 'x', body: 'x', attachments: [] }),
      dev('POST', 'ask', { text: 'x', audioUrl: '', tiny: '', stream: '' }),
      { method: 'PUT', url: '/api/firmware/manifest', body: { ...device, channel: 'x' } },
      own('POST', 'firmware/manifest', {
        channel: 'x',
        version: '1',
        url: 'https://fw.example/x',
        sha256: '0'.repeat(64),
        force: '',
      }),
      gw('boards', { boardId: '00000000000000aa', name: 'x', platform: 'x', capabilities: [] }),
      gw('up', { items: [{ ...event, event: 'tap', detail: {} }] }),
      gw('claim', { envelope_ids: [id] }),
      gw('reply', { replies: [{ envelope_id: id, payload: '1' }] }),
    ],
  };
}

/** Every answer is a JSON object that says ok, and never a fault of the hub. */
function sane(target: Target, answer: { status: number; body: Record<string, unknown> }): void {
  const label = `${target.method} ${target.url} ${answer.status}`;
  expect(answer.status, label).toBeGreaterThanOrEqual(200);
  expect(answer.status, label).toBeLessThan(500);
  const oks = answer.status === 200 ? [true, false] : [false];
  expect(oks, label).toContain(answer.body.ok);
  if (answer.status !== 200) expect(answer.body.error, label).toBeTruthy();
}

const surrogate = 'a\ud800b';
const hostile: unknown[] = [
  null,
  7,
  -1,
  1e308,
  true,
  '',
  ' ',
  [],
  {},
  [[[]]],
  { __proto__: null, a: 1 },
  surrogate,
  '\u0000',
  "'; DROP TABLE devices; --",
  'x'.repeat(100_000),
];

describe('every route, with bad input', () => {
  test('no body, broken JSON, other types of JSON, junk', async () => {
    const { t, all } = await targets();
    for (const target of all) {
      const ask = target.as === undefined ? {} : { as: target.as };
      sane(target, await t.ask(target.method, target.url, ask));
      for (const text of ['{', '[]', 'null', '7', '"x"', '\u0000', '{"a":1}x', '﻿{}']) {
        sane(target, await t.ask(target.method, target.url, { ...ask, text }));
      }
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'x/y; charset=junk']) {
        const headers = { 'content-type': type };
        sane(target, await t.ask(target.method, target.url, { ...ask, text: 'a=b', headers }));
      }
    }
  });

  test('every field with a value of the wrong kind', async () => {
    const { t, all } = await targets();
    for (const target of all) {
      const ask = target.as === undefined ? {} : { as: target.as };
      for (const field of Object.keys(target.body)) {
        for (const value of hostile) {
          const body = { ...target.body, [field]: value };
          sane(target, await t.ask(target.method, target.url, { ...ask, body }));
        }
      }
    }
    expect((await t.list()).length).toBeGreaterThan(0);
  });

  test('1 MiB strings, deep nesting, __proto__ and lone surrogates', async () => {
    const { t, all } = await targets();
    const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    for (const target of all) {
      const ask = target.as === undefined ? {} : { as: target.as };
      for (const field of Object.keys(target.body)) {
        const rest = JSON.stringify({ ...target.body, [field]: undefined }).slice(1, -1);
        const tail = rest === '' ? '' : `,${rest}`;
        for (const value of [
          `"${'x'.repeat(1024 * 1024)}"`,
          deep(60),
          deep(100_000),
          '{"__proto__":{"admin":true},"constructor":{"prototype":1}}',
          '"\\ud800"',
        ]) {
          const text = `{"${field}":${value}${tail}}`;
          sane(target, await t.ask(target.method, target.url, { ...ask, text }));
        }
      }
      const text = `{"__proto__":${JSON.stringify(target.body)}}`;
      const answer = await t.ask(target.method, target.url, { ...ask, text });
      sane(target, answer);
      expect(({} as { deviceId?: string }).deviceId).toBeUndefined();
    }
  });

  test('queries and paths', async () => {
    const { t } = await targets();
    for (const url of [
      '/api/devices/relay?inReplyTo=a&inReplyTo=b',
      '/api/devices/relay?inReplyTo[]=a',
      `/api/devices/relay?inReplyTo=${'x'.repeat(10_000)}`,
      '/api/events?sinceId=-1&sinceId=2',
      '/api/events?sinceId=1e999',
      '/api/devices/transcript?limit=NaN&id=',
      '/api/devices/transcript?limit=-5',
      '/api/devices/%00/readings',
      `/api/devices/${'x'.repeat(300)}/readings`,
      '/api/%ff',
      '/api/devices/ask',
      '/nowhere',
    ]) {
      const answer = await t.own('GET', url);
      expect([url, answer.status < 500]).toEqual([url, true]);
      expect(answer.body.ok).toBe(answer.status === 200);
    }
  });

  test('any JSON at all as a payload is stored as it is or refused', async () => {
    const { t } = await targets();
    const device = await t.enrol('fuzzed');
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 8 }), async (payload) => {
        const answer = await t.own('POST', '/api/devices/relay', {
          toDevice: device.deviceId,
          payload,
        });
        if (answer.status !== 200) {
          expect(answer.status).toBe(413);
          return;
        }
        const [got] = await t.poll(device, 1);
        const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
        expect(JSON.parse(got?.payload ?? '')).toEqual(JSON.parse(text));
      }),
      { numRuns: 60 },
    );
  });

  test('bytes that are no HTTP', async () => {
    const { t } = await withBoard();
    const { port } = new URL(await t.url());
    const answer = await new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect(Number(port), '127.0.0.1', () =>
        socket.write('\u0000\u0001junk\r\n\r\n'),
      );
      socket.on('data', (data) => {
        text += data.toString();
      });
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect((await t.ask('GET', '/api/health')).status).toBe(200);
  });
});

describe('how deep JSON may be', () => {
  test('brackets in texts do not count, and what is too deep is no JSON', () => {
    expect(depthOf('{"a":"[[[[{{","b":["\\"[["]}')).toBe(2);
    const nested = (levels: number) => `${'[1,'.repeat(levels)}0${']'.repeat(levels)}`;
    expect(parseJson(nested(MAX_DEPTH))).toBeDefined();
    expect(parseJson(nested(MAX_DEPTH + 1))).toBeUndefined();
    expect(parseJson('{')).toBeUndefined();
  });

  test('for any JSON it is what its structure says', () => {
    const depth = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? 1 + Math.max(0, ...Object.values(value).map(depth))
        : 0;
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(depthOf(JSON.stringify(value))).toBe(depth(value));
      }),
    );
  });
});
