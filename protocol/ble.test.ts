import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBeacon, decodeInfo, encodeBeacon, encodeInfo } from './ble.js';
import { FrameError } from './frame-error.js';

const boardId = fc
  .uint8Array({ minLength: 8, maxLength: 8 })
  .map((bytes) => Buffer.from(bytes).toString('hex'));

describe('what a board shows over BLE', () => {
  it('a beacon says the paired flag and the first half of the id', () => {
    fc.assert(
      fc.property(boardId, fc.boolean(), (id, paired) => {
        const bytes = encodeBeacon({ boardId: id, paired });
        // With flags (3) and a 128-bit service (18) it must fit the 31 bytes of an advertisement.
        expect(3 + 18 + 2 + bytes.length).toBe(31);
        expect(decodeBeacon(bytes)).toEqual({ version: 1, paired, idPrefix: id.slice(0, 8) });
      }),
    );
  });

  it('manufacturer data of others, or cut short, is no beacon', () => {
    const ours = encodeBeacon({ boardId: '0011223344556677', paired: true });
    for (let cut = 0; cut < ours.length; cut++) {
      expect(decodeBeacon(ours.subarray(0, cut))).toBeUndefined();
    }
    for (const at of [0, 1]) {
      const other = ours.slice();
      other[at] = 0x54;
      expect(decodeBeacon(other)).toBeUndefined();
    }
  });

  it('info keeps what it was made of, a long name cut at a code point', () => {
    fc.assert(
      fc.property(
        boardId,
        fc.boolean(),
        fc.integer({ min: 20, max: 512 }),
        fc.string({ unit: 'grapheme', maxLength: 40 }),
        (id, paired, att, name) => {
          const info = decodeInfo(encodeInfo({ boardId: id, paired, att, name }));
          expect(info).toMatchObject({ version: 1, paired, boardId: id, att });
          expect(name.startsWith(info.name)).toBe(true);
          expect(info.name.length).toBeGreaterThan(name === '' ? -1 : 0);
        },
      ),
    );
  });

  it('info that is short or whose name is no UTF-8 is refused with its cause', () => {
    const ours = encodeInfo({ boardId: '0011223344556677', paired: false, att: 244, name: 'desk' });
    for (let cut = 0; cut < 12; cut++) {
      expect(() => decodeInfo(ours.subarray(0, cut))).toThrow(
        expect.objectContaining({ code: 'truncated' }),
      );
    }
    const bad = ours.slice();
    bad[13] = 0xff;
    expect(() => decodeInfo(bad)).toThrow(FrameError);
    expect(() => decodeInfo(bad)).toThrow(
      expect.objectContaining({ code: 'bad_utf8', offset: 13 }),
    );
  });
});
