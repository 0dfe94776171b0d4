import { describe, expect, it } from 'vitest';
import { type Answer, breakableStore, type TestHub, testHub } from './hub.fixture.js';

const STATE = 'a-state_of-32-characters-AAAAAAA';
const ORIGIN = 'http://localhost:80';
const PAGE = `/auth/cli?port=4321&state=${STATE}`;

const consent = (t: TestHub, body: object, as = t.token) =>
  t.ask('POST', '/api/auth/cli', { as, body });
const exchange = (t: TestHub, code: unknown, state: unknown = STATE) =>
  t.ask('POST', '/api/auth/cli/token', { body: { code, state } });

function codeOf(answer: Answer): string {
  expect(answer.status).toBe(200);
  return new URL(String(answer.body.redirect)).searchParams.get('code') ?? '';
}

async function cookieOf(t: TestHub): Promise<string> {
  const answer = await t.ask('POST', '/api/login', { body: { token: t.token } });
  return String(answer.headers['set-cookie']).split(';')[0] ?? '';
}

const form = (
  t: TestHub,
  url: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
) =>
  t.ask('POST', url, {
    text: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

describe('consent', () => {
  it('114: needs a session, a port of 1024 to 65535 and a state of its pattern', async () => {
    const t = await testHub();
    const nobody = await t.ask('POST', '/api/auth/cli', { body: { port: 4321, state: STATE } });
    expect([nobody.status, nobody.body.error]).toEqual([401, 'login required']);
    for (const port of [1023, 65_536, 0, -1, 1.5, 'x', null, undefined]) {
      const { status, body } = await consent(t, { port, state: STATE });
      expect([port, status, body.error]).toEqual([port, 400, 'invalid port']);
    }
    for (const state of ['short', 'x'.repeat(129), 'white space in the state', 7, undefined]) {
      const { status, body } = await consent(t, { port: 4321, state });
      expect([state, status, body.error]).toEqual([state, 400, 'invalid state']);
    }
    for (const port of [1024, 65_535]) {
      const { body } = await consent(t, { port, state: STATE });
      expect(body.redirect).toMatch(
        new RegExp(
          `^http://127\\.0\\.0\\.1:${port}/callback\\?code=mtc_[\\w-]{43}&state=${STATE}$`,
        ),
      );
    }
    const phone = await consent(t, { scheme: 'tinyapp', state: STATE });
    expect(phone.body.redirect).toMatch(/^tinyapp:\/\/auth\?code=mtc_[\w-]{43}&state=/);
  });

  it('114: a code works once, and the token that it gives is good for 90 days', async () => {
    const t = await testHub();
    const code = codeOf(await consent(t, { port: 4321, state: STATE }));
    const got = await exchange(t, code);
    expect(got.status).toBe(200);
    const expires = t.clock.wall() / 1000 + 90 * 86_400;
    const user = { id: t.ownerId, login: 'ann', name: 'ann', avatar: null };
    expect(got.body).toEqual({ ok: true, token: expect.any(String), user, expires });
    const again = await exchange(t, code);
    expect([again.status, again.body]).toEqual([
      401,
      { ok: false, error: 'code expired or invalid' },
    ]);
    const as = String(got.body.token);
    t.clock.leap(90 * 86_400_000 - 1_000);
    expect((await t.ask('GET', '/api/devices', { as })).status).toBe(200);
    t.clock.leap(1_000);
    expect((await t.ask('GET', '/api/devices', { as })).status).toBe(401);
  });

  it('114: of many exchanges of one code at once, one succeeds', async () => {
    const t = await testHub();
    const code = codeOf(await consent(t, { port: 4321, state: STATE }));
    const all = await Promise.all(Array.from({ length: 8 }, () => exchange(t, code)));
    expect(all.map((answer) => answer.status).sort()).toEqual([200, ...Array(7).fill(401)]);
  });

  it('114: a code lives five minutes', async () => {
    const t = await testHub();
    const [early, late] = [
      codeOf(await consent(t, { port: 4321, state: STATE })),
      codeOf(await consent(t, { port: 4321, state: STATE })),
    ];
    t.clock.leap(299_000);
    expect((await exchange(t, early)).status).toBe(200);
    t.clock.leap(1_000);
    expect((await exchange(t, late)).body.error).toBe('code expired or invalid');
  });

  it('114: a code is no bearer on session routes, and is kept as its hash', async () => {
    const store = await breakableStore();
    const t = await testHub({ database: store.database });
    const code = codeOf(await consent(t, { port: 4321, state: STATE }));
    for (const url of ['/api/devices', '/api/me', '/api/tokens', '/api/audit']) {
      expect((await t.ask('GET', url, { as: code })).status).toBe(401);
    }
    expect((await t.ask('POST', '/api/login', { body: { token: code } })).status).toBe(401);
    const rows = store.database.read((r) => r.all('SELECT * FROM login_codes'));
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(code);
    expect(JSON.stringify(rows)).not.toContain(STATE);
  });

  it('115: a wrong state is 401 and the token is not issued', async () => {
    const t = await testHub();
    const code = codeOf(await consent(t, { port: 4321, state: STATE }));
    const wrong = await exchange(t, code, `${STATE}x`);
    expect([wrong.status, wrong.body]).toEqual([401, { ok: false, error: 'state mismatch' }]);
    const { body } = await t.own('GET', '/api/tokens');
    expect(body.tokens).toMatchObject([{ label: 'first', kind: 'owner' }]);
    for (const [c, s] of [
      [undefined, STATE],
      [code, undefined],
      ['', STATE],
    ]) {
      const missing = await t.ask('POST', '/api/auth/cli/token', { body: { code: c, state: s } });
      expect([missing.status, missing.body.error]).toEqual([400, 'code and state required']);
    }
  });

  it('114: with the cookie the asker must be a page of the hub itself', async () => {
    const t = await testHub();
    const cookie = await cookieOf(t);
    const ask = (headers: Record<string, string>) =>
      t.ask('POST', '/api/auth/cli', {
        headers: { cookie, ...headers },
        body: { port: 4321, state: STATE },
      });
    expect((await ask({})).status).toBe(403);
    expect((await ask({ origin: 'http://evil.example' })).status).toBe(401);
    expect((await ask({ origin: 'null' })).status).toBe(401);
    // Another port of the same machine is the same site, and the cookie goes there too.
    const neighbour = { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' };
    expect((await ask(neighbour)).status).toBe(401);
    expect((await ask({ origin: ORIGIN })).status).toBe(200);
  });

  it('answers 503 while the store is down, and issues nothing', async () => {
    const store = await breakableStore();
    const t = await testHub({ database: store.database });
    const code = codeOf(await consent(t, { port: 4321, state: STATE }));
    store.break('io');
    expect((await exchange(t, code)).status).toBe(503);
    store.mend();
    expect((await exchange(t, code)).status).toBe(200);
  });
});

describe('the consent page', () => {
  it('asks to sign in where there is no session, and then whether to allow it', async () => {
    const t = await testHub();
    const first = await t.ask('GET', PAGE);
    expect(first.status).toBe(200);
    expect(first.raw).toContain('action="/auth/sign-in"');
    const fields = { port: '4321', state: STATE };
    const origin = { origin: ORIGIN };
    const wrong = await form(t, '/auth/sign-in', { ...fields, token: 'mto_no' }, origin);
    expect([wrong.status, wrong.raw.includes('opens nothing here')]).toEqual([401, true]);
    const signed = await form(t, '/auth/sign-in', { ...fields, token: t.token }, origin);
    expect([signed.status, signed.headers.location]).toEqual([
      303,
      `/auth/cli?state=${STATE}&port=4321`,
    ]);
    const cookie = String(signed.headers['set-cookie']).split(';')[0] ?? '';
    const asked = await t.ask('GET', PAGE, { headers: { cookie } });
    expect(asked.raw).toContain('act as <strong>ann</strong>');
    const allowed = await form(t, '/auth/cli', fields, { cookie, ...origin });
    expect(allowed.status).toBe(303);
    const to = new URL(String(allowed.headers.location));
    expect([to.origin, to.pathname]).toEqual(['http://127.0.0.1:4321', '/callback']);
    expect((await exchange(t, to.searchParams.get('code'))).status).toBe(200);
  });

  it('has no script, and may post to the hub and to the asker’s port alone', async () => {
    const t = await testHub();
    const { raw, headers } = await t.ask('GET', PAGE);
    expect(raw).not.toMatch(/<script|javascript:|\son\w+=/i);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("form-action 'self' http://127.0.0.1:4321;");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    // Under `no-referrer` a browser's form has the origin `null`, and is refused.
    expect(headers['referrer-policy']).toBe('same-origin');
    expect(headers['cache-control']).toBe('no-store');
  });

  it('refuses forms of other pages and addresses that are not complete', async () => {
    const t = await testHub();
    const cookie = await cookieOf(t);
    const fields = { port: '4321', state: STATE, token: t.token };
    const others: Record<string, string>[] = [
      {},
      { origin: 'http://evil.example' },
      { origin: 'null' },
    ];
    for (const headers of others) {
      expect((await form(t, '/auth/cli', fields, { cookie, ...headers })).status).toBe(403);
      expect((await form(t, '/auth/sign-in', fields, headers)).status).toBe(403);
    }
    for (const url of ['/auth/cli', '/auth/cli?port=80&state=x', `/auth/cli?port=4321&state=<b>`]) {
      const { status, raw } = await t.ask('GET', url);
      expect(status).toBe(400);
      expect(raw).not.toContain('<b>');
    }
    const nobody = await form(t, '/auth/cli', fields, { origin: ORIGIN });
    expect(nobody.status).toBe(401);
    // Bodies of forms are read by these pages alone.
    expect((await form(t, '/api/login', { token: t.token })).status).toBe(400);
  });

  it('writes names of owners as text', async () => {
    const t = await testHub();
    const { token } = await t.hub.createOwner('<img src=x onerror=alert(1)>&"');
    const answer = await t.ask('POST', '/api/login', { body: { token } });
    const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? '';
    const { raw } = await t.ask('GET', PAGE, { headers: { cookie } });
    expect(raw).toContain('&lt;img src=x onerror=alert(1)&gt;&amp;&quot;');
    expect(raw).not.toContain('<img');
  });
});
