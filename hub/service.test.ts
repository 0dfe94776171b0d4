import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../store/index.js';
import { tempFolder } from './cleanup.fixture.js';
import { breakableStore, testHub, withBoard } from './hub.fixture.js';
import { createHub, SchemaTooNew } from './index.js';

describe('health and documents', () => {
  test('D116 health says ok and web, and may be cached for a minute', async () => {
    const t = await testHub({ publicUrl: 'https://hub.example', siteName: 'mine' });
    const { status, body, headers } = await t.ask('GET', '/api/health');
    expect([status, body]).toEqual([
      200,
      {
        ok: true,
        service: 'web',
        sseTerminator: '[DONE]',
        siteName: 'mine',
        workerUrl: 'https://hub.example',
        workerConfigured: true,
        paymentsEnabled: false,
        gateway: { version: 1, stream: '/api/gateway/v1/stream' },
      },
    ]);
    expect(headers['cache-control']).toBe('public, max-age=60');
    const nameless = await (await testHub()).ask('GET', '/api/health');
    expect(nameless.headers['cache-control']).toBe('private, max-age=60');
  });

  test('the OpenAPI document has every route with its body and answers', async () => {
    const t = await testHub();
    const { status, body } = await t.ask('GET', '/openapi.json');
    expect(status).toBe(200);
    const paths = body.paths as Record<string, Record<string, { requestBody?: object }>>;
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    for (const route of [
      'get /api/devices',
      'post /api/devices',
      'delete /api/devices',
      'put /api/devices/relay',
      'patch /api/devices/relay',
      'post /api/use-device',
      'post /api/gateway/v1/claim',
    ]) {
      expect(routes).toContain(route);
    }
    const send = JSON.stringify(paths['/api/devices/relay']?.post);
    expect(send).toContain('"413"');
    const claim = JSON.stringify(paths['/api/gateway/v1/claim']?.post?.requestBody);
    expect(claim).toContain('envelope_ids');
  });

  test('every answer carries the headers that keep browsers from guessing', async () => {
    const t = await testHub();
    for (const url of ['/api/health', '/api/devices', '/nowhere']) {
      expect((await t.ask('GET', url)).headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      });
    }
    expect((await t.ask('GET', '/api/devices')).headers['cache-control']).toBe('no-store');
  });
});

describe('starting and stopping', () => {
  test('the first owner is made once; more tokens as they are asked for', async () => {
    const t = await testHub();
    expect(await t.hub.bootstrap()).toBeUndefined();
    expect(t.hub.owners()).toEqual([{ id: t.ownerId, name: 'ann' }]);
    const second = await t.hub.createToken(t.ownerId, 'laptop');
    expect((await t.ask('GET', '/api/me', { as: second })).status).toBe(200);
    expect(await t.hub.revokeToken('mto_unknown')).toBe(false);
  });

  test('a database of a newer version is left alone, in words', async () => {
    const file = join(tempFolder(), 'hub.db');
    await (await createHub({ databaseFile: file, mediaDir: tempFolder() })).close();
    const db = await openDatabase(file);
    await db.write((w) =>
      w.run("INSERT INTO migrations (id, name, applied_ms) VALUES (999, 'later', 0)"),
    );
    await db.close();
    const opening = createHub({ databaseFile: file, mediaDir: tempFolder() });
    await expect(opening).rejects.toThrow(SchemaTooNew);
    await expect(opening).rejects.toThrow(/999/);
  });

  test('a folder that can’t be used is an error, and leaves nothing open', async () => {
    const home = tempFolder();
    mkdirSync(join(home, 'hub.db'));
    await expect(createHub({ home })).rejects.toMatchObject({ name: 'StoreUnavailable' });
  });

  test('closing twice is one close, and nothing answers afterwards', async () => {
    const t = await testHub();
    const url = await t.url();
    await Promise.all([t.hub.close(), t.hub.close()]);
    await expect(fetch(`${url}/api/health`)).rejects.toThrow();
  });
});

test('two owners see nothing of each other', async () => {
  const { t, gateway, board } = await withBoard();
  const device = await t.enrol();
  await gateway.up({
    kind: 'event',
    device_id: board,
    boot: 1,
    board_seq: 1,
    event: 'tap',
    detail: 'mine',
  });
  await t.ask('POST', '/api/devices/transcript', { body: { ...device, text: 'mine' } });
  const as = (await t.hub.createOwner('bob')).token;
  for (const url of ['/api/devices', '/api/events', '/api/devices/transcript']) {
    const answer = await t.ask('GET', url, { as });
    expect(answer.status).toBe(200);
    expect(Object.values(answer.body)).toContainEqual([]);
  }
  expect((await t.ask('GET', `/api/devices/${board}/readings`, { as })).status).toBe(404);
  const list = await t.ask('POST', '/api/use-device', { as, body: { action: 'list' } });
  expect(list.body.devices).toEqual([]);
  for (const device_id of [board, 'eink']) {
    const body = { action: 'invoke', device_id, prompt: 'x' };
    expect((await t.ask('POST', '/api/use-device', { as, body })).status).toBe(404);
  }
});

test('nothing is answered as done before it is durable, whatever the route', async () => {
  const store = await breakableStore();
  const { t, gateway, board } = await withBoard({ database: store.database });
  const device = await t.enrol();
  const id = await t.send(device.deviceId, 1);
  store.break('full');
  for (const [method, url, body, as] of [
    ['POST', '/api/devices/heartbeat', {}],
    ['PUT', '/api/devices/relay', {}],
    ['PATCH', '/api/devices/relay', { inReplyTo: id, payload: 1 }],
    ['POST', '/api/devices/event', { kind: 'device_note' }],
    ['POST', '/api/devices/task-result', { taskId: 'x', result: 'x' }],
    ['POST', '/api/devices/transcript', { text: 'x' }],
    ['POST', '/api/media', { data: 'AAAA', contentType: 'image/png' }],
    ['DELETE', '/api/devices', {}, t.token],
    ['GET', `/api/devices/relay?inReplyTo=${id}`, undefined, t.token],
    ['GET', '/api/stream', undefined, t.token],
    ['GET', '/api/gateway/v1/stream', undefined, gateway.token],
    ['POST', '/api/login', { token: t.token }],
  ] as const) {
    const answer = await t.ask(method, url, {
      ...(as === undefined ? {} : { as }),
      body: body === undefined ? undefined : { ...device, ...body },
    });
    expect([url, answer.body.ok, answer.body.retryable]).toEqual([url, false, true]);
    expect([424, 503]).toContain(answer.status);
  }
  store.mend();
  expect(await t.read(id)).toBeNull();
  expect(await t.poll(device)).toHaveLength(1);
  expect(await t.events()).toEqual([]);
  expect(await t.row(board)).toBeDefined();
});
