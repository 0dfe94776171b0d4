import type { Memory } from './wire.js';

/** What this process (with `--expose-gc`) holds after full collections. */
export async function collected(): Promise<Memory> {
  for (let i = 0; i < 4; i++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed, external, rss };
}
