/** No operation of a radio may last for ever: libraries leave promises that never settle. */
import type { Clock } from '../../core/types.js';
import { BleError } from './port.js';

/** Milliseconds for each operation of the port. ATT itself would wait 30 s for an answer. */
export const DEADLINES = {
  connect: 10_000,
  discover: 10_000,
  read: 5_000,
  write: 5_000,
  subscribe: 5_000,
  disconnect: 3_000,
  scan: 3_000,
  reset: 10_000,
  /** All of a profile's opening. */
  open: 30_000,
} as const;

/**
 * The outcome of `start`, or `BleError` `deadline` after `ms`. What `start` may still do then is
 * the caller's to undo; its late outcome goes to `late`, if anywhere.
 */
export function within<T>(
  clock: Clock,
  ms: number,
  what: string,
  start: () => Promise<T>,
  late?: (value: T) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false;
    const timer = clock.after(ms, () => {
      over = true;
      reject(
        new BleError('deadline', `${what} did not end within ${ms / 1000} s and was given up`),
      );
    });
    let running: Promise<T>;
    try {
      running = start();
    } catch (error) {
      running = Promise.reject(error);
    }
    running.then(
      (value) => {
        if (over) late?.(value);
        timer.cancel();
        resolve(value);
      },
      (error) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}
