import { describe, expect, it } from 'vitest';
import { onCleanup, tempFolder } from './cleanup.fixture.js';
import { TestClock } from './clock.fixture.js';
import { MIGRATIONS } from './db/migrations.js';
import { breakableStore, TestHub, testHub, withBoard } from './hub.fixture.js';
import { hashOf, newSecret } from './ids.js';
import { createHub } from './index.js';

interface Shown {
  id: string;
  label: string;
  last_used_at: number | null;
  expires_at: number | null;
}

async function tokens(t: TestHub, as = t.token): Promise<Shown[]> {
  return (await t.ask('GET', '/api/tokens', { as })).body.tokens as Shown[];
}

describe('tokens', () => {
  it('are listed with label, kind, last use and end, never with their secret', async () => {
    const t = await testHub();
    const made = await t.own('POST', '/api/tokens', { label: ' laptop ', days: 2 });
    expect(made.body).toEqual({ ok: true, id: expect.any(String), token: expect.any(String) });
    const as = String(made.body.token);
    const s = t.clock.wall() / 1000;
    t.clock.leap(61_000);
    expect((await t.ask('GET', '/api/me', { as })).status).toBe(200);
    // Its use was written before this.
    await t.enrol();
    const list = await tokens(t);
    expect(list[1]).toEqual({
      id: made.body.id,
      label: 'laptop',
      kind: 'owner',
      created_at: s,
      last_used_at: s + 61,
      expires_at: s + 2 * 86_400,
    });
    expect(JSON.stringify(list)).not.toContain(as);
    t.clock.leap(2 * 86_400_000);
    expect((await t.ask('GET', '/api/me', { as })).status).toBe(401);
    expect(await tokens(t)).toHaveLength(1);
  });

  it('refuse labels that are none and ends that are no days', async () => {
    const t = await testHub();
    for (const body of [
      {},
      { label: ' ' },
      { label: 'x', days: 0 },
      { label: 'x', days: 'soon' },
    ]) {
      expect((await t.own('POST', '/api/tokens', body)).status).toBe(400);
    }
    expect(await tokens(t)).toHaveLength(1);
  });

  it('a revoked one ends with the sessions it opened, and no other owner can revoke it', async () => {
    const t = await testHub();
    const bob = (await t.hub.createOwner('bob')).token;
    const { id, token } = (await t.own('POST', '/api/tokens', { label: 'x' })).body;
    const login = await t.ask('POST', '/api/login', { body: { token } });
    const cookie = String(login.headers['set-cookie']).split(';')[0] ?? '';
    const me = () => t.ask('GET', '/api/me', { headers: { cookie } });
    const revoke = (as: string) => t.ask('DELETE', '/api/tokens', { as, body: { id } });
    expect((await revoke(bob)).body.revoked).toBe(0);
    expect((await me()).status).toBe(200);
    expect((await revoke(t.token)).body.revoked).toBe(1);
    expect((await revoke(t.token)).body.revoked).toBe(0);
    expect((await me()).status).toBe(401);
    expect((await t.ask('GET', '/api/me', { as: String(token) })).status).toBe(401);
  });

  it('a revoked one ends the open stream at once', async () => {
    const t = await testHub();
    const { id, token } = (await t.own('POST', '/api/tokens', { label: 'x' })).body;
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${await t.url()}/api/stream`, { headers });
    expect(response.status).toBe(200);
    await t.own('DELETE', '/api/tokens', { id });
    // Resolves only when the hub ends it.
    expect(await response.text()).toContain(': open');
  });
});

describe('audit', () => {
  it('tells an owner of logins, tokens, enrolments, adoptions and revocations, in order', async () => {
    const t = await testHub();
    const bob = (await t.hub.createOwner('bob')).token;
    const device = await t.enrol('desk');
    await t.own('POST', '/api/devices/adopt', { deviceId: device.deviceId });
    await t.own('DELETE', '/api/devices', { deviceId: device.deviceId });
    await t.ask('POST', '/api/login', { body: { token: t.token } });
    const made = (await t.own('POST', '/api/tokens', { label: 'x' })).body;
    await t.own('DELETE', '/api/tokens', { id: made.id });
    await t.gateway('pi');
    const state = 'a'.repeat(32);
    const { redirect } = (await t.own('POST', '/api/auth/cli', { port: 2000, state })).body;
    const code = new URL(String(redirect)).searchParams.get('code');
    await t.ask('POST', '/api/auth/cli/token', { body: { code, state } });
    const { body, raw } = await t.own('GET', '/api/audit');
    const entries = body.entries as { id: number; action: string; target: string }[];
    expect(entries.map((e) => e.action)).toEqual([
      'owner.create',
      'device.enrol',
      'device.adopt',
      'device.revoke',
      'session.open',
      'token.create',
      'token.revoke',
      'gateway.enrol',
      'login.consent',
      'login.cli',
    ]);
    for (const secret of [t.token, device.token, made.token, code]) {
      expect(raw).not.toContain(secret);
    }
    const after = await t.own('GET', `/api/audit?sinceId=${entries[7]?.id}`);
    expect(after.body.entries).toEqual(entries.slice(8));
    expect((await t.own('GET', '/api/audit?sinceId=junk')).body.entries).toHaveLength(10);
    const his = await t.ask('GET', '/api/audit', { as: bob });
    expect(his.body.entries).toMatchObject([{ action: 'owner.create', target: 'bob' }]);
    expect((await t.ask('GET', '/api/audit')).status).toBe(401);
  });
});

describe('removing an owner', () => {
  it('leaves no row and no file of the owner, and others untouched', async () => {
    const store = await breakableStore();
    const { t, gateway, board } = await withBoard({ database: store.database });
    const bob = await t.hub.createOwner('bob');
    const his = await t.gatewayOf(bob.ownerId);
    const theirs = await his.board('his', '00000000000000bb');
    await his.online(theirs);
    await his.up({ kind: 'readings', device_id: theirs, values: { t: 1 } });
    await his.up({ kind: 'event', device_id: theirs, boot: 1, board_seq: 1, event: 'tap' });
    const ask = (url: string, body: object) => t.ask('POST', url, { as: bob.token, body });
    const made = await ask('/api/devices', { name: 'dial-in' });
    await ask('/api/devices/relay', { toDevice: made.body.device_id, payload: 1 });
    const media = await ask('/api/media', { data: 'AAAA', contentType: 'image/png' });
    await ask('/api/auth/cli', { port: 2000, state: 'b'.repeat(32) });
    const counts = () =>
      store.database.read((r) =>
        r
          .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
          .map(
            ({ name }) =>
              [name, r.get<{ n: number }>(`SELECT count(*) AS n FROM "${name}"`)?.n] as const,
          ),
      );
    expect(await t.hub.removeOwner('nobody')).toBe(false);
    expect(await t.hub.removeOwner(bob.ownerId)).toBe(true);
    const dump = store.database.read((r) =>
      counts().map(([name]) => JSON.stringify(r.all(`SELECT * FROM "${name}"`))),
    );
    for (const id of [bob.ownerId, theirs, String(made.body.device_id)]) {
      expect(dump.join('\n')).not.toContain(id);
    }
    expect((await t.ask('GET', String(media.body.url))).status).toBe(404);
    expect((await t.ask('GET', '/api/me', { as: bob.token })).status).toBe(401);
    expect((await his.up()).status).toBe(401);
    expect(t.hub.describeOwners()).toMatchObject([{ name: 'ann', devices: 1 }]);
    expect((await gateway.online(board)).status).toBe(200);
  });
});

describe('a hub of before', () => {
  it('keeps its tokens, each with an id of its own', async () => {
    const { database } = await breakableStore();
    const secrets = [newSecret('mto_'), newSecret('mto_')];
    // As schema 2 kept them.
    await database.write((w) => {
      for (const { sql } of MIGRATIONS.slice(0, 2)) for (const step of sql) w.run(step);
      w.run('CREATE TABLE migrations (id INTEGER PRIMARY KEY, name TEXT, applied_ms INTEGER)');
      w.run("INSERT INTO migrations VALUES (1, 'a', 0), (2, 'b', 0)");
      w.run("INSERT INTO owners VALUES ('o', 'ann', 0)");
      for (const [i, secret] of secrets.entries()) {
        w.run('INSERT INTO tokens VALUES (?, ?, ?, ?, NULL)', [hashOf(secret), 'o', `${i}`, i]);
      }
    });
    const clock = new TestClock();
    const again = await createHub({ database, mediaDir: tempFolder(), clock });
    onCleanup(() => again.close());
    const after = new TestHub(again, clock, secrets[0] ?? '', 'o');
    expect((await after.ask('GET', '/api/me', { as: secrets[1] ?? '' })).status).toBe(200);
    const list = await tokens(after);
    expect(list.map((one) => one.label)).toEqual(['0', '1']);
    expect(new Set(list.map((one) => one.id)).size).toBe(2);
    expect(list.every((one) => /^[0-9a-f]{12}$/.test(one.id))).toBe(true);
  });
});
