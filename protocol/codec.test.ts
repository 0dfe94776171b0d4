import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeValue, encodeValue, FrameError } from './codec.js';
import { fromHex, toHex } from './identity.js';
import type { Value } from './kinds.js';
import { checkProfile } from './profile.js';

/** Any value of at most 5 levels; empty integer maps decode to `{}` and are left out. */
const anyValue: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 5 },
    fc.oneof(
      fc.constant(null),
      fc.boolean(),
      fc.integer(),
      fc.maxSafeInteger(),
      fc.double(),
      fc.string({ unit: 'binary', maxLength: 90 }),
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.string({ unit: 'binary', maxLength: 90 }).map((s) => `\ufeff${s}`),
      fc.uint8Array({ maxLength: 300 }),
    ),
    fc.array(tie('value'), { maxLength: 30 }),
    fc
      .dictionary(fc.string({ unit: 'binary', maxLength: 70 }), tie('value'), { maxKeys: 30 })
      .map((o) => ({ ...o }))
      .filter((o) => Object.keys(o).every((k) => k !== '__proto__' && !k.startsWith('\ufeff'))),
    fc
      .array(fc.tuple(fc.maxSafeNat(), tie('value')), { minLength: 1, maxLength: 30 })
      .map((entries) => new Map(entries)),
  ),
})).value;

const hex = (value: Value): string => toHex(encodeValue(value));

describe('values', () => {
  it('come back as they were, and their bytes satisfy the profile', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const bytes = encodeValue(value);
        checkProfile(bytes);
        expect(decodeValue(bytes)).toStrictEqual(value);
      }),
      { numRuns: 300 },
    );
  });

  it('keep every number, at its shortest', () => {
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.float(), fc.maxSafeInteger()), (n) => {
        const bytes = encodeValue(n);
        checkProfile(bytes);
        expect(Object.is(decodeValue(bytes), n)).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  it('keep every one of the 65,536 half floats in three bytes or as an integer', () => {
    const wrong: string[] = [];
    for (let bits = 0; bits < 0x1_0000; bits++) {
      // NaN has one form only.
      if ((bits & 0x7c00) === 0x7c00 && (bits & 0x3ff) !== 0 && bits !== 0x7e00) continue;
      const bytes = Uint8Array.of(0xf9, bits >> 8, bits & 255);
      const value = decodeValue(bytes) as number;
      const again = encodeValue(value);
      const whole = Number.isInteger(value) && !Object.is(value, -0);
      const kept = whole ? decodeValue(again) === value : toHex(again) === toHex(bytes);
      if (!kept) wrong.push(toHex(bytes));
    }
    expect(wrong).toEqual([]);
  });

  it('write millisecond timestamps as integers', () => {
    expect(hex(1_785_000_000_123)).toBe('1b0000019f9a4a7a7b');
    expect(decodeValue(encodeValue(1_785_000_000_123))).toBe(1_785_000_000_123);
    expect(hex(Number.MAX_SAFE_INTEGER)).toBe('1b001fffffffffffff');
    expect(hex(-Number.MAX_SAFE_INTEGER)).toBe('3b001ffffffffffffe');
    expect(decodeValue(fromHex('3b001ffffffffffffe'))).toBe(-Number.MAX_SAFE_INTEGER);
  });

  it('write the smallest float that keeps the value', () => {
    expect(hex(1.5)).toBe('f93e00');
    expect(hex(-0)).toBe('f98000');
    expect(hex(Number.NaN)).toBe('f97e00');
    expect(hex(Infinity)).toBe('f97c00');
    expect(hex(2 ** 60)).toBe('fa5d800000');
    expect(hex(65504.5)).toBe('fa477fe080');
    expect(hex(0.1)).toBe('fb3fb999999999999a');
    expect(hex(2 ** -24)).toBe('f90001');
    expect(hex(2 ** -25)).toBe('fa33000000');
  });

  it('never share memory with the bytes they came from', () => {
    for (const size of [10, 5000]) {
      const bytes = encodeValue(new Uint8Array(size).fill(7));
      const value = decodeValue(bytes);
      bytes.fill(9);
      expect(value).toStrictEqual(new Uint8Array(size).fill(7));
      expect(Object.keys(bytes)).toHaveLength(bytes.length);
    }
  });

  it.each<[string, unknown]>([
    ['a date', new Date(0)],
    ['a set', new Set()],
    ['a bigint', 1n],
    ['undefined', undefined],
    ['a function', () => 0],
    ['half a pair', 'x\ud800y'],
    ['half a pair in a key', { '\udc00': 1 }],
    ['half a pair in long text', `${'x'.repeat(99)}\ud800`],
    ['a map with a text key', new Map([['a', 1]])],
    ['a map with a negative key', new Map([[-1, 1]])],
    ['an undefined item', [undefined]],
  ])('refuse to send %s', (_, value) => {
    expect(() => encodeValue(value as Value)).toThrow(FrameError);
  });

  it('leave out properties that are undefined, as JSON does', () => {
    expect(hex({ a: undefined, b: 1 } as unknown as Value)).toBe('a1616201');
  });

  it('refuse a cycle with a typed error', () => {
    const list: Value[] = [];
    list.push(list);
    expect(() => encodeValue(list)).toThrow(expect.objectContaining({ code: 'too_deep' }));
  });
});
