/** What a test opened is closed after it, last first. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

export function onCleanup(clean: () => Promise<void> | void): void {
  cleanups.push(clean);
}

export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hub-'));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
