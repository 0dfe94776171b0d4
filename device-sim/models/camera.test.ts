import { createCanvas, loadImage } from '@napi-rs/canvas';
import { describe, expect, it } from 'vitest';
import { rig } from '../testing/rig.js';

async function brightness(jpeg: Uint8Array): Promise<number> {
  const image = await loadImage(Buffer.from(jpeg));
  expect([image.width, image.height]).toEqual([640, 480]);
  const canvas = createCanvas(640, 400);
  canvas.getContext('2d').drawImage(image, 0, 0);
  const data = canvas.getContext('2d').getImageData(0, 0, 640, 400).data;
  let sum = 0;
  for (let i = 1; i < data.length; i += 4) sum += data[i] ?? 0;
  return sum / (data.length / 4);
}

describe('the camera', () => {
  it('sends a JPEG of its call that differs from the one before', async () => {
    const { blob, clock, call } = rig('camera');
    const first = await blob('snapshot');
    expect(first.open).toMatchObject({ mediaType: 'image/jpeg', purpose: 'snapshot' });
    expect(first.value).toMatchObject({ frame: 1, width: 640, height: 480 });
    await clock.pass(1_000);
    const second = await blob('snapshot');
    expect(second.value).toMatchObject({ frame: 2 });
    expect(Buffer.from(second.bytes).equals(Buffer.from(first.bytes))).toBe(false);
    expect(await call('status')).toMatchObject({ frames: 2 });
    expect(await call('help')).toContain('snapshot');
  });

  it('sees day and night by the gateway’s time', async () => {
    const { blob, peer } = rig('camera');
    peer.welcome({ session: 8, unixMs: Date.UTC(2026, 2, 1, 12) });
    const noon = await brightness((await blob('snapshot')).bytes);
    peer.welcome({ session: 9, unixMs: Date.UTC(2026, 2, 1, 1) });
    const night = await brightness((await blob('snapshot')).bytes);
    expect(noon).toBeGreaterThan(night + 60);
  });
});
