/** Whether a call can be sent to a board at all, found out before any radio is used. */
import { encodeMessage } from '../../protocol/codec.js';
import { checkArgs } from '../../protocol/signature.js';
import type { Board } from './board.js';
import { callMessage } from './call-message.js';
import type { Limits } from './limits.js';
import { unreachable } from './outcomes.js';
import type { Call, Outcome, RefusalCode } from './types.js';

/** Bytes that sealing adds to a message: seal byte, counter and tag (frame.md "Sealing"). */
const SEAL_BYTES = 11;

const refused = (code: RefusalCode, message: string): Outcome => ({
  kind: 'refused',
  code,
  message: `${message} The call was not sent.`,
});

/** The outcome of a call that must not be sent; undefined when it may. */
export function refusal(call: Call, board: Board | undefined, limits: Limits): Outcome | undefined {
  if (!board) return refused('unknown_board', `This gateway knows no board “${call.boardId}”.`);
  const { catalog, presence, name } = board.view;
  if (!catalog || presence.state !== 'online' || !board.session) return unreachable(name, presence);
  const verb = catalog.verbs.find((candidate) => candidate.name === call.verb);
  if (call.envelope) {
    if (!catalog.envelopes)
      return refused('unknown_verb', `${name} takes no envelopes of its own.`);
  } else if (!verb) {
    const names = catalog.verbs.map((candidate) => candidate.name).join(', ');
    return refused('unknown_verb', `${name} has no verb “${call.verb}”; it has: ${names}.`);
  } else {
    if (verb.protected && !call.allowProtected) {
      return refused('protected', `“${verb.name}” is protected and this door may not use it.`);
    }
    const problems = checkArgs(verb.signature, call.args);
    if (problems.length > 0) {
      return refused('bad_arguments', `“${verb.name}” can't take this: ${problems.join('; ')}.`);
    }
  }
  if (board.lane.size >= limits.queue) {
    return refused(
      'busy',
      `${name} has ${limits.queue} calls waiting already; try again when some have ended.`,
    );
  }
  const size = callBytes(call, board) + SEAL_BYTES;
  const max = board.session.maxMessage;
  if (size > max) {
    return refused('too_large', `The call is ${size} bytes and ${name} takes ${max} at most.`);
  }
  return undefined;
}

function callBytes(call: Call, board: Board): number {
  const verb = board.view.catalog?.verbs.find((candidate) => candidate.name === call.verb);
  const message = callMessage(call, 0xffff_ffff, 0xffff_ffff, call.ttlMs, verb);
  return message ? encodeMessage(message).length : 0;
}
