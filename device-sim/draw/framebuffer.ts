/** The panel's memory: four grays, two bits a pixel, the leftmost pixel in the highest bits. */
import { crc32, deflateSync } from 'node:zlib';

/** 0 black, 1 dark, 2 light, 3 white; what each looks like in 8 bits. */
export const GRAYS = [0x00, 0x55, 0xaa, 0xff] as const;

export class Framebuffer {
  readonly bytes: Uint8Array;
  private readonly stride: number;

  /** `width` must be a multiple of 4. 800 by 480 takes 96,000 bytes. A new panel is white. */
  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    if (width % 4 !== 0) throw new RangeError(`a panel's width is a multiple of 4, not ${width}`);
    this.stride = width / 4;
    this.bytes = new Uint8Array(this.stride * height).fill(0xff);
  }

  /** The gray (0 to 3) at a point inside the panel. */
  get(x: number, y: number): number {
    const byte = this.bytes[y * this.stride + (x >> 2)] ?? 0xff;
    return (byte >> (6 - 2 * (x & 3))) & 3;
  }

  /** Takes a whole picture, RGBA of the panel's size, each pixel at its nearest gray. */
  setRgba(rgba: Uint8ClampedArray | Uint8Array): void {
    if (rgba.length !== this.width * this.height * 4) {
      throw new RangeError(`the picture has ${rgba.length} bytes, not the panel's size`);
    }
    for (let i = 0, p = 0; i < this.bytes.length; i++) {
      let packed = 0;
      for (let k = 0; k < 4; k++, p += 4) packed = (packed << 2) | grayOf(lumaAt(rgba, p));
      this.bytes[i] = packed;
    }
  }

  /** The picture as 8-bit RGBA, for programs that look at it. */
  toRgba(): Uint8ClampedArray {
    const out = new Uint8ClampedArray(this.width * this.height * 4);
    for (let y = 0, p = 0; y < this.height; y++) {
      for (let x = 0; x < this.width; x++, p += 4) {
        const gray = GRAYS[this.get(x, y) as 0 | 1 | 2 | 3];
        out[p] = out[p + 1] = out[p + 2] = gray;
        out[p + 3] = 255;
      }
    }
    return out;
  }

  /**
   * A PNG of what the panel shows. PNG's 2-bit grayscale rows are packed as the panel's are,
   * so the file holds the very bytes of the framebuffer.
   */
  toPng(): Uint8Array {
    const header = new Uint8Array(13);
    const view = new DataView(header.buffer);
    view.setUint32(0, this.width);
    view.setUint32(4, this.height);
    header[8] = 2;
    const rows = new Uint8Array((this.stride + 1) * this.height);
    for (let y = 0; y < this.height; y++) {
      const row = this.bytes.subarray(y * this.stride, (y + 1) * this.stride);
      rows.set(row, y * (this.stride + 1) + 1);
    }
    const parts = [
      Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
      chunk('IHDR', header),
      chunk('IDAT', deflateSync(rows, { level: 9 })),
      chunk('IEND', new Uint8Array(0)),
    ];
    const png = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      png.set(part, at);
      at += part.length;
    }
    return png;
  }
}

function chunk(name: string, data: Uint8Array): Uint8Array {
  const out = new Uint8Array(data.length + 12);
  const view = new DataView(out.buffer);
  view.setUint32(0, data.length);
  for (let i = 0; i < 4; i++) out[4 + i] = name.charCodeAt(i);
  out.set(data, 8);
  view.setUint32(8 + data.length, crc32(out.subarray(4, 8 + data.length)));
  return out;
}

/** ITU-R BT.601 luma of one RGBA pixel over white paper. */
export function lumaAt(rgba: Uint8ClampedArray | Uint8Array, p: number): number {
  const alpha = (rgba[p + 3] ?? 255) / 255;
  const luma = 0.299 * (rgba[p] ?? 0) + 0.587 * (rgba[p + 1] ?? 0) + 0.114 * (rgba[p + 2] ?? 0);
  return luma * alpha + 255 * (1 - alpha);
}

/** The nearest of the four grays. */
export function grayOf(luma: number): number {
  return Math.max(0, Math.min(3, Math.round(luma / 85)));
}
