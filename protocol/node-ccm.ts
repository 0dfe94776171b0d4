/** AES-CCM of Node's own crypto; not exported from the index, which runs in browsers too. */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { type Ccm, type CcmMaker, checkKey, join, TAG_BYTES } from './sealing.js';

const CIPHER = 'aes-128-ccm';

export const nodeCcm: CcmMaker = async (key, tagBytes = TAG_BYTES): Promise<Ccm> => {
  checkKey(key);
  const kept = join(key);
  return {
    async seal(nonce, associated, plain) {
      const cipher = createCipheriv(CIPHER, kept, nonce, { authTagLength: tagBytes });
      cipher.setAAD(associated, { plaintextLength: plain.length });
      const out = cipher.update(plain);
      cipher.final();
      return join(out, cipher.getAuthTag());
    },
    async open(nonce, associated, sealed) {
      const length = sealed.length - tagBytes;
      if (length < 0) return undefined;
      const decipher = createDecipheriv(CIPHER, kept, nonce, { authTagLength: tagBytes });
      decipher.setAuthTag(sealed.subarray(length));
      decipher.setAAD(associated, { plaintextLength: length });
      try {
        const out = decipher.update(sealed.subarray(0, length));
        decipher.final();
        return join(out);
      } catch {
        // Node throws for a bad tag, in `update` or in `final`.
        return undefined;
      }
    },
  };
};
