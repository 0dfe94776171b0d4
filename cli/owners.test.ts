import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createHub } from '../hub/index.js';
import { startControl } from './control.js';
import { writeCredentials } from './home.js';
import { testIo } from './hub.fixture.js';
import { hubOwners, noOwners, type OwnerAdmin } from './owner-admin.js';
import { noPairing } from './pair-admin.js';
import { run } from './run.js';

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function folder(): string {
  const home = mkdtempSync(join(tmpdir(), 'motebridge-owners-'));
  ends.push(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** A home whose owners are asked of a running process. */
async function running(owners: OwnerAdmin): Promise<string> {
  const home = folder();
  const boards = { ask: () => Promise.reject(new Error('boards were asked')) };
  const control = await startControl({ boards, owners, pairing: noPairing });
  ends.push(() => control.close());
  const { url, token } = control;
  writeCredentials(home, { url: 'http://127.0.0.1:1', token: 't', control: { url, token } });
  return home;
}

async function owners(home: string, ...argv: string[]) {
  const io = testIo();
  const code = await run(['owners', ...argv, '--home', home, '--json'], io);
  return { code, said: JSON.parse(io.out()), err: io.err() };
}

async function live() {
  const hub = await createHub({ home: folder() });
  ends.push(() => hub.close());
  await hub.bootstrap('ann');
  return { hub, home: await running(hubOwners(hub)) };
}

describe('motebridge owners', () => {
  it('adds, lists and removes owners of the running process', async () => {
    const { hub, home } = await live();
    const { said: bob } = await owners(home, 'add', ' bob ');
    expect(bob).toEqual({
      ok: true,
      id: expect.any(String),
      name: 'bob',
      token: expect.stringMatching(/^mto_/),
    });
    const headers = { authorization: `Bearer ${bob.token}` };
    const enrol = { method: 'POST', url: '/api/devices', headers, payload: { name: 'x' } } as const;
    expect((await hub.app.inject(enrol)).statusCode).toBe(200);
    expect((await owners(home, 'list')).said).toMatchObject([
      { name: 'ann', devices: 0 },
      { name: 'bob', devices: 1 },
    ]);
    const asked = await owners(home, 'remove', 'bob');
    expect([asked.code, asked.err]).toEqual([2, expect.stringContaining('--yes')]);
    expect((await hub.app.inject(enrol)).statusCode).toBe(200);
    expect((await owners(home, 'remove', 'bob', '--yes')).said).toMatchObject({ name: 'bob' });
    expect((await hub.app.inject(enrol)).statusCode).toBe(401);
    expect((await owners(home, 'list')).said).toHaveLength(1);
  });

  it('refuses a name that is taken or none, an unknown owner, and the one of this machine', async () => {
    const { home } = await live();
    const code = async (...argv: string[]) => {
      const { code, said } = await owners(home, ...argv);
      return [code, said.error.code];
    };
    expect(await code('add', 'ann')).toEqual([4, 'name_taken']);
    expect(await code('add', ' ')).toEqual([2, 'usage']);
    expect(await code('remove', 'bob', '--yes')).toEqual([4, 'unknown_owner']);
    expect(await code('remove', 'ann', '--yes')).toEqual([4, 'first_owner']);
  });

  it('says so where the hub is elsewhere', async () => {
    const { code, said } = await owners(await running(noOwners), 'list');
    expect([code, said.error.code]).toEqual([4, 'no_own_hub']);
  });

  it('works in the data folder while nothing runs', async () => {
    const home = folder();
    const { said } = await owners(home, 'add', 'bob');
    expect((await owners(home, 'list')).said).toMatchObject([{ name: 'owner' }, { name: 'bob' }]);
    const hub = await createHub({ home });
    ends.push(() => hub.close());
    const headers = { authorization: `Bearer ${said.token}` };
    const me = await hub.app.inject({ url: '/api/me', headers });
    expect(me.json().owner.name).toBe('bob');
  });
});
