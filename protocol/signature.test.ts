import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeMessage, encodeMessage } from './codec.js';
import type { Value } from './kinds.js';
import {
  checkArgs,
  packArgs,
  parseSignature,
  SignatureError,
  toJsonSchema,
  unpackArgs,
} from './signature.js';

const NAME = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.-]{0,12}$/);
const WORD = fc.stringMatching(/^[a-z0-9 ]{1,8}$/).map((w) => w.replaceAll(' ', '_'));
const ranges = (n: fc.Arbitrary<number>): fc.Arbitrary<string> =>
  fc.tuple(n, n).map(([a, b]) => `${Math.min(a, b)}..${Math.max(a, b)}`);
const tenths = fc.integer({ min: -5000, max: 5000 }).map((n) => n / 10);
const KIND = fc.oneof(
  fc.constantFrom('s', 'i', 'n', 'b', 'j'),
  fc.integer({ min: 1, max: 30 }).map((n) => `s${n}`),
  ranges(fc.integer({ min: -300, max: 300 })).map((r) => `i${r}`),
  ranges(tenths).map((r) => `n${r}`),
  fc.uniqueArray(WORD, { minLength: 1, maxLength: 4 }).map((w) => `e(${w.join(',')})`),
);
const SIGNATURE = fc
  .record({
    names: fc.uniqueArray(NAME, { maxLength: 6 }),
    kinds: fc.array(fc.tuple(KIND, fc.boolean()), { minLength: 6, maxLength: 6 }),
    open: fc.boolean(),
  })
  .map(({ names, kinds, open }) => {
    const params = names.map((name, i) => {
      const [kind, optional] = kinds[i] ?? ['b', false];
      return `${name}${optional ? '?' : ''}:${kind}`;
    });
    return parseSignature([...params, ...(open ? ['*'] : [])].join(' '));
  });

const ascii = fc.string({ unit: 'grapheme-ascii', maxLength: 40 });
const json = fc.oneof(
  ascii,
  fc.integer({ min: -400, max: 400 }),
  tenths,
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), ascii, { maxKeys: 2 }),
);

/** A signature and arguments: some good, some not. */
const CASE = SIGNATURE.chain((signature) =>
  fc
    .tuple(
      fc.tuple(
        ...signature.params.map((param) => {
          const likely =
            param.kind === 'enum'
              ? fc.constantFrom(...(param.values ?? []))
              : param.kind === 'text'
                ? ascii.map((t) => t.slice(0, param.max))
                : param.kind === 'bool'
                  ? fc.boolean()
                  : param.kind === 'json'
                    ? json
                    : fc.integer({
                        min: Math.ceil(param.min ?? 0),
                        max: Math.max(Math.ceil(param.min ?? 0), Math.floor(param.max ?? 9)),
                      });
          return fc.option(
            fc.oneof({ weight: 12, arbitrary: likely as fc.Arbitrary<unknown> }, json),
            { nil: undefined, freq: 8 },
          );
        }),
      ),
      fc.dictionary(fc.stringMatching(/^x[a-z]{1,3}$/), json, { maxKeys: 2 }),
      fc.boolean(),
    )
    .map(([values, extra, withExtra]) => {
      const args: Record<string, unknown> = withExtra ? { ...extra } : {};
      signature.params.forEach((param, i) => {
        if (values[i] !== undefined) args[param.name] = values[i];
      });
      return { signature, args };
    }),
);

const ajv = new Ajv2020({ allErrors: true, strict: true, validateSchema: true });

describe('a signature', () => {
  it('makes a schema that says the same as the check', () => {
    const seen = { good: 0, bad: 0 };
    fc.assert(
      fc.property(CASE, ({ signature, args }) => {
        const valid = ajv.validate(toJsonSchema(signature), args);
        const problems = checkArgs(signature, args);
        seen[problems.length === 0 ? 'good' : 'bad']++;
        expect([signature.text, args, problems.length === 0]).toEqual([
          signature.text,
          args,
          valid,
        ]);
      }),
      { numRuns: 100 },
    );
    expect(Math.min(seen.good, seen.bad)).toBeGreaterThan(20);
  });

  it('packs good arguments so that a board reads them back from a CALL', () => {
    fc.assert(
      fc.property(CASE, ({ signature, args }) => {
        fc.pre(checkArgs(signature, args).length === 0);
        const call = encodeMessage({
          type: 'call',
          callId: 1,
          bootId: 1,
          verb: 0,
          args: packArgs(signature, args),
          ttlMs: 1,
        });
        const message = decodeMessage(call);
        if (message.type !== 'call') throw new Error('not a call');
        expect(unpackArgs(signature, message.args)).toEqual(args);
      }),
      { numRuns: 100 },
    );
  });

  it('is read by its grammar', () => {
    const { params, open } = parseSignature(
      'text:s200 size?:i1..4  color?:e(black,red) t:n-1.5..2 *',
    );
    expect(open).toBe(true);
    expect(params).toEqual([
      { name: 'text', optional: false, kind: 'text', max: 200 },
      { name: 'size', optional: true, kind: 'int', min: 1, max: 4 },
      { name: 'color', optional: true, kind: 'enum', values: ['black', 'red'] },
      { name: 't', optional: false, kind: 'number', min: -1.5, max: 2 },
    ]);
    expect(parseSignature('').params).toEqual([]);
  });

  it.each([
    'text',
    'text:',
    ':s',
    '?:s',
    'a:s a:i',
    'a:s0',
    'a:s65536',
    'a:i4..1',
    'a:i1.5..2',
    'a:i1..9007199254740992',
    'a:n1..',
    'a:e()',
    'a:e(x,,y)',
    'a:e(x,x)',
    'a:e(x',
    'a:q',
    '* a:s',
    '__proto__:s',
    'ä:s',
    'a b:s',
    `${'n'.repeat(65)}:s`,
    'x'.repeat(1025),
    Array.from({ length: 33 }, (_, i) => `p${i}:b`).join(' '),
  ])('is refused: %s', (text) => {
    expect(() => parseSignature(text)).toThrow(SignatureError);
  });

  it('says what is wrong in words, without the values', () => {
    const signature = parseSignature('text:s5 size?:i1..4 color?:e(black,red) on?:b');
    expect(checkArgs(signature, { size: 9, color: 'secret', on: 1, foo: 2 })).toEqual([
      'text is missing: text of at most 5 bytes',
      'size must be a whole number from 1 to 4',
      'color must be one of black, red',
      'on must be true or false',
      'foo is not an argument here; this verb takes: text, size, color, on',
    ]);
    expect(checkArgs(signature, ['x'])).toHaveLength(1);
    expect(checkArgs(signature, null)).toHaveLength(1);
  });

  it('counts bytes of text, not characters', () => {
    const signature = parseSignature('t:s5');
    expect(checkArgs(signature, { t: '21 °C' })).toEqual(['t must be text of at most 5 bytes']);
    expect(checkArgs(signature, { t: '2 °C' })).toEqual([]);
    expect(checkArgs(signature, { t: '\u{1f600}' })).toEqual([]);
    expect(checkArgs(signature, { t: '\ud83d' })).toHaveLength(1);
  });

  it('takes no inherited property for an argument', () => {
    expect(checkArgs(parseSignature('constructor:j'), {})).toHaveLength(1);
    expect(packArgs(parseSignature('toString?:j'), {}).size).toBe(0);
  });

  it('refuses what the wire has no form for', () => {
    const hostile = JSON.parse('{"a":{"__proto__":1}}');
    expect(checkArgs(parseSignature('a:j'), hostile)).toHaveLength(1);
    expect(checkArgs(parseSignature('*'), JSON.parse('{"__proto__":1}'))).toHaveLength(1);
    let deep: Value = 1;
    for (let i = 0; i < 6; i++) deep = [deep];
    expect(checkArgs(parseSignature('a:j'), { a: deep })).toEqual([]);
    expect(checkArgs(parseSignature('a:j'), { a: [deep] })).toHaveLength(1);
  });
});
