/**
 * The golden vectors: language-neutral JSON that every implementation runs (TypeScript here,
 * C and MicroPython in `hardware/`). `vectors.test.ts` fails when a file is not what this
 * makes; to write the files again after a wanted change:
 *
 *     WRITE_VECTORS=1 node node_modules/vitest/vitest.mjs run protocol/vectors
 */
import { messageVectors } from '../golden/messages.js';
import { sealingVectors } from '../golden/sealing.js';
import { segmentVectors } from '../golden/segments.js';
import { signatureVectors } from '../golden/signatures.js';
import { valueVectors } from '../golden/values.js';

/** File names in this folder and their texts. */
export async function vectorFiles(): Promise<Record<string, string>> {
  return {
    'values.json': valueVectors(),
    'messages.json': messageVectors(),
    'signatures.json': signatureVectors(),
    'sealing.json': await sealingVectors(),
    'segments.json': segmentVectors(),
  };
}
