/** The command against a real hub, with a browser that is a few requests. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createHub, type Hub } from '../hub/index.js';
import { type Ran, type TestIo, testIo } from './hub.fixture.js';
import { listenForCode, mayLogInAt, pastedCode } from './login.js';
import { run } from './run.js';

const folder = mkdtempSync(join(tmpdir(), 'motebridge-login-'));
let hub: Hub;
let url: string;
let owner: { ownerId: string; token: string };
let homes = 0;
let home: string;

beforeAll(async () => {
  hub = await createHub({ home: join(folder, 'hub') });
  const made = await hub.bootstrap('ann');
  if (made === undefined) throw new Error('no owner');
  owner = made;
  url = (await hub.listen({ port: 0 })).url;
  home = join(folder, 'home0');
});
afterEach(() => {
  homes += 1;
  home = join(folder, `home${homes}`);
});
afterAll(async () => {
  await hub.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Login {
  io: TestIo;
  /** The consent page's address, once it is shown. */
  page: URL;
  ended: Promise<number>;
}

async function begin(tty: boolean, ...argv: string[]): Promise<Login> {
  const io = testIo({}, tty);
  const ended = run(['login', ...argv, '--home', home], io);
  const ready = (async () => {
    while (io.opened.length === 0) await new Promise((done) => setImmediate(done));
  })();
  await Promise.race([ready, ended]);
  return { io, page: new URL(io.opened[0] ?? 'http://never.shown'), ended };
}

/** What the owner does: sign in, read the page, press its button. Answers where that leads. */
async function allow(page: URL): Promise<string> {
  const origin = page.origin;
  const fields = new URLSearchParams(page.search);
  const post = (path: string, body: URLSearchParams, cookie = '') =>
    fetch(origin + path, {
      method: 'POST',
      body,
      redirect: 'manual',
      headers: { origin, cookie },
    });
  const signedIn = await post(
    '/auth/sign-in',
    new URLSearchParams([...fields, ['token', owner.token]]),
  );
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect(await (await fetch(page, { headers: { cookie } })).text()).toContain('>ann<');
  const allowed = await post('/auth/cli', fields, cookie);
  return allowed.headers.get('location') ?? '';
}

const stored = () => JSON.parse(readFileSync(join(home, 'credentials.json'), 'utf8'));

describe('motebridge login', () => {
  it('keeps a token of 90 days for its user alone, and prints none', async () => {
    const { io, page, ended } = await begin(false, url, '--json');
    expect(page.pathname).toBe('/auth/cli');
    expect(page.searchParams.get('state')).toMatch(/^[\w-]{32}$/);
    const back = await fetch(await allow(page));
    expect(back.status).toBe(200);
    expect(await ended).toBe(0);
    const { token } = stored();
    expect(stored()).toEqual({ url, token: expect.stringMatching(/^mto_/) });
    expect(statSync(join(home, 'credentials.json')).mode & 0o777).toBe(0o600);
    const said = JSON.parse(io.out());
    expect(said).toMatchObject({ ok: true, url, user: { id: owner.ownerId, name: 'ann' } });
    expect(said.expires - Date.now() / 1000).toBeGreaterThan(89 * 86_400);
    expect(io.out() + io.err()).not.toContain(token);
    // What was stored is what the other commands find.
    const devices = testIo();
    expect(await run(['devices', '--json', '--home', home], devices)).toBe(0);
    expect(JSON.parse(devices.out())).toEqual([]);
  });

  it('115: takes no code with another state, and goes on waiting', async () => {
    const { page, ended } = await begin(false, url);
    const port = page.searchParams.get('port');
    const at = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
    const state = page.searchParams.get('state');
    expect((await at(`/callback?code=x&state=${'x'.repeat(32)}`)).status).toBe(400);
    expect((await at('/callback?code=x')).status).toBe(400);
    expect((await at(`/callback?state=${state}`)).status).toBe(400);
    expect((await at(`/elsewhere?code=x&state=${state}`)).status).toBe(404);
    expect((await fetch(await allow(page))).status).toBe(200);
    expect(await ended).toBe(0);
    expect(stored().url).toBe(url);
  });

  it('takes what is pasted where the browser is on another machine', async () => {
    const { io, page, ended } = await begin(true, url);
    const address = await allow(page);
    io.type('not an address');
    await new Promise((done) => setImmediate(done));
    io.type(address);
    expect(await ended).toBe(0);
    expect(io.err()).toContain('That is no answer to this login');
    expect(io.out()).toContain('Logged in');
  });

  it('says who refused a code that the hub does not know, and stores nothing', async () => {
    const { io, page, ended } = await begin(false, url);
    const port = page.searchParams.get('port');
    const state = page.searchParams.get('state');
    await fetch(`http://127.0.0.1:${port}/callback?code=mtc_unknown&state=${state}`);
    expect(await ended).toBe(4);
    expect(io.err()).toContain('code expired or invalid');
    expect(() => stored()).toThrow(/ENOENT/);
  });

  it('ends when nobody allows it in time, or when it is stopped', async () => {
    const late = await begin(false, url, '--wait', '1', '--json');
    expect(await late.ended).toBe(1);
    expect(JSON.parse(late.io.out()).error.code).toBe('login_timeout');
    const stopped = await begin(false, url, '--json');
    stopped.io.interrupt();
    expect(await stopped.ended).toBe(1);
    expect(JSON.parse(stopped.io.out()).error.code).toBe('stopped');
    const port = stopped.page.searchParams.get('port');
    await expect(fetch(`http://127.0.0.1:${port}/callback`)).rejects.toThrow();
  });

  it('sends nobody to what is no hub, and no token over plain http to a public address', async () => {
    const gone = await begin(false, 'http://127.0.0.1:1');
    expect(await gone.ended).toBe(3);
    expect(gone.io.opened).toEqual([]);
    for (const at of ['http://hub.example', 'http://8.8.8.8:80', 'http://172.32.0.1']) {
      expect(() => mayLogInAt(at), at).toThrow(/plain http/);
    }
    for (const at of [
      'https://hub.example',
      'http://localhost:1',
      'http://192.168.1.2',
      'http://[::1]',
    ]) {
      expect(() => mayLogInAt(at), at).not.toThrow();
    }
    const nowhere = await begin(false);
    expect(await nowhere.ended).toBe(2);
  });

  it('listens on loopback alone', async () => {
    const callback = await listenForCode('s'.repeat(32));
    expect(callback.port).toBeGreaterThanOrEqual(1024);
    await callback.close();
  });

  it('reads a pasted code or address, of its own login only', () => {
    const state = 's'.repeat(32);
    expect(pastedCode(` mtc_${'a'.repeat(43)}\n`, state)).toBe(`mtc_${'a'.repeat(43)}`);
    expect(pastedCode(`http://127.0.0.1:1/callback?code=c&state=${state}`, state)).toBe('c');
    expect(pastedCode('http://127.0.0.1:1/callback?code=c&state=other', state)).toBeUndefined();
    expect(pastedCode('hello', state)).toBeUndefined();
  });
});

describe('motebridge tokens and audit', () => {
  const cli = async (...argv: string[]): Promise<Ran> => {
    const io = testIo({ MOTEBRIDGE_URL: url, MOTEBRIDGE_TOKEN: owner.token });
    const code = await run(argv, io);
    return { code, out: io.out(), err: io.err() };
  };

  it('make, list and revoke tokens; a secret is shown once', async () => {
    const added = await cli('tokens', 'add', 'laptop', '--days', '30');
    expect([added.code, added.out]).toEqual([0, expect.stringMatching(/^mto_[\w-]{43}\n$/)]);
    const { id, token } = JSON.parse((await cli('tokens', 'add', 'phone', '--json')).out);
    const list = await cli('tokens', 'list', '--json');
    const shown = JSON.parse(list.out).filter((one: { kind: string }) => one.kind === 'owner');
    expect(shown).toMatchObject([
      { label: 'first' },
      { label: 'laptop', expires_at: expect.any(Number) },
      { label: 'phone', id, expires_at: null, last_used_at: null },
    ]);
    expect(list.out).not.toContain(token);
    expect((await cli('tokens', 'list')).out).toMatch(/^LABEL +CREATED +LAST USED +EXPIRES +ID\n/);
    expect((await cli('tokens', 'revoke', id)).code).toBe(0);
    const again = await cli('tokens', 'revoke', id, '--json');
    expect([again.code, JSON.parse(again.out).error.code]).toEqual([4, 'unknown_token']);
    const io = testIo({ MOTEBRIDGE_URL: url, MOTEBRIDGE_TOKEN: token });
    expect(await run(['devices'], io)).toBe(4);
  });

  it('tells what happened at the account, from an entry on', async () => {
    const { code, out } = await cli('audit', '--json');
    expect(code).toBe(0);
    const entries = JSON.parse(out);
    expect(entries[0]).toMatchObject({ action: 'owner.create', target: 'ann' });
    expect(entries.at(-1)).toMatchObject({ action: 'token.revoke' });
    const since = await cli('audit', '--json', '--since', String(entries.at(-2).id));
    expect(JSON.parse(since.out)).toEqual(entries.slice(-1));
    expect((await cli('audit')).out).toContain('owner.create');
  });
});
