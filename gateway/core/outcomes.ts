/** The outcomes that the gateway itself decides on, each with its sentence for people. */
import type { Outcome, Presence } from './types.js';

export const OUTCOMES = {
  cancelled: (): Outcome => ({ kind: 'cancelled', message: 'The call was cancelled.' }),
  expired: (): Outcome => ({
    kind: 'expired',
    message: 'The call was not sent in time and has not run. Send it again.',
  }),
  rebooted: (): Outcome => ({
    kind: 'outcome_unknown',
    message:
      'The board restarted after it may have received this call. It may have run or not, and was not sent again. Look at the board before you repeat it.',
  }),
  silent: (ttlMs: number): Outcome => ({
    kind: 'outcome_unknown',
    message: `The board received this call or may have, and did not answer within ${Math.round(ttlMs / 1000)} s. It may have run or not, and was not sent again.`,
  }),
  verbGone: (verb: string): Outcome => ({
    kind: 'refused',
    code: 'unknown_verb',
    message: `The board no longer has the verb “${verb}”. The call was not sent; ask the board for help.`,
  }),
} as const;

export function failureOutcome(code: string, message: string): Outcome {
  if (code === 'cancelled')
    return { kind: 'cancelled', message: message || 'The call was cancelled.' };
  if (code === 'already_settled') {
    return {
      kind: 'outcome_unknown',
      message: 'The board has forgotten this call. It may have run or not, and was not run again.',
    };
  }
  return { kind: 'failed', code, message };
}

/** Why a board that isn't online can't be called, with what to do. */
export function unreachable(name: string, presence: Presence): Outcome {
  if (presence.state === 'asleep') {
    const until = new Date(presence.until).toISOString();
    return {
      kind: 'unreachable',
      message: `${name} sleeps until ${until}. The call was not sent; send it again then.`,
    };
  }
  const since = presence.since > 0 ? ` since ${new Date(presence.since).toISOString()}` : '';
  return {
    kind: 'unreachable',
    message: `${name} has not been reachable${since}. The call was not sent; look at its power and its link.`,
  };
}
