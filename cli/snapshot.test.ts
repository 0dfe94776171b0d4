import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type FakeHub, fakeHub, json } from './hub.fixture.js';

let hub: FakeHub;
beforeAll(async () => {
  hub = await fakeHub();
});
afterAll(() => hub.close());

describe('snapshot', () => {
  const png = Buffer.alloc(40);
  png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  png.writeUInt32BE(800, 16);
  png.writeUInt32BE(480, 20);
  const folder = mkdtempSync(join(tmpdir(), 'mote-cli-'));

  test('downloads the picture and says its size and type', async () => {
    hub.on('POST /api/use-device', (_, r) =>
      json(r, 200, { ok: true, result: 'here', images: [`${hub.url}/media/abc.png`] }),
    );
    hub.on('GET /media/abc.png', (_, r) => {
      r.writeHead(200, { 'content-type': 'image/png' });
      r.end(png);
    });
    const file = join(folder, 'x.png');
    const ran = await cli(hub, 'snapshot', 'eink', '-o', file);
    expect(ran).toEqual({ code: 0, out: `${file}: 800×480 PNG, 40 bytes\n`, err: '' });
    expect(readFileSync(file)).toEqual(png);
    const again = await cli(hub, 'snapshot', 'eink', '-o', file, '--json');
    expect(JSON.parse(again.out)).toEqual({
      ok: true,
      file,
      type: 'image/png',
      bytes: 40,
      width: 800,
      height: 480,
    });
  });

  test('a picture elsewhere is not fetched', async () => {
    hub.on('POST /api/use-device', (_, r) =>
      json(r, 200, { ok: true, result: '', images: ['http://127.0.0.1:1/private.png'] }),
    );
    const ran = await cli(hub, 'snapshot', 'eink', '-o', join(folder, 'no.png'));
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('outside the hub');
  });

  test('an answer without a picture and a file that can’t be are both said', async () => {
    hub.on('POST /api/use-device', (_, r) => json(r, 200, { ok: true, result: 'no' }));
    const none = await cli(hub, 'snapshot', 'env', '-o', join(folder, 'no.png'));
    expect(none.err).toContain('without a picture');
    hub.on('POST /api/use-device', (_, r) =>
      json(r, 200, { ok: true, result: '', images: ['/media/abc.png'] }),
    );
    const bad = await cli(hub, 'snapshot', 'eink', '-o', join(folder, 'no/such/x.png'));
    expect(bad).toMatchObject({ code: 1, out: '' });
    expect(bad.err).toMatch(/can't be written \(ENOENT\)/);
  });
});
