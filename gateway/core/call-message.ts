import type { Verb } from '../../protocol/catalog.js';
import type { Message } from '../../protocol/messages.js';
import { packArgs } from '../../protocol/signature.js';
import type { CallRecord } from './journal.js';

/** The CALL or ENVELOPE message of a call; undefined if the catalog has lost the verb. */
export function callMessage(
  call: CallRecord['call'],
  callId: number,
  bootId: number,
  ttlMs: number,
  verb: Verb | undefined,
): Message | undefined {
  if (call.envelope) {
    const { kind, bytes } = call.envelope;
    return { type: 'envelope', callId, bootId, kind, bytes, ttlMs };
  }
  if (!verb) return undefined;
  const args = packArgs(verb.signature, call.args);
  return { type: 'call', callId, bootId, verb: verb.index, args, ttlMs };
}
