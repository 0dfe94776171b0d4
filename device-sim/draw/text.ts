/** Text for a small panel: made harmless, wrapped at words, cut between characters, and marked. */
import { loadFonts } from './fonts.js';

/** What stands where text did not fit. */
export const CUT = '[cut]';
/** What stands for a character that the board's font does not have. */
export const BOX = '\u25af';

const PLAIN = /^[\n\x20-\x7e\u00a1-\u00ac\u00ae-\u024f\u2013\u2014\u2018-\u201d\u2022\u2026]*$/;
// Controls, zero-width marks and direction overrides: none has ink, some turn a line round.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Variation_Selector}]/gu;
const KEPT = new Set(['\n', '\u200c', '\u200d']);
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The same text with nothing in it that the panel can't draw: controls and direction overrides
 * are left out, a character without a glyph becomes one box, a pile of combining marks is cut
 * down to four.
 */
export function printable(text: string): string {
  const lines = text.replace(/\r\n?|[\u2028\u2029\x85]/g, '\n').replace(/\t/g, '  ');
  if (PLAIN.test(lines)) return lines;
  const covers = loadFonts();
  const clean = lines.normalize('NFC').replace(INVISIBLE, (c) => (KEPT.has(c) ? c : ''));
  let out = '';
  for (const { segment } of graphemes.segment(clean)) {
    if (segment === '\n') {
      out += '\n';
      continue;
    }
    const points = [...segment];
    const base = points[0] ?? '';
    const drawable = (point: string): boolean => covers(point.codePointAt(0) ?? 0);
    if (!drawable(base) || /\p{Surrogate}/u.test(base)) out += BOX;
    else if (points.includes('\u200d') && !points.every(drawable)) out += BOX;
    else out += base + points.slice(1, 5).filter(drawable).join('');
  }
  return out;
}

/** True where a line's first letter is of a script that is written from right to left. */
export function isRtl(line: string): boolean {
  const first = /\p{L}/u.exec(line)?.[0];
  return (
    first !== undefined && /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}]/u.test(first)
  );
}

export type Measure = (text: string) => number;

export interface Wrapped {
  lines: string[];
  /** True if the last line ends in the mark because more text was there. */
  cut: boolean;
}

/**
 * Breaks text into at most `maxLines` lines of at most `width`; words that are too long are
 * broken between characters. What does not fit is replaced by the mark. `text` is printable.
 */
export function wrap(text: string, width: number, maxLines: number, measure: Measure): Wrapped {
  const lines: string[] = [];
  if (maxLines < 1) return { lines, cut: text !== '' };
  for (const paragraph of text.replace(/\s+$/, '').split('\n')) {
    let line = '';
    for (let word of paragraph.split(' ')) {
      const joined = line === '' ? word : `${line} ${word}`;
      if (measure(joined) <= width) {
        line = joined;
        continue;
      }
      if (line !== '') lines.push(line);
      while (lines.length <= maxLines && measure(word) > width) {
        const head = headThatFits(word, width, measure);
        lines.push(head);
        word = word.slice(head.length);
      }
      line = word;
      if (lines.length > maxLines) return cutAt(lines, width, maxLines, measure);
    }
    lines.push(line);
    if (lines.length > maxLines) return cutAt(lines, width, maxLines, measure);
  }
  return { lines, cut: false };
}

function cutAt(lines: string[], width: number, maxLines: number, measure: Measure): Wrapped {
  const kept = lines.slice(0, maxLines);
  const last = kept.length - 1;
  kept[last] = withMark(kept[last] ?? '', width, measure);
  return { lines: kept, cut: true };
}

/** One line, cut and marked if it is wider than `width`. Line breaks become spaces. */
export function oneLine(text: string, width: number, measure: Measure): Wrapped {
  const line = text.replace(/\s+/g, ' ').trim();
  if (measure(line) <= width) return { lines: [line], cut: false };
  return { lines: [withMark(line, width, measure)], cut: true };
}

/** The longest beginning of `line` that fits together with the mark; an ellipsis if that can't. */
function withMark(line: string, width: number, measure: Measure): string {
  for (const mark of [CUT, '\u2026']) {
    const room = width - measure(` ${mark}`);
    if (room < measure('mmm') && mark === CUT) continue;
    if (measure(line) <= room) return `${line} ${mark}`;
    const head = headThatFits(line, Math.max(room, 0), measure);
    const space = head.lastIndexOf(' ');
    const tidy = mark === CUT && space > head.length / 2 ? head.slice(0, space) : head;
    return mark === CUT ? `${tidy} ${mark}` : `${tidy}${mark}`;
  }
  return line;
}

/** The longest run of whole characters from the start that is no wider; at least one character. */
function headThatFits(text: string, width: number, measure: Measure): string {
  // No line of a panel holds more than this, and a hostile text may have a million.
  const ends: number[] = [];
  for (const { segment, index } of graphemes.segment(text.slice(0, 400))) {
    ends.push(index + segment.length);
  }
  let low = 1;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(text.slice(0, ends[middle - 1])) <= width) low = middle;
    else high = middle - 1;
  }
  return text.slice(0, ends[low - 1] ?? text.length);
}
