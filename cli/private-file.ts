import { chmodSync, writeFileSync } from 'node:fs';

/** Readable by this user alone, also where it was there before. */
export function writePrivate(file: string, content: string | Uint8Array): void {
  writeFileSync(file, content, { mode: 0o600 });
  chmodSync(file, 0o600);
}
