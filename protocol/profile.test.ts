import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeValue, FrameError } from './codec.js';
import { fromHex, toHex } from './identity.js';
import { checkProfile } from './profile.js';

function codeOf(bytes: Uint8Array): string {
  try {
    checkProfile(bytes);
    return 'good';
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    return error.code;
  }
}

const concat = (...parts: (string | Uint8Array)[]): Uint8Array =>
  fromHex(parts.map((p) => (typeof p === 'string' ? p : toHex(p))).join(''));

describe('the profile', () => {
  it.each([
    ['', 'truncated'],
    ['0000', 'trailing_bytes'],
    ['1817', 'long_head'],
    ['1818', 'good'],
    ['1900ff', 'long_head'],
    ['190100', 'good'],
    ['1a0000ffff', 'long_head'],
    ['1a00010000', 'good'],
    ['1b00000000ffffffff', 'long_head'],
    ['1b0000000100000000', 'good'],
    ['1b001fffffffffffff', 'good'],
    ['1b0020000000000000', 'integer_range'],
    ['3b001ffffffffffffe', 'good'],
    ['3b001fffffffffffff', 'integer_range'],
    ['1bffffffffffffffff', 'integer_range'],
    ['5b0000000000000009aa', 'long_head'],
    ['5bffffffffffffffff', 'truncated'],
    ['5b7fffffffffffffff', 'truncated'],
    ['5a0001000000', 'truncated'],
    ['9affffffff', 'truncated'],
    ['bbffffffffffffffff', 'truncated'],
    ['7801', 'long_head'],
    ['62c328', 'bad_utf8'],
    ['62c080', 'bad_utf8'],
    ['63eda080', 'bad_utf8'],
    ['64f4908080', 'bad_utf8'],
    ['61c3', 'bad_utf8'],
    ['63e282ac', 'good'],
    ['5f4100ff', 'indefinite'],
    ['9f00ff', 'indefinite'],
    ['ff', 'indefinite'],
    ['1f', 'bad_head'],
    ['3f', 'bad_head'],
    ['1c', 'bad_head'],
    ['fc', 'bad_head'],
    ['c100', 'tag'],
    ['d9d9f700', 'tag'],
    ['f7', 'simple_value'],
    ['f3', 'simple_value'],
    ['f820', 'simple_value'],
    ['f97e00', 'good'],
    ['f97e01', 'float_form'],
    ['f9fe00', 'float_form'],
    ['fa7fc00000', 'float_form'],
    ['fb7ff8000000000000', 'float_form'],
    ['fa3fc00000', 'float_form'],
    ['fa3dcccccd', 'good'],
    ['fb3fb99999a0000000', 'float_form'],
    ['fb3fb999999999999a', 'good'],
    ['a201010102', 'duplicate_key'],
    ['a2616101616102', 'duplicate_key'],
    ['a201016101 01', 'key_type'],
    ['a12000', 'key_type'],
    ['a1f500', 'key_type'],
    ['a18000', 'key_type'],
    ['a1695f5f70726f746f5f5f01', 'unsafe_key'],
    ['a2695f5f70726f746f5f5f01695f5f70726f746f5f5f02', 'unsafe_key'],
    ['a164efbbbf6101', 'unsafe_key'],
    ['8181818181818180', 'good'],
    ['818181818181818180', 'too_deep'],
  ])('%s is %s', (hex, expected) => {
    expect(codeOf(fromHex(hex))).toBe(expected);
  });

  it('finds a repeated key in a map of any size and order', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat({ max: 22 }), { minLength: 1, maxLength: 22 }),
        fc.nat(),
        fc.boolean(),
        (keys, pick, text) => {
          const key = (k: number): string =>
            text ? `61${(0x41 + k).toString(16)}` : k.toString(16).padStart(2, '0');
          const map = (ks: number[]): Uint8Array =>
            concat(Uint8Array.of(0xa0 + ks.length), ...ks.map((k) => `${key(k)}00`));
          expect(codeOf(map(keys))).toBe('good');
          expect(codeOf(map([...keys, keys[pick % keys.length] as number]))).toBe('duplicate_key');
        },
      ),
    );
  });

  it('says the same of a thousand keys, in time', () => {
    const keys = Array.from({ length: 1024 }, (_, i) => (i * 37) % 1024);
    const head = Uint8Array.of(0xb9, 4, 0);
    const int = keys.map(
      (k) =>
        `${k < 24 ? k.toString(16).padStart(2, '0') : k < 256 ? `18${k.toString(16)}` : `19${k.toString(16).padStart(4, '0')}`}00`,
    );
    expect(codeOf(concat(head, ...int))).toBe('good');
    const text = keys.map(
      (k) => `64${toHex(new TextEncoder().encode(k.toString().padStart(4, '0')))}00`,
    );
    expect(codeOf(concat(head, ...text))).toBe('good');
    text[1023] = text[5] as string;
    expect(codeOf(concat(head, ...text))).toBe('duplicate_key');
  });

  it('throws only its own error for any bytes, and decodes what it lets through', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        if (codeOf(bytes) === 'good') expect(() => decodeValue(bytes)).not.toThrow();
      }),
      { numRuns: 5000 },
    );
  });
});

describe('hostile bytes', () => {
  const chain = (): Uint8Array => {
    const bytes = new Uint8Array(200_000);
    for (let at = 0; at + 5 <= bytes.length; at += 5) {
      bytes[at] = 0x9a;
      new DataView(bytes.buffer).setUint32(at + 1, bytes.length - at - 5);
    }
    return bytes;
  };
  const bigMap = (): Uint8Array => {
    const bytes = new Uint8Array(5 + 65_536 * 4);
    bytes.set([0xba, 0, 1, 0, 0]);
    for (let i = 0; i < 65_536; i++) bytes.set([0x19, i >> 8, i, 0], 5 + i * 4);
    return bytes.subarray(0, 262_144);
  };
  it.each<[string, Uint8Array, string]>([
    ['200 kB of 0x81', new Uint8Array(200_000).fill(0x81), 'too_deep'],
    ['200 kB of tags', new Uint8Array(200_000).fill(0xc1), 'tag'],
    ['a chain of arrays as long as the bytes left', chain(), 'too_deep'],
    ['a map of 65,536', bigMap(), 'too_many'],
    ['200 kB of empty maps', concat('9a00030d3b', new Uint8Array(199_995).fill(0xa0)), 'too_many'],
    ['an array of four milliards', fromHex('9affffffff'), 'truncated'],
    ['a byte string longer than the bytes', fromHex('4baaaa'), 'truncated'],
  ])('%s: refused within 5 ms and 1 MB', (_, bytes, code) => {
    // The best of ten: other work on the machine must not decide.
    let took = Infinity;
    let grew = Infinity;
    for (let run = 0; run < 10; run++) {
      const before = process.memoryUsage();
      const start = performance.now();
      expect(codeOf(bytes)).toBe(code);
      took = Math.min(took, performance.now() - start);
      const after = process.memoryUsage();
      const more = after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers;
      grew = Math.min(grew, Math.max(0, more));
    }
    expect(took).toBeLessThan(5);
    expect(grew).toBeLessThan(1_000_000);
  });
});
