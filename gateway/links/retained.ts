/** What the embedded broker tells a new subscriber of what it retains: nothing. */
import { Readable } from 'node:stream';
import type { Aedes } from 'aedes';

interface Persistence {
  createRetainedStreamCombi(patterns: string[]): Readable;
}

/**
 * Boards subscribe to their `down` topic alone, which is never retained; unless told so, the
 * library walks the retained states of all boards for each subscription.
 */
export function skipRetained(aedes: Aedes): void {
  const { persistence } = aedes as unknown as { persistence: Persistence };
  persistence.createRetainedStreamCombi = () => Readable.from([]);
}
