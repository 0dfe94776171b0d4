/** Identities of boards that every process of the bench can make by itself. */
import { toHex } from '../../../protocol/identity.js';
import type { BoardSeed } from './wire.js';

/** `count` boards from number `from` on. */
export function seeds(count: number, from = 0): BoardSeed[] {
  return Array.from({ length: count }, (_, i) => {
    const n = from + i + 1;
    const key = Uint8Array.from({ length: 16 }, (_, k) => (n * (k + 3) + (n >>> 8) + k) & 0xff);
    return { boardId: `beec0000${n.toString(16).padStart(8, '0')}`, key: toHex(key) };
  });
}
