/** Signatures, what they mean, and arguments that fit them or don't. */
import { encodeValue } from '../codec.js';
import { toHex } from '../identity.js';
import { toJsonForm } from '../json-form.js';
import type { Value } from '../kinds.js';
import { checkArgs, packArgs, parseSignature, SignatureError, toJsonSchema } from '../signature.js';
import { vectorFile } from './form.js';

type Args = Record<string, Value>;

const GOOD: [string, Args[]][] = [
  ['', [{}, { x: 1 }]],
  [
    'text:s200 size?:i1..4 color?:e(black,red)',
    [
      { text: 'hi' },
      { text: 'hi', size: 4, color: 'red' },
      { text: '' },
      { text: 'a'.repeat(200) },
      { text: 'a'.repeat(201) },
      { size: 1 },
      { text: 'hi', size: 0 },
      { text: 'hi', size: 5 },
      { text: 'hi', size: 1.5 },
      { text: 'hi', size: '1' },
      { text: 'hi', color: 'blue' },
      { text: null },
      { text: 'hi', more: 1 },
    ],
  ],
  ['t:s5', [{ t: '2 °C' }, { t: '21 °C' }, { t: '😀' }, { t: '😀😀' }]],
  [
    'n:n v:i t:s',
    [
      { n: 0.1, v: -2_147_483_648, t: 'x' },
      { n: 1e300, v: 2_147_483_648, t: 'x' },
    ],
  ],
  ['x:n-1.5..2', [{ x: -1.5 }, { x: 2 }, { x: 2.0001 }, { x: -1.6 }]],
  ['on:b', [{ on: true }, { on: 1 }]],
  [
    'card:j',
    [{ card: { type: 'kv', rows: { in: '19:30' } } }, { card: null }, { card: [[[[[[1]]]]]] }, {}],
  ],
  ['type:s *', [{ type: 'text', title: 'x', rows: [1] }, { type: 'text' }, { title: 'x' }]],
  ['*', [{ a: 1 }, {}]],
  ['a?:b b:b', [{ b: true }, { a: false, b: true }, { a: false }]],
];

const BAD = [
  'text',
  'text:',
  ':s',
  '?:s',
  'a:s a:i',
  'a:s0',
  'a:s65536',
  'a:i4..1',
  'a:i1.5..2',
  'a:n1..',
  'a:i1..9007199254740992',
  'a:e()',
  'a:e(x,,y)',
  'a:e(x,x)',
  'a:e(x',
  'a:q',
  '* a:s',
  '__proto__:s',
  'ä:s',
];

export function signatureVectors(): string {
  return vectorFile(
    [
      'Signatures of verbs (signature.ts has the grammar). params and open are what they mean; schema is their JSON Schema.',
      'args: arguments by name, as json in values.json; packed is their encoding as the args of CALL (a map by position); without packed they are refused before anything is sent.',
      'Positions are written in order. bad: signatures that are refused.',
    ],
    {
      good: GOOD.map(([text, cases]) => {
        const signature = parseSignature(text);
        return {
          text,
          params: signature.params,
          open: signature.open,
          schema: toJsonSchema(signature),
          args: cases.map((args) => ({
            json: toJsonForm(args),
            ...(checkArgs(signature, args).length === 0
              ? { packed: toHex(encodeValue(packArgs(signature, args))) }
              : {}),
          })),
        };
      }),
      bad: BAD.map((text) => {
        try {
          parseSignature(text);
        } catch (error) {
          if (error instanceof SignatureError) return { text };
          throw error;
        }
        throw new Error(`the signature ${text} was taken`);
      }),
    },
  );
}
