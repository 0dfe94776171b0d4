/** The package's own version, from the package.json that lies above this file. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const shape = z.object({ name: z.literal('motebridge'), version: z.string() });

/** One folder up from the sources, two from the built files. */
export function version(): string {
  for (const up of ['../package.json', '../../package.json']) {
    try {
      return shape.parse(JSON.parse(readFileSync(new URL(up, import.meta.url), 'utf8'))).version;
    } catch {
      // Not this one.
    }
  }
  return 'unknown';
}
