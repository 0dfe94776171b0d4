/**
 * The strict profile of CBOR that crosses every link (design: frame protocol, "Encoding"),
 * checked in one pass over the bytes before anything is built from them: definite lengths,
 * shortest heads, shortest floats, no tags, no simple values but false, true and null, valid
 * UTF-8, at most 8 levels, integers within ±(2^53−1), keys of a map all unsigned integers or
 * all text and never twice. A length is compared with the bytes left before anything else.
 */
import { float32Of, float64Of, halfOf } from './floats.js';
import { FrameError, type FrameErrorCode } from './frame-error.js';
import { keySpace, noteIntKey, noteTextKey } from './profile-keys.js';
import { checkUtf8 } from './utf8.js';

export const MAX_DEPTH = 8;
/** Keys in one map: keeps the check for duplicates small on a board. */
export const MAX_KEYS = 1024;
/** Arrays and maps in one item: bounds what small bytes can make a decoder allocate. */
export const MAX_CONTAINERS = 8192;
/** Bytes that are looked at when the caller names no limit. */
export const DEFAULT_LIMIT = 262_144;

/** What a checked item holds, so that decoding can take the shortest way. */
export interface Profile {
  intMaps: boolean;
  textMaps: boolean;
  emptyMaps: boolean;
  /** Positions, counted over all text items in order, of text that starts with U+FEFF. */
  marks: number[] | undefined;
}

const found: Profile = { intMaps: false, textMaps: false, emptyMaps: false, marks: undefined };
let containers = 0;
let texts = 0;

/**
 * Checks that `bytes` are exactly one item of the profile and says what is in it. The answer
 * is one shared object, overwritten by the next check.
 * @throws FrameError with the offset of the item at fault
 */
export function checkProfile(bytes: Uint8Array, limit = DEFAULT_LIMIT): Readonly<Profile> {
  if (bytes.length > limit) {
    throw new FrameError('too_large', `${bytes.length} bytes came and at most ${limit} are taken`);
  }
  found.intMaps = found.textMaps = found.emptyMaps = false;
  found.marks = undefined;
  containers = texts = 0;
  const end = checkItem(bytes, 0, 0);
  if (end !== bytes.length) fail('trailing_bytes', end, `${bytes.length - end} bytes follow`);
  return found;
}

function fail(code: FrameErrorCode, offset: number, what: string): never {
  throw new FrameError(code, `${what} at byte ${offset}; nothing of it was taken`, { offset });
}

const RESERVED = -1;
const INDEFINITE = -2;
const LONG = -3;
const SHORT_OF_BYTES = -4;
/** A 64-bit argument above 2^53−1. */
const HUGE = -5;
let next = 0;

/** Reads a head's argument; `next` is then the byte after the head. Negative: one of above. */
function argument(b: Uint8Array, at: number): number {
  const low = (b[at] as number) & 0x1f;
  next = at + 1;
  if (low < 24) return low;
  if (low > 27) return low === 31 ? INDEFINITE : RESERVED;
  const size = 1 << (low - 24);
  if (size > b.length - next) return SHORT_OF_BYTES;
  next += size;
  if (size === 1) {
    const n = b[at + 1] as number;
    return n < 24 ? LONG : n;
  }
  const n16 = ((b[at + 1] as number) << 8) | (b[at + 2] as number);
  if (size === 2) return n16 < 0x100 ? LONG : n16;
  const n32 = n16 * 0x1_0000 + (((b[at + 3] as number) << 8) | (b[at + 4] as number));
  if (size === 4) return n32 < 0x1_0000 ? LONG : n32;
  if (n32 === 0) return LONG;
  if (n32 > 0x1f_ffff) return HUGE;
  return n32 * 0x1_0000_0000 + word(b, at + 5);
}

function word(b: Uint8Array, at: number): number {
  return (
    (((b[at] as number) << 24) |
      ((b[at + 1] as number) << 16) |
      ((b[at + 2] as number) << 8) |
      (b[at + 3] as number)) >>>
    0
  );
}

function badArgument(n: number, major: number, at: number): never {
  if (n === LONG) fail('long_head', at, 'a head that could be shorter');
  if (n === SHORT_OF_BYTES) fail('truncated', at, 'the bytes end inside the head');
  if (n === INDEFINITE && major >= 2) fail('indefinite', at, 'an indefinite length');
  if (n !== HUGE) fail('bad_head', at, 'a reserved head');
  if (major < 2) fail('integer_range', at, 'an integer beyond 2^53−1');
  fail('truncated', at, 'a length far beyond the bytes left');
}

/** Checks the item at `at`, inside `depth` containers, and returns the offset after it. */
function checkItem(b: Uint8Array, at: number, depth: number): number {
  if (at >= b.length) fail('truncated', at, 'the bytes end where an item should begin');
  const major = (b[at] as number) >> 5;
  if (major === 7) return checkSimple(b, at);
  if (major === 6) fail('tag', at, 'a tag');
  const n = argument(b, at);
  if (n < 0) badArgument(n, major, at);
  if (major === 0) return next;
  if (major === 1) {
    if (n === Number.MAX_SAFE_INTEGER) fail('integer_range', at, 'an integer below −(2^53−1)');
    return next;
  }
  const from = next;
  const left = b.length - from;
  if (n > (major === 5 ? left / 2 : left)) {
    fail('truncated', at, `a length of ${n} with ${left} bytes left`);
  }
  if (major === 2) return from + n;
  if (major === 3) return checkText(b, at, from, n, false);
  if (depth === MAX_DEPTH) fail('too_deep', at, `more than ${MAX_DEPTH} levels`);
  if (++containers > MAX_CONTAINERS) {
    fail('too_many', at, `more than ${MAX_CONTAINERS} arrays and maps`);
  }
  if (major === 5) return checkMap(b, at, from, n, depth + 1);
  let position = from;
  for (let i = 0; i < n; i++) {
    // Most items are small integers: they need no call.
    if (position < b.length && (b[position] as number) < 24) position++;
    else position = checkItem(b, position, depth + 1);
  }
  return position;
}

function checkText(b: Uint8Array, at: number, from: number, n: number, key: boolean): number {
  const bad = checkUtf8(b, from, from + n);
  if (bad >= 0) fail('bad_utf8', at, `text with a byte that is not UTF-8 (at ${bad})`);
  if (n >= 3 && b[from] === 0xef && b[from + 1] === 0xbb && b[from + 2] === 0xbf) {
    if (key) fail('unsafe_key', at, 'a key that starts with a byte order mark');
    found.marks ??= [];
    found.marks.push(texts);
  }
  texts++;
  return from + n;
}

function checkMap(b: Uint8Array, at: number, from: number, n: number, depth: number): number {
  if (n > MAX_KEYS) fail('too_many', at, `a map of ${n} keys (at most ${MAX_KEYS})`);
  if (n === 0) {
    found.emptyMaps = true;
    return from;
  }
  const major = (b[from] as number) >> 5;
  if (major === 0) found.intMaps = true;
  else if (major === 3) found.textMaps = true;
  else {
    // A fault of the key itself is told before its kind.
    checkItem(b, from, depth);
    fail('key_type', from, 'a key that is neither an unsigned integer nor text');
  }
  keySpace(depth);
  let position = from;
  for (let i = 0; i < n; i++) {
    const keyAt = position;
    if (keyAt >= b.length) fail('truncated', keyAt, 'the bytes end where a key should begin');
    const keyMajor = (b[keyAt] as number) >> 5;
    if (keyMajor !== major) {
      checkItem(b, keyAt, depth);
      fail('key_type', keyAt, 'keys of two kinds in one map');
    }
    const key = argument(b, keyAt);
    if (key < 0) badArgument(key, keyMajor, keyAt);
    const start = next;
    let fresh: boolean;
    if (major === 0) {
      position = start;
      fresh = noteIntKey(depth, i, key);
    } else {
      if (key > b.length - start) fail('truncated', keyAt, `a key of ${key} bytes, too few left`);
      position = checkText(b, keyAt, start, key, true);
      if (key === 9 && isProto(b, start)) fail('unsafe_key', keyAt, 'the key __proto__');
      fresh = noteTextKey(b, depth, i, start, key);
    }
    if (!fresh) fail('duplicate_key', keyAt, 'a key that the map already has');
    position = checkItem(b, position, depth);
  }
  return position;
}

const PROTO = [...'__proto__'].map((c) => c.charCodeAt(0));

function isProto(b: Uint8Array, at: number): boolean {
  for (let i = 0; i < 9; i++) if (b[at + i] !== PROTO[i]) return false;
  return true;
}

function checkSimple(b: Uint8Array, at: number): number {
  const low = (b[at] as number) & 0x1f;
  if (low >= 20 && low <= 22) return at + 1;
  if (low < 25) fail('simple_value', at, 'a simple value other than false, true and null');
  if (low === 31) fail('indefinite', at, 'a break outside any indefinite item');
  if (low > 27) fail('bad_head', at, 'a reserved head');
  const size = 1 << (low - 24);
  if (size > b.length - at - 1) fail('truncated', at, 'the bytes end inside a float');
  if (size === 2) {
    const bits = ((b[at + 1] as number) << 8) | (b[at + 2] as number);
    if ((bits & 0x7c00) === 0x7c00 && (bits & 0x3ff) !== 0 && bits !== 0x7e00) {
      fail('float_form', at, 'a NaN other than f97e00');
    }
    return at + 3;
  }
  const high = word(b, at + 1);
  if (size === 4) {
    if (halfOf(high) >= 0) fail('float_form', at, 'a 32-bit float that fits 16 bits');
    return at + 5;
  }
  const value = float64Of(high, word(b, at + 5));
  if (Number.isNaN(value) || Math.fround(value) === value) {
    fail('float_form', at, 'a 64-bit float that fits fewer bits');
  }
  return at + 9;
}

/** The value of a half or single float that was checked; for explanations. */
export function floatAt(b: Uint8Array, at: number): number {
  const low = (b[at] as number) & 0x1f;
  if (low === 26) return float32Of(word(b, at + 1));
  if (low === 27) return float64Of(word(b, at + 1), word(b, at + 5));
  const bits = ((b[at + 1] as number) << 8) | (b[at + 2] as number);
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
  if (exponent === 0) return (sign * fraction) / 2 ** 24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
