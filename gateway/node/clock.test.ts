import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { nodeClock } from './clock.js';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test('a timer of more than 24 days waits its time, and can be cancelled in its middle', () => {
  const clock = nodeClock();
  const ran: string[] = [];
  const month = 30 * 86_400_000;
  clock.after(month, () => ran.push('month'));
  const never = clock.after(month, () => ran.push('never'));
  vi.advanceTimersByTime(26 * 86_400_000);
  never.cancel();
  expect(ran).toEqual([]);
  vi.advanceTimersByTime(4 * 86_400_000 - 1);
  expect(ran).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(ran).toEqual(['month']);
});

test('what is due now runs after this turn, in order, also for times that are no time', () => {
  const clock = nodeClock();
  const ran: number[] = [];
  for (const [i, ms] of [0, -5, Number.NaN].entries()) clock.after(ms, () => ran.push(i));
  clock.after(0, () => ran.push(9)).cancel();
  expect(ran).toEqual([]);
  vi.advanceTimersByTime(0);
  expect(ran).toEqual([0, 1, 2]);
});

test('setting the date moves no timer and not the monotonic clock', () => {
  const clock = nodeClock();
  let ran = false;
  clock.after(1_000, () => {
    ran = true;
  });
  const before = clock.now();
  vi.setSystemTime(Date.now() + 365 * 86_400_000);
  expect(clock.now() - before).toBeLessThan(1);
  vi.advanceTimersByTime(999);
  expect(ran).toBe(false);
  vi.setSystemTime(Date.now() - 2 * 365 * 86_400_000);
  vi.advanceTimersByTime(1);
  expect(ran).toBe(true);
});
