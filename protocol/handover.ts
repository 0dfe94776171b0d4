/**
 * A board's new key on its way from the gateway that had the board to the one that adopts it
 * (amendment 10): sealed to the adopting gateway's public key, so that what the hub relays does not
 * hold it. That the public key is the adopting gateway's is the hub's word: a hub that lies about it
 * can read the key. X25519 (RFC 7748) between a key made for this one message and the public key;
 * HKDF-SHA256 of the shared secret, no salt, info = `mote handover` ‖ board id ‖ both public
 * keys; AES-128-CCM with a tag of 8 bytes, a nonce of zeros (the key is used once) and the
 * board id as associated data.
 *
 * Sealed: `public key of the message(32) ‖ ciphertext(16) ‖ tag(8)`.
 */
import { x25519 } from '@noble/curves/ed25519.js';
import { hkdf } from '@noble/hashes/hkdf.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { FrameError } from './frame-error.js';
import { boardIdBytes } from './identity.js';
import { type CcmMaker, checkKey, join, NONCE_BYTES, TAG_BYTES } from './sealing.js';

const POINT_BYTES = 32;
export const HANDOVER_BYTES = POINT_BYTES + 16 + TAG_BYTES;
const LABEL = new TextEncoder().encode('mote handover');

export interface HandoverKeys {
  readonly secretKey: Uint8Array;
  /** 32 bytes; travels with the wish to adopt. */
  readonly publicKey: Uint8Array;
}

export function handoverKeys(): HandoverKeys {
  return x25519.keygen();
}

/** @throws FrameError `bad_field` for a public key that is none */
export async function sealHandover(
  ccm: CcmMaker,
  to: Uint8Array,
  boardId: string,
  key: Uint8Array,
): Promise<Uint8Array> {
  checkKey(key);
  const own = handoverKeys();
  const wrap = wrapKey(own.secretKey, to, boardId, own.publicKey, to);
  if (!wrap) {
    throw new FrameError('bad_field', 'this is no public key of a gateway (32 bytes of X25519)');
  }
  const cipher = await ccm(wrap);
  const sealed = await cipher.seal(new Uint8Array(NONCE_BYTES), boardIdBytes(boardId), key);
  return join(own.publicKey, sealed);
}

/** The board's key, 16 bytes. @throws FrameError `bad_seal` if it was not sealed to these keys */
export async function openHandover(
  ccm: CcmMaker,
  keys: HandoverKeys,
  boardId: string,
  sealed: Uint8Array,
): Promise<Uint8Array> {
  const refused = (): FrameError =>
    new FrameError(
      'bad_seal',
      'the key that the other gateway sent does not open: it was sealed to somebody else or changed on its way',
    );
  if (sealed.length !== HANDOVER_BYTES) throw refused();
  const from = sealed.subarray(0, POINT_BYTES);
  const wrap = wrapKey(keys.secretKey, from, boardId, from, keys.publicKey);
  if (!wrap) throw refused();
  const cipher = await ccm(wrap);
  const key = await cipher.open(
    new Uint8Array(NONCE_BYTES),
    boardIdBytes(boardId),
    sealed.subarray(POINT_BYTES),
  );
  if (key?.length !== 16) throw refused();
  return key;
}

/** Undefined where `peer` is no public key. */
function wrapKey(
  secret: Uint8Array,
  peer: Uint8Array,
  boardId: string,
  message: Uint8Array,
  adopter: Uint8Array,
): Uint8Array | undefined {
  let point: Uint8Array;
  try {
    // Refuses points of low order, with which every secret gives the same result.
    point = x25519.getSharedSecret(secret, peer);
  } catch {
    return undefined;
  }
  return hkdf(sha256, point, undefined, join(LABEL, boardIdBytes(boardId), message, adopter), 16);
}
