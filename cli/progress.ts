/** A line on a terminal while something takes longer than a second; silent everywhere else. */
import type { Io } from './io.js';

const FRAMES = ['|', '/', '-', '\\'];
const CLEAR = '\r\u001b[2K';

export interface Timers {
  every(ms: number, run: () => void): () => void;
}

const realTimers: Timers = {
  every: (ms, run) => {
    const timer = setInterval(run, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
};

export async function withProgress<T>(
  io: Io,
  label: string,
  work: Promise<T>,
  timers: Timers = realTimers,
): Promise<T> {
  if (!io.stderr.isTTY) return work;
  const began = io.now();
  let frame = 0;
  let drawn = false;
  const stop = timers.every(125, () => {
    const elapsed = io.now() - began;
    if (elapsed < 1000) return;
    drawn = true;
    const mark = FRAMES[frame++ % FRAMES.length] ?? '';
    io.stderr.write(`${CLEAR}${mark} ${label} (${Math.floor(elapsed / 1000)} s)`);
  });
  try {
    return await work;
  } finally {
    stop();
    if (drawn) io.stderr.write(CLEAR);
  }
}
