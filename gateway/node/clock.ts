/** Time on a Node host. */
import type { Clock } from '../core/types.js';

/** Node's timers take at most this many milliseconds; longer waits are made of several. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Deadlines run on the monotonic clock, so that setting the date moves none of them; `after(0)`
 * runs in the next turn of the event loop.
 */
export function nodeClock(): Clock {
  return {
    now: () => performance.now(),
    wall: () => Date.now(),
    after(ms, run) {
      if (!(ms > 0)) {
        const immediate = setImmediate(run);
        return { cancel: () => clearImmediate(immediate) };
      }
      let timer: NodeJS.Timeout | undefined;
      const wait = (left: number): void => {
        const step = Math.min(left, LONGEST_MS);
        timer = setTimeout(() => (left > step ? wait(left - step) : run()), step);
      };
      wait(ms);
      return { cancel: () => clearTimeout(timer) };
    },
  };
}
