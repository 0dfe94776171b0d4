/**
 * What sealing is made of (design: "Sealing"; amendments 1 to 3): AES-128-CCM with a tag of 8
 * bytes and a nonce of 13, keys by HKDF-SHA256. A sealed frame is
 * `seal byte ‖ low 16 bits of the counter ‖ ciphertext ‖ tag`, 11 bytes above its message.
 */
import { hkdf } from '@noble/hashes/hkdf.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { FrameError } from './frame-error.js';

export const TAG_BYTES = 8;
export const NONCE_BYTES = 13;

/** AES-CCM under one key. Two implementations stand behind it: `web-ccm.ts`, `node-ccm.ts`. */
export interface Ccm {
  /** Ciphertext and then the tag. */
  seal(nonce: Uint8Array, associated: Uint8Array, plain: Uint8Array): Promise<Uint8Array>;
  /** The plain bytes, or undefined where the tag doesn't verify. */
  open(
    nonce: Uint8Array,
    associated: Uint8Array,
    sealed: Uint8Array,
  ): Promise<Uint8Array | undefined>;
}

/** Makes a `Ccm` of a 16-byte key; `tagBytes` is 8 unless a test vector wants another. */
export type CcmMaker = (key: Uint8Array, tagBytes?: number) => Promise<Ccm>;

export const DIRECTION = { up: 0, down: 1 } as const;
/** `up` is from board to gateway. */
export type Direction = keyof typeof DIRECTION;

/** At this counter a session ends and the board greets anew. */
export const COUNTER_END = 2 ** 31;

/** direction(1) ‖ session(4, big endian) ‖ counter(4, big endian) ‖ zero(4). */
export function sealNonce(direction: Direction, session: number, counter: number): Uint8Array {
  const nonce = new Uint8Array(NONCE_BYTES);
  const view = new DataView(nonce.buffer);
  view.setUint8(0, DIRECTION[direction]);
  view.setUint32(1, session);
  view.setUint32(5, counter);
  return nonce;
}

/** The smallest value above `last` whose low 16 bits are `low`; it may be `COUNTER_END` or more. */
export function fullCounter(last: number, low: number): number {
  const candidate = Math.floor(last / 0x1_0000) * 0x1_0000 + low;
  return candidate > last ? candidate : candidate + 0x1_0000;
}

const LABELS = { up: 'mote session up', down: 'mote session down' } as const;
const utf8 = new TextEncoder();

/**
 * The 16-byte key of one direction of a session: HKDF-SHA256 of the board's (or the set-up)
 * key, no salt, info = label ‖ SHA-256(HELLO ‖ WELCOME), both as encoded messages without
 * their seal byte. The label is `mote session up` or `mote session down`.
 */
export function sessionKey(
  key: Uint8Array,
  direction: Direction,
  hello: Uint8Array,
  welcome: Uint8Array,
): Uint8Array {
  checkKey(key);
  const greeting = sha256.create().update(hello).update(welcome).digest();
  return hkdf(sha256, key, undefined, join(utf8.encode(LABELS[direction]), greeting), 16);
}

/** The key that seals PROVISION: HKDF-SHA256 of the 16-byte set-up secret, info `mote setup`. */
export function setupKey(secret: Uint8Array): Uint8Array {
  checkKey(secret);
  return hkdf(sha256, secret, undefined, utf8.encode('mote setup'), 16);
}

/**
 * A board's nonce in HELLO: the first 8 bytes of HMAC-SHA256(key, bootId ‖ connection ‖
 * random), the numbers as 32 bits big endian. The counter of boots makes it new even where a
 * board's randomness is poor.
 */
export function boardNonce(
  key: Uint8Array,
  bootId: number,
  connection: number,
  random: Uint8Array,
): Uint8Array {
  const numbers = new Uint8Array(8);
  const view = new DataView(numbers.buffer);
  view.setUint32(0, bootId);
  view.setUint32(4, connection);
  return hmac(sha256, key, join(numbers, random)).slice(0, 8);
}

export function checkKey(key: Uint8Array): void {
  if (key.length !== 16) throw new FrameError('bad_field', 'a key is 16 bytes; none was made');
}

export function join(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Compares tags in a time that doesn't tell where they differ. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  let differ = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) differ |= (a[i] as number) ^ (b[i] ?? 0);
  return differ === 0;
}
