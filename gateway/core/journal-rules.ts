/** What every journal has in common: its bounds, and how kept items are told apart. No I/O. */
import { JournalUnavailable } from './journal.js';
import type { UpItem } from './types.js';

/** Open calls and kept items at most; beyond them nothing new is taken. */
export const MAX_OPEN_CALLS = 10_000;
export const MAX_PENDING_ITEMS = 100_000;
/** How long a reported call's key stays known, by the wall clock … */
export const KEEP_REPORTED_MS = 86_400_000;
/** … and how many of the newest stay known whatever that clock says. */
export const KEEP_REPORTED = 1_000;
/** Items remembered for each board and space, newest first, so that repeats are told. */
export const SEEN_PER_SPACE = 2_048;
export const MAX_CALL_ID = 0xffff_ffff;

export type Space = 'seq' | 'ask' | 'mail';

/** Items that share one run of numbers (amendment 6). */
export function spaceOf(kind: UpItem['kind']): Space {
  return kind === 'ask' || kind === 'mail' ? kind : 'seq';
}

export function tooManyCalls(): JournalUnavailable {
  return new JournalUnavailable(
    `${MAX_OPEN_CALLS} calls are open already; this one was not taken. Try again when some have ended.`,
  );
}

export function tooManyItems(): JournalUnavailable {
  return new JournalUnavailable(
    `${MAX_PENDING_ITEMS} items wait for the hub already; this one was not taken. ` +
      'Bring the hub back; the board keeps what was not stored.',
  );
}

export function idsUsedUp(boardId: string): JournalUnavailable {
  return new JournalUnavailable(
    `Board ${boardId} has used up its call ids; the call was not taken. Remove it and add it anew.`,
  );
}

export function noSuchCall(key: string): RangeError {
  return new RangeError(`The journal holds no call ${JSON.stringify(key.slice(0, 100))}.`);
}
