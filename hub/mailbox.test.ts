import { describe, expect, test } from 'vitest';
import { RELAY_OUTCOMES, type RelayOutcomeCode } from '../protocol/tiny.js';
import { StoreUnavailable } from '../store/index.js';
import { breakableStore, type TestHub, withDevice } from './hub.fixture.js';
import { relayRefusal } from './mailbox.js';
import { sendRefusal } from './routes/relay.js';

const send = (t: TestHub, toDevice: unknown, payload: unknown, as = t.token) =>
  t.ask('POST', '/api/devices/relay', { as, body: { toDevice, payload } });
describe('sending', () => {
  test('D35 8,192 UTF-16 units are taken and 8,193 refused, multi-byte or not', async () => {
    const { t, device } = await withDevice();
    for (const letter of ['a', 'é', '漢']) {
      const fits = JSON.stringify(letter.repeat(8190));
      expect((await send(t, device.deviceId, fits)).status).toBe(200);
      const over = await send(t, device.deviceId, JSON.stringify(letter.repeat(8191)));
      expect([over.status, over.body]).toEqual([
        413,
        { ok: false, error: expect.any(String), delivered: 'no', retryable: false },
      ]);
    }
    expect((await send(t, device.deviceId, JSON.stringify('😀'.repeat(4095)))).status).toBe(200);
    expect((await send(t, device.deviceId, JSON.stringify('😀'.repeat(4096)))).status).toBe(413);
  });

  test('D36 a text must be JSON; objects are taken; a missing payload is null', async () => {
    const { t, device } = await withDevice();
    for (const bad of ['', 'hello', '{', "{'a':1}"]) {
      expect((await send(t, device.deviceId, bad)).status).toBe(413);
    }
    for (const good of ['{"a":1}', { a: 1 }, [1], 7, undefined]) {
      expect((await send(t, device.deviceId, good)).status).toBe(200);
    }
    const got = await t.poll(device);
    expect(got.map((m) => m.payload)).toEqual(['{"a":1}', '{"a":1}', '[1]', '7', 'null']);
  });

  test('D37 a fault of the payload is told before one of the device', async () => {
    const { t } = await withDevice();
    expect((await send(t, 'nobody', 'no json')).status).toBe(413);
    const missing = await send(t, undefined, 'no json');
    expect([missing.status, missing.body]).toEqual([
      400,
      { ok: false, error: 'toDevice required', delivered: 'no', retryable: false },
    ]);
  });

  test('D38 unknown, foreign and revoked devices get one and the same 404', async () => {
    const { t, device } = await withDevice();
    const bob = (await t.hub.createOwner('bob')).token;
    const foreign = await send(t, device.deviceId, 1, bob);
    await t.own('DELETE', '/api/devices', { deviceId: device.deviceId });
    const revoked = await send(t, device.deviceId, 1);
    const unknown = await send(t, 'nobody', 1);
    expect([foreign.status, foreign.body]).toEqual([
      404,
      { ok: false, error: 'device not found', delivered: 'no', retryable: false },
    ]);
    expect(revoked.raw).toBe(foreign.raw);
    expect(unknown.raw).toBe(foreign.raw);
  });

  test('D39 D40 each outcome has its status, delivered and retryable', () => {
    const table: Record<RelayOutcomeCode, [number, string, boolean]> = {
      no_such_device: [404, 'no', false],
      too_big: [413, 'no', false],
      bad_request: [400, 'no', false],
      server_key: [424, 'no', false],
      relay_fault: [424, 'unknown', true],
      unreachable: [424, 'unknown', true],
      no_envelope: [424, 'unknown', false],
    };
    expect(Object.keys(RELAY_OUTCOMES).sort()).toEqual(Object.keys(table).sort());
    for (const [code, [status, delivered, retryable]] of Object.entries(table)) {
      const refused = relayRefusal(code as RelayOutcomeCode, 'x');
      expect(refused).toMatchObject({ status, flags: { code, delivered, retryable } });
    }
  });

  test('D39 D41 a failing store is one of the outcomes, never a 5xx nor a login problem', async () => {
    expect(sendRefusal(new StoreUnavailable('full')).flags.code).toBe('relay_fault');
    expect(sendRefusal(new StoreUnavailable('io')).flags.code).toBe('relay_fault');
    expect(sendRefusal(new StoreUnavailable('locked')).flags.code).toBe('unreachable');
    expect(sendRefusal(new RangeError('bug')).flags.code).toBe('relay_fault');
    const store = await breakableStore();
    const { t, device } = await withDevice({ database: store.database });
    store.break('full');
    const answer = await send(t, device.deviceId, 1);
    expect([answer.status, answer.body]).toEqual([
      424,
      { ok: false, error: expect.any(String), delivered: 'unknown', retryable: true },
    ]);
    expect(answer.raw).not.toMatch(/log ?in/i);
    store.mend();
    expect(await t.poll(device)).toEqual([]);
  });

  test('a body beyond the cap is 413 with the outcome, a mailbox that is full 400', async () => {
    const { t, device } = await withDevice({ limits: { waiting: 2 } });
    const big = await send(t, device.deviceId, 'x'.repeat(1_100_000));
    expect([big.status, big.body.delivered]).toEqual([413, 'no']);
    await t.send(device.deviceId, 1);
    await t.send(device.deviceId, 2);
    const full = await send(t, device.deviceId, 3);
    expect([full.status, full.body.retryable]).toEqual([400, false]);
  });
});

describe('polling and answering', () => {
  test('D42 oldest first, each envelope at most once over concurrent polls', async () => {
    const { t, device } = await withDevice();
    const sent: string[] = [];
    for (let i = 0; i < 60; i++) sent.push(await t.send(device.deviceId, { i }));
    const polls = await Promise.all([1, 2, 3, 4].map(() => t.poll(device, 500)));
    expect(polls.map((p) => p.length).sort((a, b) => b - a)).toEqual([50, 10, 0, 0]);
    const got = polls.flat().map((m) => m.id);
    expect(new Set(got).size).toBe(60);
    for (const one of polls) {
      const order = one.map((m) => sent.indexOf(m.id));
      expect(order).toEqual([...order].sort((a, b) => a - b));
    }
    expect(await t.poll(device)).toEqual([]);
  });

  test('D43 max is 10 by default and from 1 to 50; junk is 10', async () => {
    const { t, device } = await withDevice();
    for (const [max, count] of [
      [undefined, 10],
      ['junk', 10],
      [0, 1],
      [-5, 1],
      [3, 3],
      [500, 50],
    ] as const) {
      for (let i = 0; i < 55; i++) await t.send(device.deviceId, i);
      expect(await t.poll(device, max)).toHaveLength(count);
      while ((await t.poll(device, 50)).length > 0);
    }
  });

  test('D44 a device never sees what is for another one', async () => {
    const { t, device } = await withDevice();
    const sibling = await t.enrol('sibling');
    await t.send(device.deviceId, 1);
    expect(await t.poll(sibling)).toEqual([]);
    const wrong = await t.ask('PUT', '/api/devices/relay', {
      body: { deviceId: device.deviceId, token: sibling.token },
    });
    expect([wrong.status, wrong.body]).toEqual([401, { ok: false, error: 'unauthorized' }]);
    const half = await t.ask('PUT', '/api/devices/relay', { body: { token: 'x' } });
    expect(half.body.error).toBe('deviceId and token required');
    expect(await t.poll(device)).toHaveLength(1);
  });

  test('D45 D48 an unknown, foreign or sibling’s envelope is not found', async () => {
    const { t, device } = await withDevice();
    const sibling = await t.enrol('sibling');
    const id = await t.send(device.deviceId, 1);
    const bob = (await t.hub.createOwner('bob')).token;
    const made = await t.ask('POST', '/api/devices', { as: bob, body: { name: 'b' } });
    const foreign = { deviceId: made.body.device_id, token: made.body.device_token };
    for (const [who, ref] of [
      [device, 'unknown'],
      [sibling, id],
      [foreign, id],
    ] as const) {
      const answer = await t.reply(who, ref, {});
      expect([answer.status, answer.body]).toEqual([
        424,
        { ok: false, error: 'envelope not found' },
      ]);
    }
    expect(await t.read(id)).toBeNull();
  });

  test('D46 the owner reads the reply again and again, others read null', async () => {
    const { t, device } = await withDevice();
    const id = await t.send(device.deviceId, 1);
    expect(await t.read(id)).toBeNull();
    expect((await t.reply(device, id, { result: 'hi' })).status).toBe(200);
    expect(await t.read(id)).toBe('{"result":"hi"}');
    const again = await t.own('GET', `/api/devices/relay?inReplyTo=${id}`);
    expect(again.headers['cache-control']).toBe('no-store');
    expect(again.body.reply).toMatchObject({ created_at: expect.any(Number) });
    expect(await t.read(id, (await t.hub.createOwner('bob')).token)).toBeNull();
  });

  test('D47 a second reply is refused and never changes what is read; the same one is fine', async () => {
    const { t, device } = await withDevice();
    const id = await t.send(device.deviceId, 1);
    expect((await t.reply(device, id, { n: 1 })).status).toBe(200);
    expect((await t.reply(device, id, { n: 2 })).status).toBe(409);
    expect((await t.reply(device, id, { n: 1 })).status).toBe(200);
    expect(await t.read(id)).toBe('{"n":1}');
  });

  test('D47 of replies at the same moment one wins', async () => {
    const { t, device } = await withDevice();
    const id = await t.send(device.deviceId, 1);
    const answers = await Promise.all([1, 2, 3, 4].map((n) => t.reply(device, id, { n })));
    expect(answers.map((a) => a.status).sort()).toEqual([200, 409, 409, 409]);
    const winner = answers.findIndex((a) => a.status === 200) + 1;
    expect(await t.read(id)).toBe(JSON.stringify({ n: winner }));
  });

  test('D49 a reply can’t be answered', async () => {
    const { t, device } = await withDevice();
    const id = await t.send(device.deviceId, 1);
    await t.reply(device, id, 1);
    const { body } = await t.own('GET', `/api/devices/relay?inReplyTo=${id}`);
    const reply = body.reply as { id: string };
    expect((await t.reply(device, reply.id, 1)).body.error).toBe('envelope not found');
  });

  test('D50 a reply may be an object or a text of JSON, within 8,192', async () => {
    const { t, device } = await withDevice();
    for (const [payload, read] of [
      [{ result: 'é' }, '{"result":"é"}'],
      ['{"result": 1}', '{"result": 1}'],
    ] as const) {
      const id = await t.send(device.deviceId, 1);
      expect((await t.reply(device, id, payload)).status).toBe(200);
      expect(await t.read(id)).toBe(read);
    }
    const id = await t.send(device.deviceId, 1);
    for (const bad of ['no json', '', JSON.stringify('x'.repeat(8191))]) {
      const answer = await t.reply(device, id, bad);
      expect([answer.status, answer.body.error]).toEqual([424, 'payload must be valid JSON ≤8KB']);
    }
    const half = await t.ask('PATCH', '/api/devices/relay', { body: device });
    expect([half.status, half.body.error]).toEqual([400, 'deviceId, token, inReplyTo required']);
  });

  test('D51 replies are readable after the device was revoked', async () => {
    const { t, device } = await withDevice();
    const id = await t.send(device.deviceId, 1);
    await t.reply(device, id, 1);
    await t.own('DELETE', '/api/devices', { deviceId: device.deviceId });
    expect(await t.read(id)).toBe('1');
  });

  test('D52 reading without inReplyTo is refused', async () => {
    const { t } = await withDevice();
    for (const url of ['/api/devices/relay', '/api/devices/relay?inReplyTo=']) {
      const answer = await t.own('GET', url);
      expect([answer.status, answer.body.error]).toEqual([400, 'inReplyTo required']);
    }
  });
});
