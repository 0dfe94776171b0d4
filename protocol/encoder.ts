/**
 * Writes values in the profile of `profile.ts`. Our own: `cbor-x` knows no 16-bit floats and
 * writes integers above 2^32 as floats, which the profile refuses.
 */
import { float32Bits, halfOf } from './floats.js';
import { FrameError } from './frame-error.js';
import type { Value } from './kinds.js';
import { MAX_CONTAINERS, MAX_DEPTH, MAX_KEYS } from './profile.js';

let out = new Uint8Array(4096);
let view = new DataView(out.buffer);
let at = 0;
let containers = 0;
const utf8 = new TextEncoder();

export function begin(): void {
  at = 0;
  containers = 0;
}

/** A copy of what was written since `begin`. */
export function finish(): Uint8Array {
  const bytes = out.slice(0, at);
  // One huge value must not hold its memory for ever.
  if (out.length > 1_048_576) {
    out = new Uint8Array(4096);
    view = new DataView(out.buffer);
  }
  return bytes;
}

function room(bytes: number): void {
  if (at + bytes <= out.length) return;
  const wider = new Uint8Array(Math.max(out.length * 2, at + bytes));
  wider.set(out.subarray(0, at));
  out = wider;
  view = new DataView(out.buffer);
}

function refuse(what: string): never {
  throw new FrameError(
    'unencodable',
    `${what} has no form in the frame protocol; nothing was sent`,
  );
}

/** A head of major type `major` (0..5) with the shortest form of `n`. */
export function writeHead(major: number, n: number): void {
  room(9);
  const type = major << 5;
  if (n < 24) out[at++] = type | n;
  else if (n < 0x100) {
    out[at++] = type | 24;
    out[at++] = n;
  } else if (n < 0x1_0000) {
    out[at++] = type | 25;
    out[at++] = n >>> 8;
    out[at++] = n;
  } else if (n < 0x1_0000_0000) {
    out[at++] = type | 26;
    view.setUint32(at, n);
    at += 4;
  } else {
    out[at++] = type | 27;
    view.setUint32(at, Math.floor(n / 0x1_0000_0000));
    view.setUint32(at + 4, n % 0x1_0000_0000);
    at += 8;
  }
}

/** Counts a container inside `depth` others, with the decoder's bounds. */
export function enter(depth: number): void {
  if (depth >= MAX_DEPTH) {
    throw new FrameError('too_deep', `the value is nested more than ${MAX_DEPTH} levels deep`);
  }
  if (++containers > MAX_CONTAINERS) {
    throw new FrameError('too_many', `the value has more than ${MAX_CONTAINERS} lists and maps`);
  }
}

/** Writes one value that stands inside `depth` containers. */
export function writeValue(value: Value, depth: number): void {
  switch (typeof value) {
    case 'number':
      writeNumber(value);
      return;
    case 'string':
      writeText(value);
      return;
    case 'boolean':
      room(1);
      out[at++] = value ? 0xf5 : 0xf4;
      return;
    case 'object':
      writeObject(value, depth);
      return;
    default:
      refuse(`a value of type ${typeof value}`);
  }
}

function writeObject(value: Exclude<Value, number | string | boolean>, depth: number): void {
  if (value === null) {
    room(1);
    out[at++] = 0xf6;
  } else if (value instanceof Uint8Array) {
    writeHead(2, value.length);
    room(value.length);
    out.set(value, at);
    at += value.length;
  } else if (Array.isArray(value)) {
    enter(depth);
    writeHead(4, value.length);
    for (let i = 0; i < value.length; i++) writeValue(value[i] as Value, depth + 1);
  } else if (value instanceof Map) {
    enter(depth);
    countKeys(value.size);
    writeHead(5, value.size);
    for (const [key, item] of value) {
      if (!Number.isSafeInteger(key) || key < 0) refuse(`the map key ${String(key)}`);
      writeHead(0, key);
      writeValue(item, depth + 1);
    }
  } else {
    writeProperties(value, depth);
  }
}

function countKeys(keys: number): void {
  if (keys > MAX_KEYS) {
    throw new FrameError('too_many', `a map has ${keys} keys; at most ${MAX_KEYS} are sent`);
  }
}

function writeProperties(value: { [key: string]: Value }, depth: number): void {
  const parent = Object.getPrototypeOf(value);
  // Plain objects only, of any realm: a Date or a Set would silently become an empty map.
  if (parent !== null && Object.getPrototypeOf(parent) !== null) refuse('an object of a class');
  enter(depth);
  const keys = Object.keys(value);
  let count = keys.length;
  // As in JSON, a property that is undefined is not there.
  for (const key of keys) if (value[key] === undefined) count--;
  countKeys(count);
  writeHead(5, count);
  for (const key of keys) {
    const item = value[key];
    if (item === undefined) continue;
    if (key === '__proto__' || key.startsWith('\ufeff')) {
      throw new FrameError('unsafe_key', `the key ${JSON.stringify(key)} is not sent`);
    }
    writeText(key);
    writeValue(item, depth + 1);
  }
}

export function writeNumber(value: number): void {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
    if (value >= 0) writeHead(0, value);
    else writeHead(1, -1 - value);
    return;
  }
  room(9);
  if (Math.fround(value) === value || Number.isNaN(value)) {
    const bits = float32Bits(value);
    const half = halfOf(bits);
    if (half >= 0) {
      out[at++] = 0xf9;
      out[at++] = half >>> 8;
      out[at++] = half;
    } else {
      out[at++] = 0xfa;
      view.setUint32(at, bits);
      at += 4;
    }
    return;
  }
  out[at++] = 0xfb;
  view.setFloat64(at, value);
  at += 8;
}

export function writeText(text: string): void {
  const length = text.length;
  if (length < 64) {
    // Short text is nearly always ASCII: write it in place and go back if it isn't.
    room(length + 2);
    const start = at;
    let to = start + (length < 24 ? 1 : 2);
    let i = 0;
    for (; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) break;
      out[to++] = unit;
    }
    if (i === length) {
      if (length < 24) out[start] = 0x60 | length;
      else {
        out[start] = 0x78;
        out[start + 1] = length;
      }
      at = to;
      return;
    }
  }
  if (/\p{Surrogate}/u.test(text)) refuse('text with half a surrogate pair');
  // Written after the widest head it may need and moved back if a shorter one does.
  room(length * 3 + 9);
  const guess = headSize(length);
  const { written } = utf8.encodeInto(text, out.subarray(at + guess));
  const size = headSize(written);
  if (size !== guess) out.copyWithin(at + size, at + guess, at + guess + written);
  writeHead(3, written);
  at += written;
}

function headSize(n: number): number {
  return n < 24 ? 1 : n < 0x100 ? 2 : n < 0x1_0000 ? 3 : 5;
}
