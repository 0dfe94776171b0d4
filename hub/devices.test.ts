import { describe, expect, test } from 'vitest';
import { breakableStore, onCleanup, type TestHub, testHub } from './fixture.js';
import { hashOf } from './ids.js';

const login = { ok: false, error: 'login required' };
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TOKEN = /^tind_[A-Za-z0-9_-]{43}$/;

const list = async (t: TestHub, as = t.token): Promise<Record<string, unknown>[]> => {
  const { status, body } = await t.ask('GET', '/api/devices', { as });
  expect(status).toBe(200);
  return body.devices as Record<string, unknown>[];
};
const first = async (t: TestHub): Promise<Record<string, unknown>> => (await list(t))[0] ?? {};
const beat = (t: TestHub, body: object) => t.ask('POST', '/api/devices/heartbeat', { body });

async function other(t: TestHub): Promise<string> {
  return (await t.hub.createOwner('bob')).token;
}

describe('who may', () => {
  test('D1 nobody without a session lists, enrols, revokes, adopts, sends or reads', async () => {
    const t = await testHub();
    const device = await t.enrol();
    const id = await t.send(device.deviceId, { x: 1 });
    for (const as of [undefined, 'junk']) {
      const who = as === undefined ? {} : { as };
      for (const [method, url, body] of [
        ['GET', '/api/devices', undefined],
        ['POST', '/api/devices', { name: 'x' }],
        ['DELETE', '/api/devices', device],
        ['POST', '/api/devices/adopt', device],
        ['POST', '/api/devices/relay', { toDevice: device.deviceId, payload: 1 }],
        ['GET', `/api/devices/relay?inReplyTo=${id}`, undefined],
      ] as const) {
        const answer = await t.ask(method, url, { ...who, body });
        expect([answer.status, answer.body]).toEqual([401, login]);
      }
    }
    expect(await list(t)).toHaveLength(1);
    expect(await t.poll(device, 50)).toHaveLength(1);
  });

  test('D2 a junk bearer is nobody, before the body is looked at', async () => {
    const t = await testHub();
    for (const as of ['x', `mto_${'A'.repeat(43)}`, `mgw_${'A'.repeat(43)}`, 'ey.J.x']) {
      const answer = await t.ask('POST', '/api/devices', { as, text: '{"na' });
      expect([answer.status, answer.body]).toEqual([401, login]);
    }
  });

  test('D3 the owner is the one who is logged in, whatever the body says', async () => {
    const t = await testHub();
    const bob = await other(t);
    await t.ask('POST', '/api/devices', { as: bob, body: { name: 'b', userId: t.ownerId } });
    expect(await list(t)).toEqual([]);
    expect(await list(t, bob)).toHaveLength(1);
  });

  test('a session by cookie works, and counts before a bearer', async () => {
    const t = await testHub();
    const bob = await other(t);
    const bad = await t.ask('POST', '/api/login', { body: { token: 'mto_no' } });
    expect(bad.status).toBe(401);
    const answer = await t.ask('POST', '/api/login', { body: { token: t.token } });
    const header = String(answer.headers['set-cookie']);
    expect(header).toMatch(/^tiny_session=mts_.*HttpOnly.*SameSite=Lax/);
    expect(header).not.toContain('Secure');
    const cookie = header.split(';')[0] ?? '';
    const me = await t.ask('GET', '/api/me', { as: bob, headers: { cookie } });
    expect(me.body.owner).toEqual({ id: t.ownerId, name: 'ann' });
    const stale = await t.ask('GET', '/api/me', {
      as: bob,
      headers: { cookie: 'tiny_session=mts_gone' },
    });
    expect(stale.status).toBe(401);
    const foreign = await t.ask('POST', '/api/devices', {
      headers: { cookie, 'sec-fetch-site': 'cross-site' },
      body: { name: 'x' },
    });
    expect(foreign.status).toBe(401);
    await t.ask('POST', '/api/logout', { headers: { cookie } });
    expect((await t.ask('GET', '/api/me', { headers: { cookie } })).status).toBe(401);
  });

  test('a session ends after 30 days; a revoked token at once', async () => {
    const t = await testHub();
    const answer = await t.ask('POST', '/api/login', { body: { token: t.token } });
    const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? '';
    t.clock.leap(29 * 86_400_000);
    expect((await t.ask('GET', '/api/me', { headers: { cookie } })).status).toBe(200);
    t.clock.leap(86_400_000);
    expect((await t.ask('GET', '/api/me', { headers: { cookie } })).status).toBe(401);
    expect(await t.hub.revokeToken(t.token)).toBe(true);
    expect((await t.own('GET', '/api/me')).status).toBe(401);
  });
});

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
      ['toaster', 'cli'],
      [undefined, 'cli'],
    ]) {
      const { deviceId } = await t.enrol(`k-${kind}`, { kind });
      expect((await list(t)).find((row) => row.id === deviceId)?.kind).toBe(stored);
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
      const { deviceId } = await t.enrol(`d${Math.random()}`, { capabilities: given });
      const row = (await list(t)).find((one) => one.id === deviceId);
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
    expect((await list(t)).map((row) => row.name)).toEqual(['a', 'b']);
    await t.own('DELETE', '/api/devices', { deviceId: b.deviceId });
    expect((await list(t)).map((row) => row.name)).toEqual(['a']);
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

describe('revoking and adopting', () => {
  test('D21 a stranger revokes nothing; the owner may repeat it', async () => {
    const t = await testHub();
    const { deviceId } = await t.enrol();
    const bob = await other(t);
    const stranger = await t.ask('DELETE', '/api/devices', { as: bob, body: { deviceId } });
    expect(stranger.body).toEqual({ ok: true, revoked: 0 });
    for (const _ of [1, 2]) {
      const answer = await t.own('DELETE', '/api/devices', { deviceId });
      expect(answer.body).toEqual({ ok: true, revoked: 1 });
    }
    expect((await t.own('DELETE', '/api/devices', { deviceId: 'x' })).body.revoked).toBe(0);
    const missing = await t.own('DELETE', '/api/devices', {});
    expect([missing.status, missing.body.error]).toEqual([400, 'deviceId required']);
  });

  test('D22 a revoked device may do nothing any more', async () => {
    const t = await testHub();
    const device = await t.enrol();
    const id = await t.send(device.deviceId, { x: 1 });
    await t.own('DELETE', '/api/devices', { deviceId: device.deviceId });
    for (const [method, url, body] of [
      ['POST', '/api/devices/heartbeat', {}],
      ['PUT', '/api/devices/relay', {}],
      ['PATCH', '/api/devices/relay', { inReplyTo: id, payload: {} }],
      ['POST', '/api/devices/event', { kind: 'device_note' }],
      ['POST', '/api/devices/task-result', { taskId: 'a', result: 'b' }],
      ['POST', '/api/devices/transcript', { text: 'x' }],
      ['POST', '/api/media', { data: 'AAAA', contentType: 'image/png' }],
    ] as const) {
      const answer = await t.ask(method, url, { body: { ...device, ...body } });
      expect([url, answer.status]).toEqual([url, 401]);
    }
  });

  test('D24 D25 a fresh token works, the old one not, and nothing else changes', async () => {
    const t = await testHub();
    const device = await t.enrol('pi', { kind: 'daemon', capabilities: ['a'] });
    const before = await first(t);
    await t.ask('POST', '/api/devices/event', { body: { ...device, kind: 'device_note' } });
    const { deviceId } = device;
    const answer = await t.own('POST', '/api/devices/adopt', { deviceId });
    expect(answer.body).toEqual({
      ok: true,
      device_id: deviceId,
      device_token: expect.stringMatching(TOKEN),
    });
    expect((await beat(t, device)).status).toBe(401);
    expect((await beat(t, { deviceId, token: answer.body.device_token })).status).toBe(200);
    expect(await first(t)).toEqual(before);
    expect(await t.events()).toHaveLength(1);
  });

  test('D26 foreign, revoked and unknown ids get one and the same 404', async () => {
    const t = await testHub();
    const { deviceId } = await t.enrol();
    const bob = await other(t);
    const foreign = await t.ask('POST', '/api/devices/adopt', { as: bob, body: { deviceId } });
    await t.own('DELETE', '/api/devices', { deviceId });
    const revoked = await t.own('POST', '/api/devices/adopt', { deviceId });
    const unknown = await t.own('POST', '/api/devices/adopt', { deviceId: 'x' });
    expect(foreign).toMatchObject({ status: 404, body: { ok: false, error: 'device not found' } });
    expect(revoked.raw).toBe(foreign.raw);
    expect(unknown.raw).toBe(foreign.raw);
    expect((await t.own('POST', '/api/devices/adopt', {})).status).toBe(400);
  });
});

describe('heartbeats', () => {
  test('D27 D28 half a credential is 400, a wrong one is one and the same 401', async () => {
    const t = await testHub();
    const device = await t.enrol();
    for (const body of [{}, { deviceId: device.deviceId }, { token: device.token }]) {
      const answer = await beat(t, body);
      expect([answer.status, answer.body.error]).toEqual([400, 'deviceId and token required']);
    }
    const gone = await t.enrol('gone');
    await t.own('DELETE', '/api/devices', { deviceId: gone.deviceId });
    const raws = [];
    for (const body of [{ ...device, token: gone.token }, { ...device, deviceId: 'x' }, gone]) {
      const answer = await beat(t, body);
      expect(answer.status).toBe(401);
      raws.push(answer.raw);
    }
    expect(new Set(raws)).toEqual(new Set(['{"ok":false,"error":"unknown device"}']));
  });

  test('D29 absent capabilities keep, others clear, a list replaces', async () => {
    const t = await testHub();
    const device = await t.enrol('a', { capabilities: ['x'] });
    for (const [given, stored] of [
      [{}, ['x']],
      [{ capabilities: null }, ['x']],
      [{ capabilities: ['y', 'z'] }, ['y', 'z']],
      [{ capabilities: 7 }, []],
    ] as const) {
      expect((await beat(t, { ...device, ...given })).status).toBe(200);
      expect(JSON.parse(String((await first(t)).capabilities))).toEqual(stored);
    }
  });

  test('D30 D31 D32 D33 lanUrl is kept, replaced, or ignored with 200', async () => {
    const t = await testHub();
    const device = await t.enrol();
    const tell = async (lanUrl?: unknown): Promise<unknown> => {
      const answer = await beat(t, { ...device, lanUrl });
      expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
      return (await first(t)).lan_url;
    };
    expect(await tell()).toBeUndefined();
    for (const [given, stored] of [
      [' http://10.0.0.1:81/a?b#c ', 'http://10.0.0.1:81'],
      ['http://172.16.0.9', 'http://172.16.0.9'],
      ['http://169.254.3.4', 'http://169.254.3.4'],
      ['http://0300.0250.0.1', 'http://192.168.0.1'],
      ['http://3232235777', 'http://192.168.1.1'],
    ]) {
      expect(await tell(given)).toBe(stored);
    }
    for (const bad of [
      undefined,
      'https://192.168.0.1',
      'http://8.8.8.8',
      'http://127.0.0.1',
      'http://2130706433',
      'http://host.local',
      'http://[fe80::1]',
      'http://172.32.0.1',
      'http://192.168.0.256',
      'ftp://192.168.0.1',
      '',
      7,
    ]) {
      expect(await tell(bad)).toBe('http://192.168.1.1');
    }
  });

  test('D34 without a count of unread messages the field is missing, never 0', async () => {
    const t = await testHub();
    const device = await t.enrol();
    for (const wantUnread of [undefined, false, '0', 'false', true, '1']) {
      expect((await beat(t, { ...device, wantUnread })).body).toEqual({ ok: true });
    }
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
  expect(await list(t)).toHaveLength(1);
});
