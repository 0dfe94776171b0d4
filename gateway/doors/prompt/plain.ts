/** A board's values as JSON. */
import type { Value } from '../../../protocol/kinds.js';

/** Bytes beyond this are described, not sent. */
const MAX_BASE64_BYTES = 3072;
/** Values come from the codec with 8 levels at most; this only bounds what came another way. */
const MAX_DEPTH = 16;

/** Byte strings become `{base64, bytes}` or a description; integer keys become text. */
export function plainJson(value: Value | undefined, depth = 0): unknown {
  if (value === undefined) return null;
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'number' && !Number.isFinite(value) ? null : value;
  }
  if (value instanceof Uint8Array) {
    return value.length <= MAX_BASE64_BYTES
      ? { base64: base64Of(value), bytes: value.length }
      : `${value.length} bytes`;
  }
  if (depth >= MAX_DEPTH) return '…';
  if (Array.isArray(value)) return value.map((item) => plainJson(item, depth + 1));
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  // `fromEntries` defines properties, so that no name can reach a prototype.
  return Object.fromEntries(
    entries.map(([key, item]) => [String(key), plainJson(item, depth + 1)]),
  );
}

export function base64Of(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return btoa(text);
}
