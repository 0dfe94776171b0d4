/** How a board is named and how it proves itself to a broker. */
import { hkdf } from '@noble/hashes/hkdf.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { FrameError } from './frame-error.js';

export function toHex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
  return text;
}

/** Bytes of an even number of hex digits; spaces between bytes are allowed. */
export function fromHex(text: string): Uint8Array {
  const digits = text.replace(/\s+/g, '');
  if (!/^([0-9a-fA-F]{2})*$/.test(digits)) {
    throw new FrameError('bad_json', 'hex is pairs of digits 0-9 and a-f, nothing else');
  }
  const bytes = new Uint8Array(digits.length / 2);
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = Number.parseInt(digits.slice(i * 2, i * 2 + 2), 16);
  }
  return bytes;
}

/** A board's id as people and topics see it: 16 lower-case hex digits. */
export function boardIdText(bytes: Uint8Array): string {
  if (bytes.length !== 8) throw new FrameError('bad_field', 'a board id is 8 bytes');
  return toHex(bytes);
}

/** @throws FrameError `bad_field` unless it is 16 lower-case hex digits */
export function boardIdBytes(text: string): Uint8Array {
  if (!/^[0-9a-f]{16}$/.test(text)) {
    throw new FrameError('bad_field', 'a board id is 16 lower-case hex digits');
  }
  return fromHex(text);
}

export function base64url(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** The bytes of base64url without padding; undefined for text that is none. */
export function fromBase64url(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const standard = text.replaceAll('-', '+').replaceAll('_', '/');
  return Uint8Array.from(atob(standard), (char) => char.charCodeAt(0));
}

const MQTT_INFO = new TextEncoder().encode('mote mqtt');

/**
 * The password of a board at a broker, 43 characters: base64url of HKDF-SHA256 over the
 * board's 16-byte key with no salt and the info `mote mqtt`, 32 bytes long.
 */
export function mqttPassword(key: Uint8Array): string {
  if (key.length !== 16) throw new FrameError('bad_field', 'a board key is 16 bytes');
  return base64url(hkdf(sha256, key, undefined, MQTT_INFO, 32));
}

const ENDPOINT_INFO = new TextEncoder().encode('mote endpoint');

/**
 * The bearer by which a hub calls one board behind a gateway: `mote_`, the board's id, `_`, and
 * 43 characters derived from its key as the MQTT password is, with the info `mote endpoint`.
 */
export function endpointSecret(boardId: string, key: Uint8Array): string {
  if (key.length !== 16) throw new FrameError('bad_field', 'a board key is 16 bytes');
  return `mote_${boardId}_${base64url(hkdf(sha256, key, undefined, ENDPOINT_INFO, 32))}`;
}
