/**
 * Calls on a board that is spoken for (amendment 5): a call id runs at most once; asked again it
 * is answered from memory until the gateway has settled it.
 */
import { encodeMessage } from '../../../protocol/codec.js';
import { toHex } from '../../../protocol/identity.js';
import type { Value } from '../../../protocol/kinds.js';
import {
  type Message,
  type MessageOf,
  TOO_MANY_CALLS,
  UNSETTLED,
} from '../../../protocol/messages.js';
import {
  checkArgs,
  parseSignature,
  type Signature,
  unpackArgs,
} from '../../../protocol/signature.js';
import { cutUtf8 } from '../../../protocol/text.js';

/** A verb's failure with a code that callers can tell apart. */
export class SpokenFailure extends Error {
  override readonly name = 'SpokenFailure';
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export interface SpokenVerb {
  readonly name: string;
  readonly signature: string;
  readonly description: string;
  readonly protected?: boolean;
  readonly idempotent?: boolean;
  readonly readOnly?: boolean;
  /** Throws `SpokenFailure`; anything else thrown is told as `failed`. */
  run(args: Record<string, Value>): Value | Promise<Value>;
}

export interface SpokenCallsDeps {
  readonly bootId: number;
  readonly verbs: readonly SpokenVerb[];
  /** Sends while there is a greeted path; what is lost is told at the next greeting. */
  send(message: Message): void;
  /** Largest message that the gateway takes, in bytes. */
  maxOut(): number;
}

type CallMessage = MessageOf<'call'> | MessageOf<'envelope'>;
type Answer = MessageOf<'result'> | MessageOf<'failure'>;

/** Ids above the floor that may still run, as a board's own memory has it. */
const WINDOW = 32;
export const MAX_CALLS = 4;

export class SpokenCalls {
  readonly #deps: SpokenCallsDeps;
  readonly #signatures: readonly Signature[];
  /** Taken and not settled; `undefined` while it runs. */
  #answers = new Map<number, Answer | undefined>();
  #seen = new Set<number>();
  #floor = 0;
  #journal: string | undefined;

  constructor(deps: SpokenCallsDeps) {
    this.#deps = deps;
    this.#signatures = deps.verbs.map((verb) => parseSignature(verb.signature));
  }

  /** For HELLO. */
  unsettled(): [callId: number, state: number][] {
    return [...this.#answers].map(([id, answer]) => [
      id,
      answer ? UNSETTLED.answered : UNSETTLED.running,
    ]);
  }

  /** The gateway has greeted: it hears every answer that it has not settled. */
  opened(journalId: Uint8Array, nextCallId: number): void {
    const journal = toHex(journalId);
    if (journal !== this.#journal) {
      this.#journal = journal;
      this.#floor = nextCallId - 1;
      this.#answers = new Map();
      this.#seen = new Set();
    }
    for (const answer of this.#answers.values()) if (answer) this.#deps.send(answer);
  }

  take(call: CallMessage): void {
    const { callId } = call;
    if (call.bootId !== this.#deps.bootId) {
      const why = `this CALL is for boot ${call.bootId} and the board is in boot ${this.#deps.bootId}; it was not run`;
      this.#deps.send(failure(callId, 'stale_boot', why));
      return;
    }
    if (this.#answers.has(callId)) {
      this.#deps.send(this.#answers.get(callId) ?? { type: 'ack', callId });
      return;
    }
    if (callId <= this.#floor || this.#seen.has(callId)) {
      const why = 'this call was settled before; it was not run again';
      this.#deps.send(failure(callId, 'already_settled', why));
      return;
    }
    this.#see(callId);
    if (this.#answers.size >= WINDOW) {
      const why = `${WINDOW} answers wait to be settled; this call was not run`;
      this.#deps.send(failure(callId, TOO_MANY_CALLS, why));
      return;
    }
    let run: () => Value | Promise<Value>;
    try {
      run = this.#prepare(call);
    } catch (error) {
      this.#keep(callId, failureOf(callId, error));
      return;
    }
    this.#answers.set(callId, undefined);
    this.#deps.send({ type: 'ack', callId });
    void this.#run(callId, run);
  }

  /** What has begun ends by itself; what has not must never begin. */
  cancel(callId: number): void {
    if (this.#answers.has(callId) || callId <= this.#floor || this.#seen.has(callId)) return;
    this.#see(callId);
    this.#keep(callId, failure(callId, 'cancelled', 'cancelled before it began'));
  }

  settled(callId: number): void {
    if (this.#answers.get(callId)) this.#answers.delete(callId);
  }

  #prepare(call: CallMessage): () => Value | Promise<Value> {
    if (call.type === 'envelope') {
      throw new SpokenFailure('unsupported', 'this board takes no envelopes');
    }
    const verb = this.#deps.verbs[call.verb];
    const signature = this.#signatures[call.verb];
    if (!verb || !signature) {
      const why = `this board has ${this.#signatures.length} verbs and none with the index ${call.verb}`;
      throw new SpokenFailure('unknown_verb', why);
    }
    const running = [...this.#answers.values()].filter((answer) => !answer).length;
    if (running >= MAX_CALLS) {
      const why = `${MAX_CALLS} calls run already; this one was not run`;
      throw new SpokenFailure(TOO_MANY_CALLS, why);
    }
    const args = unpackArgs(signature, call.args);
    const problems = checkArgs(signature, args);
    if (problems.length > 0) {
      const why = `${verb.name}: ${problems.slice(0, 5).join('; ')}`;
      throw new SpokenFailure('bad_arguments', why);
    }
    return () => verb.run(args);
  }

  async #run(callId: number, run: () => Value | Promise<Value>): Promise<void> {
    const journal = this.#journal;
    let answer: Answer;
    try {
      answer = this.#sendable({ type: 'result', callId, status: 0, value: await run() });
    } catch (error) {
      answer = failureOf(callId, error);
    }
    // Another journal began while it ran: that one never asked for it.
    if (journal === this.#journal) this.#keep(callId, answer);
  }

  #keep(callId: number, answer: Answer): void {
    this.#answers.set(callId, answer);
    this.#deps.send(answer);
  }

  #sendable(answer: Answer): Answer {
    let size: number;
    try {
      size = encodeMessage(answer).length;
    } catch {
      return failure(answer.callId, 'bad_result', 'it ran; its answer has no form on the wire');
    }
    const most = this.#deps.maxOut();
    if (size <= most) return answer;
    const why = `it ran; its answer is ${size} bytes and the gateway takes ${most}`;
    return failure(answer.callId, 'result_too_large', why);
  }

  #see(callId: number): void {
    this.#seen.add(callId);
    if (callId - WINDOW <= this.#floor) return;
    this.#floor = callId - WINDOW;
    for (const id of this.#seen) if (id <= this.#floor) this.#seen.delete(id);
  }
}

function failureOf(callId: number, error: unknown): Answer {
  const code = error instanceof SpokenFailure ? error.code : 'failed';
  return failure(callId, code, error instanceof Error ? error.message : 'the verb failed');
}

function failure(callId: number, code: string, message: string): Answer {
  const words = cutUtf8(message.toWellFormed(), 1024);
  return { type: 'failure', callId, status: 1, code: cutUtf8(code, 64), message: words };
}
