import { describe, expect, test } from 'vitest';
import { breakableStore, type TestHub, testHub } from './hub.fixture.js';

const TOKEN = /^tind_[A-Za-z0-9_-]{43}$/;

const first = async (t: TestHub): Promise<Record<string, unknown>> => (await t.list())[0] ?? {};
const beat = (t: TestHub, body: object) => t.ask('POST', '/api/devices/heartbeat', { body });

async function other(t: TestHub): Promise<string> {
  return (await t.hub.createOwner('bob')).token;
}

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

  test('D34 where unread messages can’t be counted the field is missing, never 0', async () => {
    const { database } = await breakableStore();
    const t = await testHub({ database });
    const device = await t.enrol();
    expect((await beat(t, { ...device, wantUnread: true })).body).toEqual({ ok: true, unread: 0 });
    await database.write((w) => w.run('DROP TABLE messages'));
    for (const wantUnread of [undefined, false, '0', 'false', true, '1']) {
      expect((await beat(t, { ...device, wantUnread })).body).toEqual({ ok: true });
    }
  });
});
