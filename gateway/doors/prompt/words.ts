/** A prompt's tail cut into words: quotes, `key=value`, and JSON that begins inside a word. */

export interface Word {
  /** What the word says, quotes and escapes undone. */
  text: string;
  /** The key of `key=value`, where the word is one. */
  key?: string;
  /** The word was quoted: it is text whatever it looks like. */
  quoted: boolean;
  /** Where it begins in the tail. */
  at: number;
}

const KEY = /^([A-Za-z_][A-Za-z0-9_.-]{0,63})=/;
/** More words than this are no arguments but prose. */
const MAX_WORDS = 512;

/** Undefined where the tail is no list of words (a quote that never ends, too many of them). */
export function wordsOf(tail: string): Word[] | undefined {
  const words: Word[] = [];
  let at = 0;
  while (at < tail.length) {
    if (isBlank(tail[at])) {
      at++;
      continue;
    }
    if (words.length === MAX_WORDS) return undefined;
    const start = at;
    const key = KEY.exec(tail.slice(at, at + 66))?.[1];
    if (key !== undefined) at += key.length + 1;
    const value = valueAt(tail, at);
    if (!value) return undefined;
    words.push({
      text: value.text,
      quoted: value.quoted,
      at: start,
      ...(key === undefined ? {} : { key }),
    });
    at = value.end;
  }
  return words;
}

interface Scanned {
  text: string;
  quoted: boolean;
  end: number;
}

function valueAt(tail: string, at: number): Scanned | undefined {
  const first = tail[at];
  if (first === '"' || first === "'") return quotedAt(tail, at, first);
  if (first === '{' || first === '[') {
    const end = jsonEnd(tail, at);
    if (end !== undefined) return { text: tail.slice(at, end), quoted: false, end };
  }
  let end = at;
  while (end < tail.length && !isBlank(tail[end])) end++;
  return { text: tail.slice(at, end), quoted: false, end };
}

/** A quote ends a word only where a blank or the end follows, so that `it's` is one word. */
function quotedAt(tail: string, at: number, quote: string): Scanned | undefined {
  let text = '';
  for (let i = at + 1; i < tail.length; i++) {
    const unit = tail[i] ?? '';
    if (unit === '\\' && i + 1 < tail.length) {
      const next = tail[++i] ?? '';
      text += next === 'n' ? '\n' : next === 't' ? '\t' : next;
    } else if (unit === quote) {
      const after = tail[i + 1];
      if (after !== undefined && !isBlank(after)) return undefined;
      return { text, quoted: true, end: i + 1 };
    } else text += unit;
  }
  return undefined;
}

/** Where the JSON object or list that begins at `at` ends, by its brackets. */
function jsonEnd(tail: string, at: number): number | undefined {
  let depth = 0;
  let inText = false;
  for (let i = at; i < tail.length; i++) {
    const unit = tail[i];
    if (inText) {
      if (unit === '\\') i++;
      else if (unit === '"') inText = false;
    } else if (unit === '"') inText = true;
    else if (unit === '{' || unit === '[') depth++;
    else if (unit === '}' || unit === ']') {
      depth--;
      if (depth === 0) return i + 1;
    }
  }
  return undefined;
}

export function isBlank(unit: string | undefined): boolean {
  return unit !== undefined && /\s/.test(unit);
}
