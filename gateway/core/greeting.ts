/** The answer to a HELLO (frame.md "Messages", amendments 2, 5 and 8). */
import type { MessageOf } from '../../protocol/messages.js';
import type { Journal } from './journal.js';
import type { Limits } from './limits.js';
import type { Clock } from './types.js';

export interface GreetingDeps {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly limits: Limits;
  random(length: number): Uint8Array;
}

export function welcomeTo(
  deps: GreetingDeps,
  boardId: string,
  wantCaps: boolean,
  seals: boolean,
  rxWindow?: number,
): MessageOf<'welcome'> {
  const session = new DataView(deps.random(4).slice().buffer).getUint32(0);
  return {
    type: 'welcome',
    session,
    unixMs: Math.max(0, Math.round(deps.clock.wall())),
    journalId: deps.journal.journalId,
    nextCallId: deps.journal.nextCallId(boardId),
    nonce: seals ? deps.random(8) : null,
    beatS: deps.limits.beatS,
    maxMessage: deps.limits.maxMessage,
    ...(wantCaps ? { wantCaps: true } : {}),
    ...(rxWindow === undefined ? {} : { rxWindow }),
  };
}
