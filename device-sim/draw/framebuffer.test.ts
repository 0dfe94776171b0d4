import { createCanvas, loadImage } from '@napi-rs/canvas';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dither } from './dither.js';
import { Framebuffer, GRAYS } from './framebuffer.js';

describe('the framebuffer', () => {
  it('takes two bits a pixel, the leftmost in the highest bits', () => {
    const panel = new Framebuffer(800, 480);
    expect(panel.bytes.length).toBe(96_000);
    const small = new Framebuffer(4, 1);
    small.setRgba(Uint8ClampedArray.from([0, 0x55, 0xaa, 0xff].flatMap((g) => [g, g, g, 255])));
    expect([...small.bytes]).toEqual([0b00_01_10_11]);
    expect([0, 1, 2, 3].map((x) => small.get(x, 0))).toEqual([0, 1, 2, 3]);
  });

  it('keeps each pixel at its nearest gray', () => {
    const gray = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(fc.array(gray, { minLength: 8, maxLength: 8 }), (row) => {
        const panel = new Framebuffer(8, 1);
        panel.setRgba(Uint8ClampedArray.from(row.flatMap((g) => [g, g, g, 255])));
        row.forEach((wanted, x) => {
          const kept = GRAYS[panel.get(x, 0) as 0 | 1 | 2 | 3];
          for (const other of GRAYS) {
            expect(Math.abs(kept - wanted)).toBeLessThanOrEqual(Math.abs(other - wanted));
          }
        });
      }),
    );
  });

  it('makes a PNG that decodes to the very pixels', async () => {
    const panel = new Framebuffer(800, 480);
    for (let i = 0; i < panel.bytes.length; i++) panel.bytes[i] = (i * 31 + (i >> 7)) & 0xff;
    const image = await loadImage(Buffer.from(panel.toPng()));
    expect([image.width, image.height]).toEqual([800, 480]);
    const canvas = createCanvas(800, 480);
    const ctx = canvas.getContext('2d');
    ctx.drawImage(image, 0, 0);
    const seen = ctx.getImageData(0, 0, 800, 480).data;
    expect(Buffer.from(seen).equals(Buffer.from(panel.toRgba()))).toBe(true);
  });

  it('refuses a picture of another size and a width that does not pack', () => {
    expect(() => new Framebuffer(8, 8).setRgba(new Uint8ClampedArray(4))).toThrow(RangeError);
    expect(() => new Framebuffer(10, 8)).toThrow(RangeError);
  });
});

describe('dithering', () => {
  it('leaves only the four grays, and about the brightness there was', () => {
    const [width, height] = [64, 64];
    const rgba = new Uint8ClampedArray(width * height * 4);
    for (let i = 0; i < width * height; i++) rgba.fill((i % width) * 4, i * 4, i * 4 + 3);
    for (let i = 3; i < rgba.length; i += 4) rgba[i] = 255;
    dither(rgba, width, height);
    const grays = new Set<number>();
    const columns = new Float64Array(width);
    for (let i = 0; i < width * height; i++) {
      const gray = rgba[i * 4] ?? 0;
      grays.add(gray);
      columns[i % width] = (columns[i % width] ?? 0) + gray / height;
    }
    expect([...grays].sort((a, b) => a - b)).toEqual([...GRAYS]);
    const mean = (from: number, to: number): number =>
      columns.slice(from, to).reduce((a, b) => a + b, 0) / (to - from);
    expect(mean(0, 8)).toBeLessThan(40);
    expect(Math.abs(mean(28, 36) - 128)).toBeLessThan(14);
    expect(mean(56, 64)).toBeGreaterThan(215);
  });

  it('does not turn a flat picture into noise', () => {
    const rgba = new Uint8ClampedArray(16 * 16 * 4).fill(255);
    dither(rgba, 16, 16);
    expect(new Set(rgba)).toEqual(new Set([255]));
  });
});
