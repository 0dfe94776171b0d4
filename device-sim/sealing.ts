/** The nonce of a sealing board's HELLO (amendment 3). */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';

/**
 * First 8 bytes of HMAC-SHA256(key, bootId ‖ connection ‖ random), numbers as 4 bytes big-endian:
 * never the same twice, even on a board whose random numbers repeat after a reboot.
 */
export function helloNonce(
  key: Uint8Array,
  bootId: number,
  connection: number,
  random: () => number,
): Uint8Array {
  const input = new Uint8Array(16);
  const view = new DataView(input.buffer);
  view.setUint32(0, bootId);
  view.setUint32(4, connection);
  view.setUint32(8, Math.floor(random() * 2 ** 32));
  view.setUint32(12, Math.floor(random() * 2 ** 32));
  return hmac(sha256, key, input).slice(0, 8);
}
