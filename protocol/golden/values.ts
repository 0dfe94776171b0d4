/** Values at every boundary of the encoding, and bytes that no one may take. */
import { decodeValue, encodeValue, FrameError } from '../codec.js';
import { fromHex, toHex } from '../identity.js';
import { toJsonForm } from '../json-form.js';
import type { Value } from '../kinds.js';
import { bytesOfHex, type Hex, hexOf, prefixErrors, vectorFile } from './form.js';

const SIZES = [0, 1, 23, 24, 255, 256, 65_535, 65_536];

function good(meaning: string, value: Value): unknown {
  const bytes = encodeValue(value);
  return {
    meaning,
    hex: toHex(bytes),
    json: toJsonForm(value),
    prefixes: prefixErrors(bytes, decodeValue),
  };
}

function sized(): unknown[] {
  const out: unknown[] = [];
  for (const n of SIZES) {
    const headBytes = n < 24 ? 1 : n < 256 ? 2 : n < 65_536 ? 3 : 5;
    const add = (meaning: string, value: Value, is: unknown): void => {
      out.push({ meaning, hex: hexOf(encodeValue(value), headBytes), is });
    };
    add(`text of ${n} bytes`, 'a'.repeat(n), { text: 'a', times: n });
    add(`${n} bytes`, new Uint8Array(n).fill(0xee), { bytes: 'ee', times: n });
    add(`a list of ${n}`, new Array(n).fill(7), { list: 7, times: n });
    if (n > 1024) continue;
    const map = new Map<number, Value>(Array.from({ length: n }, (_, i) => [i, 0]));
    out.push({ meaning: `a map of ${n}`, hex: toHex(encodeValue(map)), is: { map: n } });
  }
  const most = new Map<number, Value>(Array.from({ length: 1024 }, (_, i) => [i, 0]));
  out.push({ meaning: 'the largest map', hex: toHex(encodeValue(most)), is: { map: 1024 } });
  return out;
}

const NUMBERS = [
  ...SIZES,
  2 ** 32 - 1,
  2 ** 32,
  1_785_000_000_123,
  Number.MAX_SAFE_INTEGER,
  ...SIZES.map((n) => -1 - n),
  -(2 ** 32),
  -(2 ** 32) - 1,
  -Number.MAX_SAFE_INTEGER,
  ...[0.5, -0.5, 1.5, -0, Number.NaN, Infinity, -Infinity, 65_504.5, 0.1, 3.1415927410125732],
  ...[2 ** -14, 2 ** -24, 2 ** -25, 2 ** -149, 5e-324, 2 ** 53, -(2 ** 53), 2 ** 60, 1e300],
  ...[0.333251953125, 0.3333333432674408, 1 / 3, 2049.5, 1023.5, 3.4028234663852886e38],
];

function values(): unknown[] {
  return [
    ...NUMBERS.map((n) => good(`the number ${Object.is(n, -0) ? '-0' : String(n)}`, n)),
    good('null', null),
    good('true', true),
    good('false', false),
    good('text of two, three and four bytes a character', 'äß 21 °C € 😀'),
    good('text of a family with zero-width joiners', '👨‍👩‍👧'),
    good('text with a zero and a quote', '\u0000"\\'),
    good('text that starts with a byte order mark', '\ufeffmark'),
    good('a map with text keys', { a: 1, '': 2, constructor: 3, '1': 4, ä: [true, null] }),
    good(
      'a map with integer keys, out of order',
      new Map<number, Value>([
        [9, 'x'],
        [0, {}],
        [65_536, 1],
      ]),
    ),
    good('both kinds of map in one', { list: [new Map<number, Value>([[1, { deep: null }]])] }),
    good('eight levels', [[[[[[[[]]]]]]]]),
    good('eight levels of maps', { a: { a: { a: { a: { a: { a: { a: { a: 1 } } } } } } } }),
  ];
}

const filled = (head: string, byte: string, times: number): Hex => ({
  parts: [...(head === '' ? [] : [[head, 1] as [string, number]]), [byte, times]],
});

/** Meaning and bytes; the error and its place come from the reference. */
const BAD: [string, Hex][] = [
  ['nothing', ''],
  ['two items', '0001'],
  ['an item and a break', '00ff'],
  ['23 in two bytes', '1817'],
  ['255 in three bytes', '1900ff'],
  ['65,535 in five bytes', '1a0000ffff'],
  ['4,294,967,295 in nine bytes', '1b00000000ffffffff'],
  ['-24 in two bytes', '3817'],
  ['a text length in a long head', '780161'],
  ['a list length in a long head', '980100'],
  ['a map length in a long head', 'b8010000'],
  ['2^53', '1b0020000000000000'],
  ['2^64-1', '1bffffffffffffffff'],
  ['-2^53', '3b001fffffffffffff'],
  ['-2^64', '3bffffffffffffffff'],
  ['indefinite bytes', '5f4100ff'],
  ['indefinite text', '7f6161ff'],
  ['an indefinite list', '9f00ff'],
  ['an indefinite map', 'bf0000ff'],
  ['a break alone', 'ff'],
  ['a break inside a list', '81ff'],
  ['reserved heads', '1c'],
  ['a reserved head of a float', 'fd'],
  ['an indefinite integer', '1f'],
  ['a tag', 'c000'],
  ['a bignum', 'c249010000000000000000'],
  ['the tag that says it is CBOR', 'd9d9f700'],
  ['undefined', 'f7'],
  ['simple value 0', 'e0'],
  ['simple value 19', 'f3'],
  ['simple value 32', 'f820'],
  ['a NaN with a payload', 'f97e01'],
  ['a negative NaN', 'f9fe00'],
  ['NaN in 32 bits', 'fa7fc00000'],
  ['NaN in 64 bits', 'fb7ff8000000000000'],
  ['1.5 in 32 bits', 'fa3fc00000'],
  ['1.5 in 64 bits', 'fb3ff8000000000000'],
  ['infinity in 32 bits', 'fa7f800000'],
  ['the smallest half in 32 bits', 'fa33800000'],
  ['a float that fits 32 bits in 64', 'fb3fd5555560000000'],
  ['half a character at the end', '61c3'],
  ['a bare continuation byte', '6180'],
  ['an overlong slash', '62c0af'],
  ['an overlong euro sign', '64f08282ac'],
  ['a surrogate', '63eda080'],
  ['beyond U+10FFFF', '64f4908080'],
  ['ff inside text', '6361ff62'],
  ['Latin-1 in text', '6221b0'],
  ['a key twice', 'a201010102'],
  ['a key twice, apart', 'a3010002000100'],
  ['a text key twice', 'a2616101616102'],
  ['integer and text keys', 'a20101616102'],
  ['a negative key', 'a12000'],
  ['a key that is a list', 'a18000'],
  ['a key that is bytes', 'a1414100'],
  ['a key that is true', 'a1f500'],
  ['the key __proto__', 'a1695f5f70726f746f5f5f01'],
  ['the key __proto__ twice', 'a2695f5f70726f746f5f5f01695f5f70726f746f5f5f02'],
  ['a key that starts with a byte order mark', 'a164efbbbf6101'],
  ['nine levels', '818181818181818180'],
  ['nine levels of maps', 'a100a100a100a100a100a100a100a100a0'],
  ['64 levels', filled('', '81', 64)],
  ['1,000 levels', filled('', '81', 1000)],
  ['200 kB of 0x81', filled('', '81', 200_000)],
  ['200 kB of tags', filled('', 'c1', 200_000)],
  ['a list of 4,294,967,295', '9affffffff'],
  ['a map of 2^64-1', 'bbffffffffffffffff'],
  ['bytes of 2^63-1', '5b7fffffffffffffff'],
  ['bytes of 2^64-1', '5bffffffffffffffff'],
  ['9 bytes in a long head, with one left', '5b0000000000000009aa'],
  ['9 bytes with one left', '49aa'],
  ['text of 65,536 with one left', '7a0001000061'],
  [
    'nine lists, each of as many as bytes follow',
    {
      parts: [
        ['9a00010000', 9],
        ['00', 65_536],
      ],
    },
  ],
  ['a list longer than the bytes left, inside a good one', '8298ff00'],
  [
    'a map of 1,025',
    {
      parts: [
        ['b90401', 1],
        ['0000', 1025],
      ],
    },
  ],
  [
    'a map of 65,536',
    {
      parts: [
        ['ba00010000', 1],
        ['1900', 1],
        ['00', 131_072],
      ],
    },
  ],
  ['8,193 containers', filled('992000', '80', 8192)],
];

function hostile(): unknown[] {
  return BAD.map(([meaning, hex]) => {
    try {
      decodeValue(bytesOfHex(hex));
    } catch (error) {
      if (error instanceof FrameError) {
        return { meaning, hex, error: error.code, offset: error.offset };
      }
      throw error;
    }
    throw new Error(`${meaning} was taken`);
  });
}

/** Bytes that are good but that an encoder of this protocol would not have written. */
const TAKEN: [string, string][] = [
  ['the number 2 as a half float', 'f94000'],
  ['zero as a half float', 'f90000'],
];

export function valueVectors(): string {
  return vectorFile(
    [
      'Single items of the profile (frame.cddl). Decode hex: it gives json; encode json: it gives hex.',
      'In json, {"$hex":..} is bytes, {"$map":[[key,value]..]} a map with integer keys, {"$float":..} a number JSON lacks, {"$object":[[key,value]..]} an object with one key that starts with $.',
      'prefixes: what every proper prefix fails with, as runs of lengths from 0: [[9,"truncated"]] is lengths 0 to 8.',
      'hex may be {"parts":[[hex,times]..]}. In sized, is says the content: text, bytes or a list of one thing so many times; a map has the keys 0 to n-1 in order, each with 0.',
      'hostile: never taken, always with this error; offset is where the item at fault begins. lenient: taken, gives json, though no encoder writes it.',
    ],
    {
      values: values(),
      sized: sized(),
      lenient: TAKEN.map(([meaning, hex]) => ({
        meaning,
        hex,
        json: toJsonForm(decodeValue(fromHex(hex))),
      })),
      hostile: hostile(),
    },
  );
}
