import { describe, expect, test } from 'vitest';
import { type TestHub, testHub } from './hub.fixture.js';

const login = { ok: false, error: 'login required' };

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
    expect(await t.list()).toHaveLength(1);
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
    expect(await t.list()).toEqual([]);
    expect(await t.list(bob)).toHaveLength(1);
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
    for (const [name, value] of [
      ['sec-fetch-site', 'cross-site'],
      ['origin', 'https://x.example'],
    ] as const) {
      const told = { headers: { [name]: value }, body: { token: bob } };
      const lured = await t.ask('POST', '/api/login', told);
      expect([lured.status, lured.headers['set-cookie']]).toEqual([403, undefined]);
    }
    const foreign = await t.ask('POST', '/api/devices', {
      headers: { cookie, 'sec-fetch-site': 'cross-site' },
      body: { name: 'x' },
    });
    expect(foreign.status).toBe(401);
    await t.ask('POST', '/api/logout', { headers: { cookie } });
    expect((await t.ask('GET', '/api/me', { headers: { cookie } })).status).toBe(401);
  });

  test('a session ends with the token that opened it', async () => {
    const t = await testHub();
    const made = await t.own('POST', '/api/tokens', { label: 'guest', days: 1 });
    const answer = await t.ask('POST', '/api/login', { body: { token: made.body.token } });
    const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? '';
    const me = async () => (await t.ask('GET', '/api/me', { headers: { cookie } })).status;
    t.clock.leap(86_399_000);
    expect(await me()).toBe(200);
    t.clock.leap(1_000);
    expect(await me()).toBe(401);
  });

  test('who logs out is told nothing more on streams that are open', async () => {
    const t = await testHub();
    const answer = await t.ask('POST', '/api/login', { body: { token: t.token } });
    const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? '';
    const stream = await fetch(`${await t.url()}/api/stream`, { headers: { cookie } });
    expect((await t.ask('POST', '/api/logout', { headers: { cookie } })).status).toBe(200);
    expect(await stream.text()).toMatch(/^retry/);
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
