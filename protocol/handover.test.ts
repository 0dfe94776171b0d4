import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HANDOVER_BYTES, handoverKeys, openHandover, sealHandover } from './handover.js';
import { nodeCcm } from './node-ccm.js';
import { webCcm } from './web-ccm.js';

const BOARD = '0011223344556677';
const key = fc.uint8Array({ minLength: 16, maxLength: 16 });

describe('a key that is handed over', () => {
  it('opens with the keys it was sealed to, whichever AES does it', async () => {
    await fc.assert(
      fc.asyncProperty(key, async (board) => {
        const keys = handoverKeys();
        const sealed = await sealHandover(nodeCcm, keys.publicKey, BOARD, board);
        expect(sealed).toHaveLength(HANDOVER_BYTES);
        expect(await openHandover(webCcm, keys, BOARD, sealed)).toEqual(board);
      }),
      { numRuns: 20 },
    );
  });

  it('opens for nobody else, for no other board, and not once a byte has changed', async () => {
    const keys = handoverKeys();
    const sealed = await sealHandover(nodeCcm, keys.publicKey, BOARD, new Uint8Array(16));
    const refused = expect.objectContaining({ code: 'bad_seal' });
    await expect(openHandover(nodeCcm, handoverKeys(), BOARD, sealed)).rejects.toEqual(refused);
    await expect(openHandover(nodeCcm, keys, '0011223344556678', sealed)).rejects.toEqual(refused);
    for (const length of [0, 31, 32, sealed.length - 1]) {
      const cut = sealed.subarray(0, length);
      await expect(openHandover(nodeCcm, keys, BOARD, cut)).rejects.toEqual(refused);
    }
    const lowOrder = new Uint8Array(HANDOVER_BYTES);
    await expect(openHandover(nodeCcm, keys, BOARD, lowOrder)).rejects.toEqual(refused);
    // The last bit of a point is ignored by X25519, yet bound by the derived key.
    for (let at = 0; at < sealed.length; at++) {
      const changed = sealed.slice();
      changed[at] = (changed[at] as number) ^ 0x80;
      await expect(openHandover(nodeCcm, keys, BOARD, changed)).rejects.toEqual(refused);
    }
  });

  it('is not sealed to what is no public key', async () => {
    const bad = expect.objectContaining({ code: 'bad_field' });
    // The point of order 1, the point of order 2, and lengths that are none.
    for (const point of [new Uint8Array(32), Uint8Array.of(1, ...new Uint8Array(31))]) {
      await expect(sealHandover(nodeCcm, point, BOARD, new Uint8Array(16))).rejects.toEqual(bad);
    }
    for (const length of [0, 31, 33]) {
      const point = new Uint8Array(length).fill(9);
      await expect(sealHandover(nodeCcm, point, BOARD, new Uint8Array(16))).rejects.toEqual(bad);
    }
  });
});
