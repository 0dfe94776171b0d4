/** Time for tests: it stands still until it is told to pass. */
import type { Clock, Timer } from '../core/types.js';

export interface ManualClock extends Clock {
  /** Lets time pass and runs what falls due, in order of time, then of asking. */
  pass(ms: number): void;
  /** Runs what is due now, and what that asks for now, until nothing is. */
  settle(): void;
}

export function manualClock(wallAt = 1_700_000_000_000): ManualClock {
  let now = 0;
  let order = 0;
  let timers: { at: number; order: number; run: () => void }[] = [];

  function runUntil(end: number): void {
    for (;;) {
      const [next] = timers
        .filter((timer) => timer.at <= end)
        .sort((a, b) => a.at - b.at || a.order - b.order);
      if (!next) break;
      timers = timers.filter((timer) => timer !== next);
      now = Math.max(now, next.at);
      next.run();
    }
    now = end;
  }

  return {
    now: () => now,
    wall: () => wallAt + now,
    after(ms, run): Timer {
      const timer = { at: now + Math.max(0, ms), order: order++, run };
      timers.push(timer);
      return {
        cancel: () => {
          timers = timers.filter((other) => other !== timer);
        },
      };
    },
    pass: (ms) => runUntil(now + ms),
    settle: () => runUntil(now),
  };
}
