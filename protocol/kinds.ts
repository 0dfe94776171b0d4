/**
 * The kinds of field that a message has: each with one zod schema (for documents, tests and
 * people) and one predicate (for the hot path). `messages.test.ts` holds the two equal.
 */
import { z } from 'zod';
import { fitsUtf8 } from './text.js';

export interface Kind<T> {
  /** How the kind is written in `frame.cddl` and in error sentences. */
  readonly words: string;
  readonly zod: z.ZodType<T>;
  is(value: unknown): value is T;
  /** Takes a map with integer keys: an empty map (a0) decodes to a `Map` and not to `{}`. */
  readonly takesMap?: true;
}

/** What CBOR can carry here besides structure: JSON's values and byte strings. */
export type Value =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | Value[]
  | { [key: string]: Value }
  | Map<number, Value>;

function kind<T>(words: string, zod: z.ZodType<T>, is: (value: unknown) => boolean): Kind<T> {
  return { words, zod, is: is as Kind<T>['is'] };
}

const isInteger = (value: unknown, min: number, max: number): boolean =>
  Number.isInteger(value) && (value as number) >= min && (value as number) <= max;

/** An unsigned integer from `min` to `max`, both included. */
export function uint(max: number, words: string, min = 0): Kind<number> {
  return kind(words, z.number().int().min(min).max(max), (v) => isInteger(v, min, max));
}

export function int(min: number, max: number, words: string): Kind<number> {
  return kind(words, z.number().int().min(min).max(max), (v) => isInteger(v, min, max));
}

/** A byte string of exactly `length` bytes. */
export function bytesOf(length: number): Kind<Uint8Array> {
  return kind(
    `bstr .size ${length}`,
    z.instanceof(Uint8Array).refine((b) => b.length === length, `must be ${length} bytes`),
    (v) => v instanceof Uint8Array && v.length === length,
  );
}

export const bytes: Kind<Uint8Array> = kind(
  'bstr',
  z.instanceof(Uint8Array),
  (v) => v instanceof Uint8Array,
);

/** Text of at most `max` bytes of UTF-8: a board counts bytes, never characters. */
export function text(max = 65_535): Kind<string> {
  return kind(
    `tstr .size (0..${max})`,
    z.string().refine((t) => fitsUtf8(t, max), `must be at most ${max} bytes of UTF-8`),
    (v) => typeof v === 'string' && fitsUtf8(v, max),
  );
}

export const bool: Kind<boolean> = kind('bool', z.boolean(), (v) => typeof v === 'boolean');

export function literal<const T extends number>(value: T): Kind<T> {
  return kind(String(value), z.literal(value) as unknown as z.ZodType<T>, (v) => v === value);
}

export function nullable<T>(inner: Kind<T>): Kind<T | null> {
  return kind<T | null>(
    `${inner.words} / null`,
    z.union([inner.zod, z.null()]) as z.ZodType<T | null>,
    (v) => v === null || inner.is(v),
  );
}

export function listOf<T>(inner: Kind<T>, max: number): Kind<T[]> {
  return kind(
    `[0*${max} ${inner.words}]`,
    z.array(inner.zod).max(max),
    (v) => Array.isArray(v) && v.length <= max && v.every((item) => inner.is(item)),
  );
}

/** Any value the codec lets through; what it means is the catalog's business. */
export const value: Kind<Value> = kind(
  'any',
  z.custom<Value>((v) => v !== undefined),
  (v) => v !== undefined,
);

/** A map with unsigned integer keys, as the codec decodes it. */
export const intMap: Kind<Map<number, Value>> = withMap(
  kind(
    '{* uint => any}',
    z.map(z.number().int().min(0), z.any()) as unknown as z.ZodType<Map<number, Value>>,
    (v) => {
      if (!(v instanceof Map)) return false;
      for (const key of v.keys()) if (!Number.isInteger(key) || key < 0) return false;
      return true;
    },
  ),
);

function withMap<T>(inner: Kind<T>): Kind<T> {
  return { ...inner, takesMap: true };
}

export function either<A, B>(a: Kind<A>, b: Kind<B>): Kind<A | B> {
  const both = kind<A | B>(
    `${a.words} / ${b.words}`,
    z.union([a.zod, b.zod]) as z.ZodType<A | B>,
    (v) => a.is(v) || b.is(v),
  );
  return a.takesMap || b.takesMap ? withMap(both) : both;
}

/** A fixed list of kinds and then one that may be left out; more items are ignored. */
export function tupleMaybe<const K extends readonly Kind<unknown>[], O>(
  kinds: K,
  last: Kind<O>,
): Kind<[...{ -readonly [I in keyof K]: K[I] extends Kind<infer T> ? T : never }, O?]> {
  type Items = [...{ -readonly [I in keyof K]: K[I] extends Kind<infer T> ? T : never }, O?];
  const is = (v: unknown): boolean =>
    Array.isArray(v) &&
    kinds.every((k, i) => k.is(v[i])) &&
    (v.length <= kinds.length || last.is(v[kinds.length]));
  return kind<Items>(
    `[${kinds.map((k) => k.words).join(', ')}, ? (${last.words}, * any)]`,
    z.array(z.any()).refine(is) as unknown as z.ZodType<Items>,
    is,
  );
}

/** A fixed list of kinds, with more items ignored (a newer peer may say more). */
export function tuple<const K extends readonly Kind<unknown>[]>(
  ...kinds: K
): Kind<{ -readonly [I in keyof K]: K[I] extends Kind<infer T> ? T : never }> {
  type Items = { -readonly [I in keyof K]: K[I] extends Kind<infer T> ? T : never };
  return kind<Items>(
    `[${kinds.map((k) => k.words).join(', ')}, * any]`,
    z
      .array(z.any())
      .refine((items) => kinds.every((k, i) => k.is(items[i]))) as unknown as z.ZodType<Items>,
    (v) => Array.isArray(v) && kinds.every((k, i) => k.is(v[i])),
  );
}
