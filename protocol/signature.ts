/**
 * The compact signature of a verb's parameters, as a board tells it in CAPS: parameters apart
 * by one or more spaces, each `name:kind` or, if it may be left out, `name?:kind`. Kinds:
 *
 * | kind | takes |
 * |---|---|
 * | `s40`, `s` | text of at most 40 (200) bytes of UTF-8 |
 * | `i1..4`, `i` | a whole number from 1 to 4 (of 32 bits) |
 * | `n-1.5..2`, `n` | a number from −1.5 to 2 (any) |
 * | `b` | true or false |
 * | `e(black,red)` | one of these words |
 * | `j` | any JSON value |
 *
 * A last `*` says that further properties are passed on. On the wire, arguments are a map from
 * a parameter's position to its value; the further properties are one map under the number of
 * parameters.
 */
export * from './args.js';

export interface Param {
  readonly name: string;
  readonly optional: boolean;
  readonly kind: 'text' | 'int' | 'number' | 'bool' | 'enum' | 'json';
  /** Least value of an int or number. */
  readonly min?: number;
  /** Greatest value of an int or number; of text, its bytes of UTF-8. */
  readonly max?: number;
  readonly values?: readonly string[];
}

export interface Signature {
  readonly text: string;
  readonly params: readonly Param[];
  /** `*`: further properties are passed on as they are. */
  readonly open: boolean;
}

/** A signature that can't be read; the message names the part at fault. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';
}

export const MAX_PARAMS = 32;
const MAX_TEXT = 65_535;
const MAX_VALUES = 64;
const INT32 = 2 ** 31;
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** Whether a verb, a parameter or a reading may be called so. */
export function isName(name: string): boolean {
  return NAME.test(name) && name !== '__proto__';
}

/** Reads a signature of at most 1,024 characters. @throws SignatureError */
export function parseSignature(text: string): Signature {
  if (text.length > 1024) throw new SignatureError('a signature has at most 1,024 characters');
  const words = text.split(' ').filter((word) => word !== '');
  const open = words.at(-1) === '*';
  if (open) words.pop();
  if (words.length > MAX_PARAMS) {
    throw new SignatureError(`a signature has at most ${MAX_PARAMS} parameters`);
  }
  const params = words.map(parseParam);
  const names = new Set(params.map((p) => p.name));
  if (names.size !== params.length) {
    throw new SignatureError(`two parameters of "${text}" have one name`);
  }
  return { text, params, open };
}

function parseParam(word: string): Param {
  const colon = word.indexOf(':');
  const optional = colon > 0 && word[colon - 1] === '?';
  const name = word.slice(0, optional ? colon - 1 : Math.max(colon, 0));
  if (!isName(name)) {
    throw new SignatureError(
      `"${word}" must be name:kind or name?:kind, the name of 1 to 64 letters, digits, _ . -`,
    );
  }
  const kind = parseKind(word.slice(colon + 1));
  if (!kind) {
    throw new SignatureError(
      `the kind in "${word}" is none of s, s<max>, i, i<min>..<max>, n, n<min>..<max>, b, e(a,b), j`,
    );
  }
  return { name, optional, ...kind };
}

function parseKind(text: string): Omit<Param, 'name' | 'optional'> | undefined {
  if (text === 'b') return { kind: 'bool' };
  if (text === 'j') return { kind: 'json' };
  if (text === 's') return { kind: 'text', max: 200 };
  if (text === 'i') return { kind: 'int', min: -INT32, max: INT32 - 1 };
  if (text === 'n') return { kind: 'number' };
  if (/^s\d{1,5}$/.test(text)) {
    const max = Number(text.slice(1));
    return max >= 1 && max <= MAX_TEXT ? { kind: 'text', max } : undefined;
  }
  const range = /^([in])(-?\d{1,16}(?:\.\d{1,16})?)\.\.(-?\d{1,16}(?:\.\d{1,16})?)$/.exec(text);
  if (range) return rangeOf(range[1] === 'i', Number(range[2]), Number(range[3]));
  if (!text.startsWith('e(') || !text.endsWith(')')) return undefined;
  const values = text.slice(2, -1).split(',');
  const good =
    values.length <= MAX_VALUES &&
    new Set(values).size === values.length &&
    values.every((v) => v !== '' && v.length <= 64 && !/[()]/.test(v));
  return good ? { kind: 'enum', values } : undefined;
}

function rangeOf(
  whole: boolean,
  low: number,
  high: number,
): Omit<Param, 'name' | 'optional'> | undefined {
  // −0 would print and compare oddly in a schema.
  const min = low === 0 ? 0 : low;
  const max = high === 0 ? 0 : high;
  if (min > max) return undefined;
  if (!whole) return { kind: 'number', min, max };
  return Number.isSafeInteger(min) && Number.isSafeInteger(max)
    ? { kind: 'int', min, max }
    : undefined;
}
