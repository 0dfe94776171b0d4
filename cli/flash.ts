/** A simulated board's flash as a file of its owner's; what it holds opens the board. */
import { z } from 'zod';
import type { BoardFlash, BoardStore } from '../device-sim/index.js';
import { keptFile } from './kept-file.js';

/** Sixteen bytes as text. */
export const sixteen = z
  .base64url()
  .transform((text) => new Uint8Array(Buffer.from(text, 'base64url')))
  .refine((bytes) => bytes.length === 16, 'must be 16 bytes');

const stored = z.object({
  bootId: z.number().int().min(0),
  secret: sixteen.optional(),
  key: sixteen.optional(),
  burnt: z.boolean().optional(),
  next: sixteen.optional(),
});

/** On the disk when `save` returns, whole or not at all. `load` throws for a file that is none. */
export function fileStore(file: string): BoardStore {
  const kept = keptFile(file, stored);
  return {
    load() {
      const { bootId, secret, key, burnt, next } = kept.read() ?? { bootId: 0 };
      return {
        bootId,
        ...(secret === undefined ? {} : { secret }),
        ...(key === undefined ? {} : { key }),
        ...(burnt === undefined ? {} : { burnt }),
        ...(next === undefined ? {} : { next }),
      };
    },
    save: (flash) => kept.write(asJson(flash)),
  };
}

function asJson({ bootId, secret, key, burnt, next }: BoardFlash): Record<string, unknown> {
  const text = (bytes: Uint8Array | undefined): string | undefined =>
    bytes && Buffer.from(bytes).toString('base64url');
  return { bootId, secret: text(secret), key: text(key), burnt, next: text(next) };
}
