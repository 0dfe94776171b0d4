/** Turns a photograph into four grays, so that light and shade survive on paper. */
import { GRAYS, grayOf, lumaAt } from './framebuffer.js';

/**
 * Error diffusion after Floyd and Steinberg (1976), in serpentine order, on RGBA in place. The
 * darkest and lightest hundredth are stretched to black and white first: most photographs are
 * duller than the panel can show.
 */
export function dither(rgba: Uint8ClampedArray, width: number, height: number): void {
  const luma = new Float32Array(width * height);
  for (let i = 0; i < luma.length; i++) luma[i] = lumaAt(rgba, i * 4);
  stretch(luma);
  for (let y = 0; y < height; y++) {
    const forward = y % 2 === 0;
    const step = forward ? 1 : -1;
    for (let n = 0; n < width; n++) {
      const x = forward ? n : width - 1 - n;
      const at = y * width + x;
      const wanted = luma[at] ?? 0;
      const shown = GRAYS[grayOf(wanted) as 0 | 1 | 2 | 3];
      const error = wanted - shown;
      luma[at] = shown;
      spread(luma, width, height, x + step, y, (error * 7) / 16);
      spread(luma, width, height, x - step, y + 1, (error * 3) / 16);
      spread(luma, width, height, x, y + 1, (error * 5) / 16);
      spread(luma, width, height, x + step, y + 1, error / 16);
    }
  }
  for (let i = 0; i < luma.length; i++) {
    rgba[i * 4] = rgba[i * 4 + 1] = rgba[i * 4 + 2] = luma[i] ?? 0;
    rgba[i * 4 + 3] = 255;
  }
}

function spread(
  luma: Float32Array,
  width: number,
  height: number,
  x: number,
  y: number,
  error: number,
): void {
  if (x < 0 || x >= width || y >= height) return;
  const at = y * width + x;
  luma[at] = (luma[at] ?? 0) + error;
}

function stretch(luma: Float32Array): void {
  const counts = new Uint32Array(256);
  for (const value of luma) {
    const bin = Math.max(0, Math.min(255, Math.round(value)));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  const few = luma.length / 100;
  let low = 0;
  for (let sum = counts[0] ?? 0; sum <= few && low < 255; sum += counts[low] ?? 0) low++;
  let high = 255;
  for (let sum = counts[255] ?? 0; sum <= few && high > 0; sum += counts[high] ?? 0) high--;
  // A flat picture has nothing to stretch; it would turn into noise.
  if (high - low < 16) return;
  const gain = 255 / (high - low);
  for (let i = 0; i < luma.length; i++) {
    luma[i] = Math.max(0, Math.min(255, ((luma[i] ?? 0) - low) * gain));
  }
}
