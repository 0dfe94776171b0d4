/** An envelope made into a journaled call; whatever it holds, it gets an outcome. */
import type { BoardCatalog } from '../../../protocol/catalog.js';
import { type CallRecord, JournalUnavailable } from '../../core/journal.js';
import type { BoardId, Call } from '../../core/types.js';
import { DOOR, type RelayDeps } from './deps.js';
import { asked } from './envelope.js';

/** @throws JournalUnavailable, and nothing else: then nothing was kept. */
export async function admitEnvelope(
  deps: RelayDeps,
  key: string,
  board: { id: BoardId; catalog: BoardCatalog },
  payload: string,
): Promise<CallRecord> {
  const { switchboard, ttlMs, maxMs, allowProtected } = deps;
  const { outcome, ...request } = asked(payload, board.catalog);
  const call: Call = { ...request, key, door: DOOR, boardId: board.id, ttlMs, maxMs };
  if (allowProtected) call.allowProtected = true;
  if (outcome) return switchboard.answerHere(call, outcome);
  try {
    return await switchboard.admit(call);
  } catch (error) {
    if (error instanceof JournalUnavailable) throw error;
    // Arguments that no frame can carry (the codec's own limits) are the sender's to mend.
    deps.counters.count('offers.not_encodable');
    const why = error instanceof Error ? error.message : String(error);
    const message = `The call can't be put on the wire: ${why}. Nothing was run.`;
    const bare: Call = { ...call, args: {} };
    delete bare.envelope;
    return switchboard.answerHere(bare, { kind: 'refused', code: 'bad_arguments', message });
  }
}
