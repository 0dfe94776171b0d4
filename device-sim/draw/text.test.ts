import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BOX, CUT, isRtl, oneLine, printable, wrap } from './text.js';

/** Ten units a character: tests count characters instead of pixels. */
const measure = (text: string): number => [...text].length * 10;

describe('printable', () => {
  it('keeps what the font has, letters of many scripts included', () => {
    for (const text of [
      'Äpfel, Öl, ß',
      '21 °C · 3 €',
      'Grüße',
      'שלום',
      'مرحبا',
      'Ελληνικά',
      '😀',
    ]) {
      expect(printable(text)).toBe(text.normalize('NFC'));
    }
  });

  it('puts one box for each character that it has no glyph for', () => {
    expect(printable('中文')).toBe(BOX + BOX);
    expect(printable('a👩‍🔬b')).toBe(`a${BOX}b`);
    expect(printable('👨‍👩‍👧!')).toBe(`${BOX}!`);
  });

  it('leaves out controls, zero-width marks and direction overrides', () => {
    expect(printable('a\u0007b\u001b[31mc\u202ed\u200be\ufeff')).toBe('ab[31mcde');
    expect(printable('one\r\ntwo\rthree\u2028four')).toBe('one\ntwo\nthree\nfour');
  });

  it('cuts piles of combining marks down', () => {
    const pile = `a${'\u0301\u0302\u0303'.repeat(200)}`;
    expect([...printable(pile)].length).toBeLessThanOrEqual(5);
  });

  it('makes any string, lone surrogates too, into whole code points', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.integer({ min: 0, max: 60 }),
        (text, at) => {
          const broken = `${text.slice(0, at)}\ud800${text.slice(at)}`;
          expect(printable(broken).isWellFormed()).toBe(true);
          expect(printable(broken)).not.toMatch(/(?!\n)\p{Cc}/u);
        },
      ),
    );
  });
});

describe('wrap', () => {
  it('breaks at words and keeps line breaks', () => {
    expect(wrap('the quick brown\nfox', 100, 9, measure)).toEqual({
      lines: ['the quick', 'brown', 'fox'],
      cut: false,
    });
  });

  it('breaks a word that is wider than a line', () => {
    expect(wrap('abcdefghijklmno', 60, 9, measure).lines).toEqual(['abcdef', 'ghijkl', 'mno']);
  });

  it('marks what it cuts', () => {
    const { lines, cut } = wrap('one two three four five six seven', 120, 2, measure);
    expect(cut).toBe(true);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/\[cut\]$/);
  });

  it('never makes a line too wide, half a character, or more lines than asked; loses nothing unmarked', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'ä', '😀', ' ', '\n', 'xyz', '👩‍🔬', 'é'),
      maxLength: 120,
    });
    fc.assert(
      fc.property(
        text,
        fc.integer({ min: 60, max: 200 }),
        fc.integer({ min: 1, max: 5 }),
        (raw, width, most) => {
          const clean = printable(raw);
          const { lines, cut } = wrap(clean, width, most, measure);
          expect(lines.length).toBeLessThanOrEqual(most);
          for (const line of lines) {
            expect(line.isWellFormed()).toBe(true);
            expect(measure(line)).toBeLessThanOrEqual(width);
          }
          if (!cut) expect(lines.join('').replace(/\s/g, '')).toBe(clean.replace(/\s/g, ''));
          else expect(lines.at(-1)).toMatch(/(\[cut\]|…)$/);
        },
      ),
    );
  });

  it('measures a hostile text a few times over at most', () => {
    let measured = 0;
    const counting = (text: string): number => {
      measured += text.length;
      return measure(text);
    };
    expect(wrap('x'.repeat(1_000_000), 600, 12, counting).cut).toBe(true);
    expect(wrap('a '.repeat(500_000), 600, 12, counting).cut).toBe(true);
    expect(measured).toBeLessThan(20 * 2_000_000);
  });
});

describe('oneLine', () => {
  it('says what it cut, with an ellipsis where the mark has no room', () => {
    expect(oneLine('short', 200, measure).lines).toEqual(['short']);
    expect(oneLine('a title that is long', 160, measure).lines[0]).toMatch(new RegExp(`\\${CUT}$`));
    expect(oneLine('a title that is long', 50, measure).lines[0]).toMatch(/…$/);
  });
});

it('knows a line that is read from the right by its first letter', () => {
  expect(isRtl('שלום abc')).toBe(true);
  expect(isRtl('abc שלום')).toBe(false);
  expect(isRtl('123')).toBe(false);
});
