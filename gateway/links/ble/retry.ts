/** When a board may be tried again: by cause, doubling, with half of each wait at random. */
import type { EndCause } from './connection.js';
import type { BleErrorCode } from './port.js';

export type FailureCause = Exclude<EndCause, 'adapter' | 'forgotten'> | BleErrorCode;

/** Only a link that held so long shows that the trouble is over. */
export const HELD_MS = 30_000;

/** First wait and longest, in milliseconds. */
const WAITS: Readonly<Partial<Record<FailureCause, readonly [number, number]>>> = {
  // The controller needs a moment before a lost link's slot is free again.
  lost: [1_000, 30_000],
  disconnected: [1_000, 30_000],
  rotated: [1_000, 1_000],
  let_go: [5_000, 300_000],
  storm: [30_000, 600_000],
  no_slot: [5_000, 60_000],
};
const OTHERS = [2_000, 60_000] as const;
/** For an address that is not the board it seemed to be. */
export const STRANGER_WAITS = [60_000, 3_600_000] as const;

/** `failures`: 1 for the first; `random`: 0 to below 1. */
export function waitFor(cause: FailureCause, failures: number, random: number): number {
  return jittered(WAITS[cause] ?? OTHERS, failures, random);
}

export function jittered(
  [first, longest]: readonly [number, number],
  failures: number,
  random: number,
): number {
  const wait = Math.min(longest, first * 2 ** Math.min(failures - 1, 30));
  return wait / 2 + (wait / 2) * random;
}
