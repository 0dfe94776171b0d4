/**
 * AES-CCM (NIST SP 800-38C) made of what Web Crypto has: the MAC is the last block of AES-CBC
 * over the formatted input, the encryption is AES-CTR. Runs in browsers and in Node.
 */
import { type Ccm, type CcmMaker, checkKey, join, sameBytes, TAG_BYTES } from './sealing.js';

const BLOCK = 16;
const ZERO = new Uint8Array(BLOCK);

export const webCcm: CcmMaker = async (key, tagBytes = TAG_BYTES): Promise<Ccm> => {
  checkKey(key);
  const { subtle } = globalThis.crypto;
  const raw = join(key);
  const [cbc, ctr] = await Promise.all([
    subtle.importKey('raw', raw, 'AES-CBC', false, ['encrypt']),
    subtle.importKey('raw', raw, 'AES-CTR', false, ['encrypt']),
  ]);

  async function mac(
    nonce: Uint8Array,
    associated: Uint8Array,
    plain: Uint8Array,
  ): Promise<Uint8Array> {
    const input = format(nonce, associated, plain, tagBytes);
    // Web Crypto adds a block of padding: the MAC is the block before it.
    const out = await subtle.encrypt({ name: 'AES-CBC', iv: ZERO }, cbc, input);
    return new Uint8Array(out, input.length - BLOCK, tagBytes);
  }

  /** Block 0 of the key stream covers the tag, the following ones the content. */
  async function stream(
    nonce: Uint8Array,
    tag: Uint8Array,
    content: Uint8Array,
  ): Promise<{ tag: Uint8Array; content: Uint8Array }> {
    const input = new Uint8Array(BLOCK + content.length);
    input.set(tag);
    input.set(content, BLOCK);
    const counter = new Uint8Array(BLOCK);
    counter[0] = 14 - nonce.length;
    counter.set(nonce, 1);
    const algorithm = { name: 'AES-CTR', counter, length: (15 - nonce.length) * 8 };
    const out = new Uint8Array(await subtle.encrypt(algorithm, ctr, input));
    return { tag: out.subarray(0, tagBytes), content: out.subarray(BLOCK) };
  }

  return {
    async seal(nonce, associated, plain) {
      const out = await stream(nonce, await mac(nonce, associated, plain), plain);
      return join(out.content, out.tag);
    },
    async open(nonce, associated, sealed) {
      if (sealed.length < tagBytes) return undefined;
      const end = sealed.length - tagBytes;
      const { tag, content } = await stream(nonce, sealed.subarray(end), sealed.subarray(0, end));
      const expected = await mac(nonce, associated, content);
      return sameBytes(tag, expected) ? content.slice() : undefined;
    },
  };
};

/** B0, the associated data and the content, each padded to whole blocks (SP 800-38C, A.2). */
function format(
  nonce: Uint8Array,
  associated: Uint8Array,
  plain: Uint8Array,
  tagBytes: number,
): Uint8Array<ArrayBuffer> {
  const lengthBytes = 15 - nonce.length;
  const first = new Uint8Array(BLOCK);
  first[0] = (associated.length > 0 ? 0x40 : 0) | (((tagBytes - 2) / 2) << 3) | (lengthBytes - 1);
  first.set(nonce, 1);
  let length = plain.length;
  for (let i = BLOCK - 1; i >= BLOCK - lengthBytes; i--) {
    first[i] = length & 0xff;
    length = Math.floor(length / 256);
  }
  return join(first, padded(associatedHead(associated.length), associated), padded(plain));
}

function associatedHead(length: number): Uint8Array {
  if (length === 0) return new Uint8Array(0);
  if (length < 0xff00) return Uint8Array.of(length >> 8, length);
  return Uint8Array.of(0xff, 0xfe, length >>> 24, length >>> 16, length >>> 8, length);
}

function padded(...parts: Uint8Array[]): Uint8Array {
  const whole = join(...parts);
  return join(whole, new Uint8Array((BLOCK - (whole.length % BLOCK)) % BLOCK));
}
