import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildCatalog, type CapsPage, capsHash, capsPages } from './catalog.js';
import { decodeMessage, FrameError } from './codec.js';
import { toHex } from './identity.js';
import type { MessageOf } from './messages.js';
import { isName } from './signature.js';

function read(pages: Uint8Array[]): CapsPage[] {
  return pages.map((bytes) => {
    const message = decodeMessage(bytes);
    if (message.type !== 'caps') throw new Error('not caps');
    return { message, bytes };
  });
}

const page = (caps: Partial<MessageOf<'caps'>>): CapsPage => ({
  message: { type: 'caps', verbs: [], readings: [], page: 0, pages: 1, ...caps },
  bytes: new Uint8Array(1),
});

const NAME = fc.stringMatching(/^[A-Za-z0-9_.-]{1,20}$/).filter(isName);
const INPUT = fc.record({
  name: fc.string({ maxLength: 30 }).filter((s) => Buffer.byteLength(s) <= 64),
  platform: fc.constantFrom('', 'esp32'),
  firmware: fc.constantFrom('', '1.2.3'),
  envelopes: fc.boolean(),
  verbs: fc.uniqueArray(
    fc.record({
      name: NAME,
      signature: fc.constantFrom('', 'text:s200 size?:i1..4', 'a:e(black,red) *'),
      description: fc.string({ unit: 'grapheme-ascii', maxLength: 40 }),
      protected: fc.boolean(),
      idempotent: fc.boolean(),
      readOnly: fc.boolean(),
    }),
    { selector: (v) => v.name, maxLength: 40 },
  ),
  readings: fc.uniqueArray(
    fc.record({
      name: NAME,
      unit: fc.constantFrom('°C', '%', 'hPa'),
      scale: fc.constantFrom(-2, 0, 3),
    }),
    { selector: (r) => r.name, maxLength: 30 },
  ),
});

describe('a catalog', () => {
  it('comes back from its pages, each within the limit, in whatever order they came', () => {
    fc.assert(
      fc.property(INPUT, fc.integer({ min: 128, max: 1500 }), (input, maxMessage) => {
        const pages = capsPages(input, maxMessage);
        for (const bytes of pages) expect(bytes.length).toBeLessThanOrEqual(maxMessage);
        const catalog = buildCatalog(read(pages).reverse());
        expect(catalog).toMatchObject({
          ...input,
          verbs: input.verbs.map(({ signature, ...verb }, index) => ({
            ...verb,
            index,
            signature: { text: signature },
          })),
          readings: input.readings.map((reading, index) => ({ ...reading, index })),
          hash: toHex(capsHash(pages)),
        });
        // A catalog can be told again as it was.
        expect(capsPages(catalog, maxMessage)).toEqual(pages);
      }),
      { numRuns: 150 },
    );
  });

  it('fills pages: one that holds everything is not split', () => {
    const verbs = [{ name: 'status', signature: '' }];
    expect(capsPages({ name: 'x', verbs }, 128)).toHaveLength(1);
  });

  it('names the verb that is too large for a page', () => {
    const verbs = [{ name: 'big', signature: '', description: 'd'.repeat(200) }];
    expect(() => capsPages({ verbs }, 128)).toThrow(/the verb big takes \d+ bytes/);
  });

  it('has a hash of 8 bytes that changes with any byte and with the order of pages', () => {
    const one = Uint8Array.of(1);
    const two = Uint8Array.of(2);
    expect(capsHash([one, two])).toHaveLength(8);
    expect(toHex(capsHash([one, two]))).not.toBe(toHex(capsHash([two, one])));
    expect(toHex(capsHash([]))).toBe('e3b0c44298fc1c14');
  });

  it.each<[string, CapsPage[]]>([
    ['no page', []],
    ['a page that is missing', [page({ page: 1, pages: 2 })]],
    ['a page twice', [page({ pages: 2 }), page({ pages: 2 })]],
    ['pages that disagree on their number', [page({ pages: 2 }), page({ page: 1, pages: 3 })]],
    [
      'two verbs of one name',
      [
        page({
          verbs: [
            ['a', '', 0, ''],
            ['a', 'x:b', 0, ''],
          ],
        }),
      ],
    ],
    [
      'two readings of one name',
      [
        page({
          readings: [
            ['t', '', 0],
            ['t', '', 0],
          ],
        }),
      ],
    ],
    ['a name with a blank', [page({ verbs: [['display draw', '', 0, '']] })]],
    ['a name with √', [page({ verbs: [['draw/√', '', 0, '']] })]],
    ['an empty name', [page({ verbs: [['', '', 0, '']] })]],
    ['the name __proto__', [page({ readings: [['__proto__', '', 0]] })]],
    ['a signature that cannot be read', [page({ verbs: [['a', 'x:zz', 0, '']] })]],
    [
      'too many verbs',
      [0, 1].map((n) =>
        page({
          page: n,
          pages: 2,
          verbs: Array.from({ length: 129 }, (_, i) => [`v${n}.${i}`, '', 0, '']),
        }),
      ),
    ],
  ])('is refused: %s', (_, pages) => {
    expect(() => buildCatalog(pages)).toThrow(FrameError);
    expect(() => buildCatalog(pages)).toThrow(expect.objectContaining({ code: 'bad_catalog' }));
  });
});
