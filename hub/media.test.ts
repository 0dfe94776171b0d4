import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tempFolder } from './cleanup.fixture.js';
import { breakableStore, type TestHub, testHub, withDevice } from './hub.fixture.js';

describe('media', () => {
  const png = Buffer.from('0123456789');
  const upload = (t: TestHub, body: object, as?: string) =>
    t.ask('POST', '/api/media', { body, ...(as === undefined ? {} : { as }) });
  const picture = { data: png.toString('base64'), contentType: 'image/png' };

  test('D83 half a credential is nobody, a revoked device unknown, an outage 424', async () => {
    const mediaDir = tempFolder();
    const t = await testHub({ mediaDir });
    const device = await t.enrol();
    for (const half of [{}, { deviceId: device.deviceId }, { token: device.token }]) {
      const answer = await upload(t, { ...picture, ...half });
      expect([answer.status, answer.body.error]).toEqual([401, 'login required']);
      expect((await upload(t, half)).status).toBe(401);
    }
    expect((await upload(t, { ...picture, ...device })).status).toBe(200);
    expect((await upload(t, picture, t.token)).status).toBe(200);
    const nothing = await upload(t, {}, t.token);
    expect([nothing.status, nothing.body.error]).toEqual([400, 'data and contentType required']);
    rmSync(mediaDir, { recursive: true });
    const outage = await upload(t, picture, t.token);
    expect([outage.status, outage.body.retryable]).toEqual([424, true]);
    await t.own('DELETE', '/api/devices', { deviceId: device.deviceId });
    const revoked = await upload(t, { ...picture, ...device });
    expect([revoked.status, revoked.body.error]).toEqual([401, 'unknown device']);
  });

  test('D84 html and svg, bad base64 and more than 6 MB are refused', async () => {
    const t = await testHub();
    for (const contentType of ['text/html', 'image/svg+xml', 'x', '__proto__']) {
      expect((await upload(t, { ...picture, contentType }, t.token)).status).toBe(424);
    }
    for (const data of ['***', 'A', 'AAAA=A', 'AA AA']) {
      expect((await upload(t, { ...picture, data }, t.token)).status).toBe(424);
    }
    const most = 6 * 1024 * 1024;
    const over = 'A'.repeat(Math.ceil(most / 3) * 4 + 4);
    expect((await upload(t, { ...picture, data: over }, t.token)).status).toBe(424);
    const fits = await upload(t, { ...picture, data: over.slice(4) }, t.token);
    expect([fits.status, fits.body.bytes]).toEqual([200, most]);
    expect((await upload(t, { ...picture, data: 'A'.repeat(10_000_000) }, t.token)).status).toBe(
      413,
    );
  });

  test('a share of the disk is all that one owner gets', async () => {
    const t = await testHub({ limits: { mediaBytes: 15 } });
    expect((await upload(t, picture, t.token)).status).toBe(200);
    expect((await upload(t, picture, t.token)).status).toBe(424);
  });

  test('nor more of it by asking for two shares at once', async () => {
    const mediaDir = tempFolder();
    const t = await testHub({ mediaDir, limits: { mediaBytes: 15 } });
    const both = await Promise.all([1, 2].map(() => upload(t, picture, t.token)));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 424]);
    expect(both.find(({ status }) => status === 424)?.body.error).toMatch(/^media are full/);
    expect(readdirSync(mediaDir)).toHaveLength(1);
  });

  test('D85 D86 ranges are exact windows, and every answer is nosniff and immutable', async () => {
    const { t, device } = await withDevice();
    const { body } = await upload(t, { ...picture, ...device, contentType: 'image/PNG; x=y' });
    expect(body).toEqual({
      ok: true,
      key: expect.stringMatching(/^[0-9a-f-]{36}\.png$/),
      url: `/media/${body.key}`,
      bytes: 10,
    });
    for (const [range, status, text, window] of [
      [undefined, 200, '0123456789', undefined],
      ['bytes=0-1', 206, '01', 'bytes 0-1/10'],
      ['bytes=6-', 206, '6789', 'bytes 6-9/10'],
      ['bytes=-5', 206, '56789', 'bytes 5-9/10'],
      ['bytes=-50', 206, '0123456789', 'bytes 0-9/10'],
      ['bytes=3-99', 206, '3456789', 'bytes 3-9/10'],
      ['bytes=99-', 416, '', 'bytes */10'],
      ['bytes=5-2', 416, '', 'bytes */10'],
      ['bytes=-', 200, '0123456789', undefined],
      ['bytes=0-1,3-4', 200, '0123456789', undefined],
      ['junk', 200, '0123456789', undefined],
    ] as const) {
      const got = await t.ask('GET', String(body.url), {
        headers: range === undefined ? {} : { range },
      });
      expect([range, got.status, got.raw, got.headers['content-range']]).toEqual([
        range,
        status,
        text,
        window,
      ]);
      expect(got.headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'cache-control': 'public, max-age=31536000, immutable',
        'accept-ranges': 'bytes',
        'content-type': 'image/png',
      });
    }
  });

  test('D87 a key that is none is not found before the storage is asked', async () => {
    const mediaDir = tempFolder();
    const store = await breakableStore();
    const t = await testHub({ mediaDir, database: store.database });
    const { body } = await upload(t, picture, t.token);
    expect(existsSync(join(mediaDir, String(body.key)))).toBe(true);
    // A storage that is asked now could not answer 404.
    store.break('io');
    expect((await t.ask('GET', String(body.url))).status).toBe(503);
    for (const key of ['x', '..%2f..%2fetc%2fpasswd', `${body.key}.png`, '%00', 'hub.db']) {
      const answer = await t.ask('GET', `/media/${key}`);
      expect([answer.status, answer.body]).toEqual([404, { ok: false, error: 'not found' }]);
    }
  });

  test('a file that is gone from the folder is not found, and the hub goes on', async () => {
    const mediaDir = tempFolder();
    const t = await testHub({ mediaDir });
    const { body } = await upload(t, picture, t.token);
    rmSync(join(mediaDir, String(body.key)));
    expect((await t.ask('GET', String(body.url))).status).toBe(404);
    expect((await t.ask('GET', '/api/health')).status).toBe(200);
  });
});
