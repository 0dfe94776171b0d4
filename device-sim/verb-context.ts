/** What a running verb holds in its hands: its call, its blobs, and a sleep that ends with it. */
import type { CallMessage } from './call-memory.js';
import type { BoardSession } from './session.js';
import { type BoardClock, type VerbContext, VerbError } from './types.js';

export function verbContext(
  call: CallMessage,
  boot: {
    bootId: number;
    clock: BoardClock;
    session: BoardSession | undefined;
    signal: AbortSignal;
  },
): VerbContext {
  const { callId, ttlMs } = call;
  const { bootId, clock, session, signal } = boot;
  return {
    callId,
    bootId,
    ttlMs,
    signal,
    progress: (progress) => session?.progress(callId, progress),
    blob: async (blob) => {
      if (!session) throw new VerbError('rebooted', 'the board went down');
      await session.putBlob(blob, callId, signal);
    },
    sleep: (ms) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason);
          return;
        }
        const stop = (): void => {
          timer.cancel();
          reject(signal.reason);
        };
        const timer = clock.after(ms, () => {
          signal.removeEventListener('abort', stop);
          resolve();
        });
        signal.addEventListener('abort', stop, { once: true });
      }),
  };
}
