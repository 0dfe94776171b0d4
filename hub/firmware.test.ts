import { describe, expect, test } from 'vitest';
import { type TestHub, type TestHubOptions, withDevice } from './hub.fixture.js';

const HOSTS = { firmwareHosts: ['fw.example', 'other.example:8443'] };
const sha256 = 'a'.repeat(64);
const bundle = { channel: 'stable', version: '1.2.0', url: 'https://fw.example/a.bin', sha256 };

async function channel(options: TestHubOptions = HOSTS) {
  const { t, device } = await withDevice(options);
  const publish = (extra: object = {}) =>
    t.own('POST', '/api/firmware/manifest', { ...bundle, ...extra });
  const ask = (extra: object = {}) =>
    t.ask('PUT', '/api/firmware/manifest', { body: { ...device, channel: 'stable', ...extra } });
  return { t, device, publish, ask };
}

const version = async (asked: ReturnType<TestHub['ask']>) =>
  ((await asked).body.bundle as { version: string } | null)?.version;

describe('the manifest', () => {
  test('is what the owner published for the channel, or null', async () => {
    const { t, ask, publish } = await channel();
    expect((await ask()).body).toEqual({ ok: true, bundle: null });
    const shown = {
      version: '1.2.0',
      url: bundle.url,
      sha256,
      updated_at: t.clock.wall() / 1000,
    };
    const made = await publish({ sha256: sha256.toUpperCase() });
    expect([made.status, made.body]).toEqual([200, { ok: true, bundle: shown }]);
    expect((await ask()).body).toEqual({ ok: true, bundle: shown });
    expect((await ask({ channel: 'beta' })).body.bundle).toBeNull();
    const bob = (await t.hub.createOwner('bob')).token;
    const his = await t.ask('POST', '/api/devices', { as: bob, body: { name: 'b' } });
    const { device_id: deviceId, device_token: token } = his.body;
    expect((await ask({ deviceId, token })).body.bundle).toBeNull();
  });

  test('needs a device’s credential and a channel’s name', async () => {
    const { ask } = await channel();
    for (const extra of [{ token: '' }, { deviceId: undefined }, { channel: '' }]) {
      const answer = await ask(extra);
      expect([answer.status, answer.body.error]).toEqual([
        400,
        'deviceId, token and channel required',
      ]);
    }
    expect((await ask({ channel: 'UP' })).body.error).toBe('invalid channel');
    const stranger = await ask({ token: 'x' });
    expect([stranger.status, stranger.body.error]).toEqual([401, 'unknown device']);
  });
});

describe('publishing', () => {
  test('a lower version is 409 and changes nothing, unless it is forced; numbers count', async () => {
    const { publish, ask } = await channel();
    await publish({ version: '1.9.0' });
    for (const lower of ['1.8.9', '1.9.0-rc1', '1.2', '0', 'newest', '1.9.0.', '1..9']) {
      const answer = await publish({ version: lower });
      expect([lower, answer.status, answer.body.ok]).toEqual([lower, 409, false]);
      expect(await version(ask())).toBe('1.9.0');
    }
    for (const higher of ['1.9', 'v1.9.0.1', '1.10.0', '12345678901234567890.0']) {
      expect([higher, (await publish({ version: higher })).status]).toEqual([higher, 200]);
    }
    expect((await publish({ version: '12345678901234567889.0' })).status).toBe(409);
    expect((await publish({ version: '1.0', force: '0' })).status).toBe(409);
    expect((await publish({ version: '1.0-rc', force: '1' })).status).toBe(200);
    expect((await ask()).body.bundle).toMatchObject({ version: '1.0-rc', force: '1' });
    // What it can't be compared with is not known to be older.
    expect((await publish({ version: '2.0' })).status).toBe(409);
    expect((await publish({ version: '2.0', force: true })).status).toBe(200);
    expect((await publish({ version: '2.1' })).body.bundle).not.toHaveProperty('force');
  });

  test('only https on a trusted host, and only what a board can check', async () => {
    const { publish, ask } = await channel();
    for (const bad of [
      { url: 'http://fw.example/a.bin' },
      { url: 'https://evil.example/a.bin' },
      { url: 'https://fw.example.evil.example/a.bin' },
      { url: 'https://fw.example@evil.example/a.bin' },
      { url: 'https://me:pw@fw.example/a.bin' },
      { url: 'https://fw.example:444/a.bin' },
      { url: 'https://other.example/a.bin' },
      { url: `https://fw.example/${'a'.repeat(512)}` },
      { url: 'fw.example/a.bin' },
      { url: undefined },
      { sha256: 'a'.repeat(63) },
      { sha256: 'g'.repeat(64) },
      { version: '1'.repeat(129) },
      { version: '1 0' },
      { version: '' },
      { channel: '-x' },
      { channel: 'a'.repeat(33) },
    ]) {
      expect([bad, (await publish(bad)).status]).toEqual([bad, 400]);
    }
    expect(await version(ask())).toBeUndefined();
    expect((await publish({ url: 'https://other.example:8443/x' })).status).toBe(200);
  });

  test('without trusted hosts it names the setting; a hub behind https trusts itself', async () => {
    const none = await (await channel({})).publish();
    expect([none.status, none.body.error]).toEqual([424, expect.stringContaining('firmwareHosts')]);
    const own = await channel({ publicUrl: 'https://hub.example' });
    expect((await own.publish({ url: 'https://hub.example/media/x.bin' })).status).toBe(200);
    expect((await own.publish()).status).toBe(400);
  });

  test('needs a session', async () => {
    const { t, device } = await channel();
    const body = { ...device, ...bundle };
    expect((await t.ask('POST', '/api/firmware/manifest', { body })).status).toBe(401);
  });
});
