import { describe, expect, test } from 'vitest';
import { onCleanup } from './cleanup.fixture.js';
import { breakableStore, type TestHub, testHub } from './hub.fixture.js';
import { hashOf } from './ids.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TOKEN = /^tind_[A-Za-z0-9_-]{43}$/;

const first = async (t: TestHub): Promise<Record<string, unknown>> => (await t.list())[0] ?? {};
const beat = (t: TestHub, body: object) => t.ask('POST', '/api/devices/heartbeat', { body });

describe('enrolment', () => {
  test('D4 a name that is blank or missing is refused', async () => {
    const t = await testHub();
    for (const name of [undefined, '', '  \t', 7, null, ['x']]) {
      const answer = await t.own('POST', '/api/devices', { name });
      expect([answer.status, answer.body]).toEqual([400, { ok: false, error: 'name required' }]);
    }
  });

  test('D5 a body that is no JSON counts as an empty one', async () => {
    const t = await testHub();
    for (const text of ['{', 'nul', '[]', '"x"', '7', '', '{"name":"x"', '\u0000']) {
      const answer = await t.ask('POST', '/api/devices', { as: t.token, text });
      expect([answer.status, answer.body.error]).toEqual([400, 'name required']);
      expect((await t.ask('POST', '/api/devices', { text })).status).toBe(401);
    }
  });

  test('D6 name and platform are cut to 64 and 32', async () => {
    const t = await testHub();
    await t.enrol(`  ${'n'.repeat(70)}  `, { platform: 'p'.repeat(40) });
    expect(await first(t)).toMatchObject({ name: 'n'.repeat(64), platform: 'p'.repeat(32) });
  });

  test('D7 an unknown kind is stored as cli, endpoint only where it is exactly that', async () => {
    const t = await testHub();
    for (const [kind, stored] of [
      ['daemon', 'daemon'],
      ['browser', 'browser'],
      ['Endpoint', 'cli'],
      [' endpoint ', 'cli'],
      [['endpoint'], 'cli'],
      [' daemon', 'cli'],
      ['toaster', 'cli'],
      [undefined, 'cli'],
    ] as const) {
      const { deviceId } = await t.enrol(`k-${kind}`, { kind });
      expect((await t.list()).find((row) => row.id === deviceId)?.kind).toBe(stored);
    }
    const endpoint = await t.own('POST', '/api/devices', { name: 'e', kind: 'endpoint' });
    expect(endpoint.status).toBe(424);
  });

  test('D8 D14 capabilities are a JSON list as text, within 32 entries of 32', async () => {
    const t = await testHub();
    const many = Array.from({ length: 40 }, (_, i) => `c${i}-${'x'.repeat(40)}`);
    for (const [given, stored] of [
      [many, many.slice(0, 32).map((c) => c.slice(0, 32))],
      ['["a","b"]', ['a', 'b']],
      ['not json', []],
      [{ a: 1 }, []],
      [undefined, []],
    ] as const) {
      const { deviceId } = await t.enrol(`given ${JSON.stringify(given)}`, { capabilities: given });
      const row = (await t.list()).find((one) => one.id === deviceId);
      expect(typeof row?.capabilities).toBe('string');
      expect(JSON.parse(String(row?.capabilities))).toEqual(stored);
    }
  });

  test('D8 escape-heavy capabilities still are whole JSON within 2,048', async () => {
    const t = await testHub();
    await t.enrol('q', { capabilities: Array.from({ length: 32 }, () => '"'.repeat(32)) });
    const text = String((await first(t)).capabilities);
    expect(text.length).toBeLessThanOrEqual(2048);
    expect(Array.isArray(JSON.parse(text))).toBe(true);
  });

  test('D9 D10 D11 a token is told once, differs each time, and is kept as its hash', async () => {
    const { database } = await breakableStore();
    const t = await testHub({ database });
    const one = await t.enrol('one');
    const two = await t.enrol('two');
    expect(one.deviceId).toMatch(UUID);
    for (const { token } of [one, two]) expect(token).toMatch(TOKEN);
    expect(one.token).not.toBe(two.token);
    const names = database.read((r) =>
      r.all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'"),
    );
    const dump = names
      .map(({ name }) => JSON.stringify(database.read((r) => r.all(`SELECT * FROM "${name}"`))))
      .join();
    for (const secret of [one.token, two.token, t.token]) {
      expect(dump).not.toContain(secret);
      expect(dump).toContain(hashOf(secret));
    }
    const listed = await t.own('GET', '/api/devices');
    expect(listed.raw).not.toContain('tind_');
    expect(listed.raw).not.toContain(hashOf(one.token));
  });

  test('D12 a new device is online, at 59 s still, at 60 s not', async () => {
    const t = await testHub();
    await t.enrol();
    expect((await first(t)).online).toBe(true);
    t.clock.advance(59_000);
    expect((await first(t)).online).toBe(true);
    t.clock.advance(1_000);
    expect((await first(t)).online).toBe(false);
  });

  test('D13 the newest seen comes first, revoked rows do not come', async () => {
    const t = await testHub();
    const a = await t.enrol('a');
    t.clock.advance(1_000);
    const b = await t.enrol('b');
    t.clock.advance(1_000);
    await beat(t, a);
    expect((await t.list()).map((row) => row.name)).toEqual(['a', 'b']);
    await t.own('DELETE', '/api/devices', { deviceId: b.deviceId });
    expect((await t.list()).map((row) => row.name)).toEqual(['a']);
  });

  test('D15 lan_url is told only while the device is there', async () => {
    const t = await testHub();
    const device = await t.enrol();
    await beat(t, { ...device, lanUrl: 'http://192.168.1.5:8080/x?y' });
    expect((await first(t)).lan_url).toBe('http://192.168.1.5:8080');
    t.clock.advance(60_000);
    expect(await first(t)).not.toHaveProperty('lan_url');
  });

  test('D16 D20 the limit counts live rows; revoking frees one, re-keying needs none', async () => {
    const t = await testHub({ limits: { devices: 20 } });
    const devices = [];
    for (let i = 0; i < 20; i++) devices.push(await t.enrol(`d${i}`));
    const over = await t.own('POST', '/api/devices', { name: 'one more' });
    expect([over.status, over.body.error]).toEqual([
      424,
      'device limit reached (20) — revoke one first',
    ]);
    await t.own('DELETE', '/api/devices', { deviceId: devices[0]?.deviceId });
    await t.enrol('one more');
    expect((await t.own('POST', '/api/devices', { name: 'again' })).status).toBe(424);
    t.clock.advance(60_000);
    const rekeyed = await t.own('POST', '/api/devices', { name: 'd5' });
    expect(rekeyed.body).toMatchObject({ device_id: devices[5]?.deviceId, adopted: true });
  });

  test('D16 enrolments at the same moment do not pass the limit together', async () => {
    const t = await testHub({ limits: { devices: 3 } });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => t.own('POST', '/api/devices', { name: `d${i}` })),
    );
    expect(answers.filter((a) => a.status === 200)).toHaveLength(3);
  });

  test('D17 a stale row of the same name is re-keyed: same id, old token dead', async () => {
    const t = await testHub();
    const old = await t.enrol('pi', { platform: 'linux', capabilities: ['a'] });
    t.clock.advance(60_000);
    const seen = (await first(t)).last_seen;
    const again = await t.own('POST', '/api/devices', { name: 'pi', kind: 'daemon' });
    expect(again.body).toMatchObject({ device_id: old.deviceId, adopted: true });
    expect(await first(t)).toMatchObject({
      platform: '',
      kind: 'daemon',
      capabilities: '[]',
      last_seen: seen,
    });
    expect((await beat(t, old)).status).toBe(401);
    expect((await beat(t, { ...old, token: again.body.device_token })).status).toBe(200);
  });

  test('D17 the name is compared as it is stored', async () => {
    const t = await testHub();
    const long = 'x'.repeat(80);
    const old = await t.enrol(long);
    t.clock.advance(60_000);
    expect((await t.enrol(`${long}y`)).deviceId).toBe(old.deviceId);
  });

  test('D18 D19 a live or a revoked row of the same name is left alone', async () => {
    const t = await testHub();
    const live = await t.enrol('pi');
    const second = await t.enrol('pi');
    expect(second.deviceId).not.toBe(live.deviceId);
    for (const { deviceId } of [live, second]) await t.own('DELETE', '/api/devices', { deviceId });
    t.clock.advance(60_000);
    const third = await t.enrol('pi');
    expect([live.deviceId, second.deviceId]).not.toContain(third.deviceId);
  });
});

test('D23 a store that is down gives 503 and retryable, never an empty list', async () => {
  const store = await breakableStore();
  const t = await testHub({ database: store.database });
  const device = await t.enrol();
  onCleanup(() => store.mend());
  store.break('io');
  for (const [method, url, body] of [
    ['GET', '/api/devices', undefined],
    ['POST', '/api/devices', { name: 'x' }],
    ['POST', '/api/devices/adopt', device],
  ] as const) {
    const answer = await t.own(method, url, body);
    expect([answer.status, answer.body]).toEqual([
      503,
      { ok: false, error: expect.any(String), retryable: true },
    ]);
  }
  const pulse = await beat(t, device);
  expect([pulse.status, pulse.body.error]).toEqual([424, 'registry unreachable']);
  expect((await t.own('GET', '/api/events')).status).toBe(502);
  store.mend();
  expect(await t.list()).toHaveLength(1);
});
