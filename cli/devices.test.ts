/** `motebridge devices add` and `revoke` against a real hub that calls a real device over TLS. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { onCleanup, tempFolder } from '../hub/cleanup.fixture.js';
import { createHub } from '../hub/index.js';
import { endpointWorld, SECRET } from '../test/support/endpoint-world.js';
import { testIo } from './hub.fixture.js';
import { run } from './run.js';

/** The hub of the world's device; `typed` is what stands on standard input. */
async function world() {
  const { t, robot } = await endpointWorld();
  await t.own('DELETE', '/api/devices', { deviceId: robot.id });
  const MOTEBRIDGE_URL = await t.url();
  const url = `https://robot.test:${robot.device.port}`;
  const cli = async (argv: string[], env: Record<string, string> = {}, typed?: string) => {
    const io = testIo({ MOTEBRIDGE_URL, MOTEBRIDGE_TOKEN: t.token, ...env });
    if (typed !== undefined) io.type(typed);
    const code = await run(argv, io);
    return { code, out: io.out(), err: io.err() };
  };
  const hello = () =>
    t.own('POST', '/api/use-device', { action: 'invoke', device_id: 'robot', prompt: 'hello' });
  return { t, cli, url, hello, device: robot.device };
}

const env = { MOTEBRIDGE_DEVICE_SECRET: SECRET };

test('a device that was added is called with its secret, and no more once it is revoked', async () => {
  const { cli, url, hello } = await world();
  const added = await cli(['devices', 'add', 'robot', `${url}/path`, '--json'], env);
  expect(added.code).toBe(0);
  const made = JSON.parse(added.out) as { id: string };
  expect(made).toEqual({
    ok: true,
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    name: 'robot',
    url,
  });
  const { body } = await hello();
  expect(body).toMatchObject({ ok: true, result: 'Hello, this is robot.', device_id: made.id });
  const listed = JSON.parse((await cli(['devices', '--json'])).out);
  expect(listed).toMatchObject([
    { name: 'robot', kind: 'endpoint', capabilities: ['chat', 'telemetry', 'snapshot'] },
  ]);
  const revoked = await cli(['devices', 'revoke', 'robot', '--json']);
  expect(JSON.parse(revoked.out)).toEqual({ ok: true, id: made.id, name: 'robot' });
  expect((await hello()).status).toBe(404);
  expect((await cli(['devices', 'revoke', 'robot'])).code).toBe(4);
});

test('the secret comes from a file, else the environment, else standard input', async () => {
  const { cli, url, hello } = await world();
  const file = join(tempFolder(), 'secret');
  writeFileSync(file, `${SECRET}\n`);
  const wrong = { MOTEBRIDGE_DEVICE_SECRET: 'wrong-secret' };
  const add = ['devices', 'add', 'robot', url];
  for (const [argv, given, typed, answer] of [
    [[...add, '--secret-file', file], wrong, 'wrong-too', true],
    [add, env, 'wrong-too', true],
    [add, {}, SECRET, true],
    [add, wrong, SECRET, false],
  ] as const) {
    const { code, out, err } = await cli([...argv], given, typed);
    expect(code).toBe(0);
    expect(out).toMatch(/^Added robot \([0-9a-f-]{36}\)\.\n$/);
    expect(out + err).not.toContain(SECRET);
    expect((await hello()).body.ok).toBe(answer);
    expect((await cli(['devices', 'revoke', 'robot'])).code).toBe(0);
  }
});

test('only what it can do is said of it', async () => {
  const { cli, url, t } = await world();
  await cli(['devices', 'add', 'robot', url, '--capabilities', ' chat, '], env);
  expect((await t.list())[0]?.capabilities).toBe('["chat"]');
});

test('options may stand before and after the subcommand, and list nothing by mistake', async () => {
  const { cli, url } = await world();
  const { out } = await cli(['devices', '--json', 'add', 'robot', url], env);
  expect(JSON.parse(out)).toMatchObject({ ok: true, name: 'robot' });
  expect((await cli(['devices', 'ad', 'robot', url], env)).code).toBe(2);
  expect((await cli(['devices', 'add', '--help'])).out).toContain('--secret-file');
});

test('what can’t be is refused, says what would do, and adds nothing', async () => {
  const { cli, url, t } = await world();
  const add = (at: string, given: Record<string, string> = env, ...more: string[]) =>
    cli(['devices', 'add', 'robot', at, ...more, '--json'], given, '');
  const many = Array.from({ length: 33 }, (_, i) => `c${i}`).join(',');
  for (const [ran, code, words] of [
    [await add('https://10.0.0.7'), 4, /own network.*--call-hosts <host>/],
    [await add('http://robot.test'), 4, /url must be https/],
    [await add('robot.test'), 4, /invalid url/],
    [await add(url, { MOTEBRIDGE_DEVICE_SECRET: 'ä' }), 4, /printable ASCII/],
    [await add(url, {}), 2, /secret is empty.*MOTEBRIDGE_DEVICE_SECRET/],
    [await add(url, env, '--secret-file', '/no/such'), 2, /can't be read \(ENOENT\)/],
    [await add(url, env, '--capabilities', many), 2, /at most 32 capabilities/],
    [await cli(['devices', 'add', 'robot', '--json'], env), 2, /missing required argument/],
    [await cli(['devices', 'revoke', 'nobody', '--json']), 4, /no device nobody/],
  ] as const) {
    expect([ran.code, ran.err]).toEqual([code, expect.stringMatching(words)]);
    expect(JSON.parse(ran.out)).toMatchObject({ ok: false, error: { code: expect.any(String) } });
    expect(ran.err).toMatch(/^motebridge: [^\n]+\.\n$/);
  }
  expect(await t.list()).toEqual([]);
});

test('of two with one name none is revoked but by its id', async () => {
  const { cli, url, t } = await world();
  await cli(['devices', 'add', 'robot', url], env);
  const again = await cli(['devices', 'add', 'robot', url, '--json'], env);
  const refused = await cli(['devices', 'revoke', 'robot']);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('2 devices are named')]);
  const { id } = JSON.parse(again.out) as { id: string };
  expect((await cli(['devices', 'revoke', id])).code).toBe(0);
  expect((await t.list()).map((row) => row.id)).not.toContain(id);
});

test('a hub that was told of no private host says so to who adds one', async () => {
  const hub = await createHub({ databaseFile: ':memory:', mediaDir: tempFolder() });
  onCleanup(() => hub.close());
  const made = await hub.bootstrap();
  const { url } = await hub.listen({ port: 0 });
  const io = testIo({ MOTEBRIDGE_URL: url, MOTEBRIDGE_TOKEN: made?.token ?? '', ...env });
  expect(await run(['devices', 'add', 'nas', 'https://nas.local'], io)).toBe(4);
  expect(io.err()).toContain('--call-hosts');
});
