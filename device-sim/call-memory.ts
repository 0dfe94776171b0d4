/**
 * A board's memory of calls (amendment 5): which ids may still run, which run, and which answers
 * the gateway has not settled. A call runs at most once in a boot, whatever is repeated or lost.
 */
import { encodeMessage } from '../protocol/codec.js';
import { toHex } from '../protocol/identity.js';
import type { Value } from '../protocol/kinds.js';
import { type Message, type MessageOf, TOO_MANY_CALLS, UNSETTLED } from '../protocol/messages.js';
import { type BoardClock, VerbError } from './types.js';

export type CallMessage = MessageOf<'call'> | MessageOf<'envelope'>;

export interface CallMemoryDeps {
  readonly bootId: number;
  readonly clock: BoardClock;
  readonly maxCalls: number;
  /** Sends if there is a gateway; what is lost is sent again. */
  send(message: Message): void;
  /** Largest message that the gateway takes, in bytes. */
  maxOut(): number;
  /** Refuses by throwing VerbError before anything runs; else answers what to run. */
  prepare(call: CallMessage): (signal: AbortSignal) => Value | Promise<Value>;
}

/** Ids above the floor that are remembered. */
export const WINDOW = 32;
/** Calls that are running or answered and not settled; more are refused. */
const MAX_ENTRIES = 64;
/** CALLs of a new gateway that wait until those of the old one have ended. */
const MAX_HELD = 8;
const RESEND_MS = 2_000;
const RESEND_MAX_MS = 60_000;
/** How long a cancelled verb may take to end by itself. */
const GRACE_MS = 1_000;

interface Entry {
  readonly id: number;
  readonly abort: AbortController;
  answer: MessageOf<'result'> | MessageOf<'failure'> | undefined;
  /** The gateway waits for it no more: no answer is sent. */
  unwanted: boolean;
  cancelled: boolean;
  tries: number;
  timer: { cancel(): void } | undefined;
}

export class CallMemory {
  readonly #deps: CallMemoryDeps;
  readonly #entries = new Map<number, Entry>();
  /** Ids above the floor that were taken. */
  #seen = new Set<number>();
  #floor = 0;
  #journal: string | undefined;
  #next: { journal: string; floor: number } | undefined;
  /** Running calls of a journal that is gone. */
  readonly #old = new Set<Entry>();
  readonly #held = new Map<number, { call: CallMessage; timer: { cancel(): void } }>();
  #live = false;

  constructor(deps: CallMemoryDeps) {
    this.#deps = deps;
  }

  /** For HELLO: every call that the gateway has not settled. */
  unsettled(): [number, number][] {
    return [...this.#entries.values()].map((entry) => [
      entry.id,
      entry.answer ? UNSETTLED.answered : UNSETTLED.running,
    ]);
  }

  get running(): number {
    let count = this.#old.size;
    for (const entry of this.#entries.values()) if (!entry.answer) count++;
    return count;
  }

  /** True while answers are told. */
  get live(): boolean {
    return this.#live;
  }

  /** Whether this is the journal whose calls are remembered. */
  knows(journalId: Uint8Array): boolean {
    return this.#journal === toHex(journalId) && this.#next === undefined;
  }

  /** A gateway has greeted: its journal counts, and it hears what it has not settled. */
  opened(journalId: Uint8Array, nextCallId: number): void {
    this.#live = true;
    const journal = toHex(journalId);
    const floor = nextCallId - 1;
    if (this.#journal === undefined) {
      this.#journal = journal;
      this.#floor = floor;
    } else if (journal !== this.#journal) this.#leave({ journal, floor });
    else this.#next = undefined;
    for (const entry of this.#entries.values()) {
      entry.tries = 0;
      this.#tell(entry);
    }
  }

  closed(): void {
    this.#live = false;
    for (const entry of this.#entries.values()) entry.timer?.cancel();
  }

  /** The board goes down: what runs is told, and everything is forgotten. */
  stop(): void {
    this.#live = false;
    for (const { timer } of this.#held.values()) timer.cancel();
    for (const entry of [...this.#entries.values(), ...this.#old]) {
      entry.timer?.cancel();
      entry.unwanted = true;
      entry.abort.abort(new VerbError('rebooted', 'the board went down'));
    }
    this.#entries.clear();
    this.#old.clear();
    this.#held.clear();
  }

  take(call: CallMessage): void {
    const { callId } = call;
    if (call.bootId !== this.#deps.bootId) {
      const why = `this CALL is for boot ${call.bootId} and the board is in boot ${this.#deps.bootId}; it was not run`;
      this.#deps.send(failure(callId, 'stale_boot', why));
      return;
    }
    if (this.#next) {
      this.#hold(call);
      return;
    }
    const entry = this.#entries.get(callId);
    if (entry) {
      if (entry.answer) this.#tell(entry);
      else this.#deps.send({ type: 'ack', callId });
      return;
    }
    if (callId <= this.#floor || this.#seen.has(callId)) {
      const why = 'this call was settled before; it was not run again';
      this.#deps.send(failure(callId, 'already_settled', why));
      return;
    }
    this.#begin(call);
  }

  settled(callId: number): void {
    const entry = this.#entries.get(callId);
    if (!entry) return;
    if (!entry.answer) {
      entry.unwanted = true;
      return;
    }
    entry.timer?.cancel();
    this.#entries.delete(callId);
  }

  cancel(callId: number): void {
    const held = this.#held.get(callId);
    if (held) {
      held.timer.cancel();
      this.#held.delete(callId);
      this.#deps.send(failure(callId, 'cancelled', 'cancelled before it began'));
      return;
    }
    if (this.#next) return;
    const entry = this.#entries.get(callId);
    if (entry) {
      if (!entry.answer) this.#abort(entry);
      return;
    }
    if (callId <= this.#floor || this.#seen.has(callId)) return;
    // The CALL was lost or comes later: it must not run then.
    this.#answer(this.#remember(callId), failure(callId, 'cancelled', 'cancelled before it began'));
  }

  #begin(call: CallMessage): void {
    const { callId } = call;
    if (this.#entries.size >= MAX_ENTRIES) {
      this.#see(callId);
      const why = `${MAX_ENTRIES} answers wait to be settled; this call was not run`;
      this.#deps.send(failure(callId, TOO_MANY_CALLS, why));
      return;
    }
    const busy = this.running >= this.#deps.maxCalls;
    const entry = this.#remember(callId);
    if (busy) {
      const why = `${this.#deps.maxCalls} calls run already; this one was not run`;
      this.#answer(entry, failure(callId, TOO_MANY_CALLS, why));
      return;
    }
    let run: ReturnType<CallMemoryDeps['prepare']>;
    try {
      run = this.#deps.prepare(call);
    } catch (error) {
      this.#answer(entry, failureOf(callId, error));
      return;
    }
    this.#deps.send({ type: 'ack', callId });
    void this.#run(entry, run);
  }

  async #run(entry: Entry, run: ReturnType<CallMemoryDeps['prepare']>): Promise<void> {
    let answer: Entry['answer'];
    try {
      const value = await run(entry.abort.signal);
      answer = { type: 'result', callId: entry.id, status: 0, value };
    } catch (error) {
      answer = entry.cancelled
        ? failure(entry.id, 'cancelled', 'cancelled while it ran')
        : failureOf(entry.id, error);
    }
    this.#answer(entry, this.#sendable(answer));
  }

  /** An answer that can't travel becomes a failure that says so. */
  #sendable(answer: NonNullable<Entry['answer']>): NonNullable<Entry['answer']> {
    try {
      const size = encodeMessage(answer).length;
      const most = this.#deps.maxOut();
      if (size <= most) return answer;
      const why = `it ran, but its answer is ${size} bytes and the gateway takes ${most}`;
      return failure(answer.callId, 'result_too_large', why);
    } catch {
      const why = 'it ran, but its answer has no form on the wire';
      return failure(answer.callId, 'bad_result', why);
    }
  }

  #answer(entry: Entry, answer: NonNullable<Entry['answer']>): void {
    if (entry.answer) return;
    entry.answer = answer;
    entry.timer?.cancel();
    if (this.#old.delete(entry)) this.#switch();
    if (entry.unwanted) {
      if (this.#entries.get(entry.id) === entry) this.#entries.delete(entry.id);
      return;
    }
    this.#tell(entry);
  }

  /** Sends an answer, and again with longer and longer pauses until it is settled. */
  #tell(entry: Entry): void {
    entry.timer?.cancel();
    if (!entry.answer || !this.#live || this.#next) return;
    this.#deps.send(entry.answer);
    const pause = Math.min(RESEND_MAX_MS, RESEND_MS * 2 ** entry.tries);
    entry.tries = Math.min(entry.tries + 1, 10);
    entry.timer = this.#deps.clock.after(pause, () => this.#tell(entry));
  }

  #abort(entry: Entry): void {
    if (entry.cancelled) return;
    entry.cancelled = true;
    entry.timer = this.#deps.clock.after(GRACE_MS, () => {
      const why = 'it was told to stop and did not say that it has';
      this.#answer(entry, failure(entry.id, 'cancelled', why));
    });
    entry.abort.abort(new VerbError('cancelled', 'the call was cancelled'));
  }

  #remember(id: number): Entry {
    this.#see(id);
    const entry: Entry = {
      id,
      abort: new AbortController(),
      answer: undefined,
      unwanted: false,
      cancelled: false,
      tries: 0,
      timer: undefined,
    };
    this.#entries.set(id, entry);
    return entry;
  }

  #see(id: number): void {
    this.#seen.add(id);
    if (id - WINDOW <= this.#floor) return;
    this.#floor = id - WINDOW;
    for (const old of this.#seen) if (old <= this.#floor) this.#seen.delete(old);
  }

  /** Another journal: answers that it never asked for go; its calls wait for those that run. */
  #leave(next: { journal: string; floor: number }): void {
    for (const entry of this.#entries.values()) {
      entry.timer?.cancel();
      entry.unwanted = true;
      if (!entry.answer) this.#old.add(entry);
    }
    this.#entries.clear();
    this.#next = next;
    this.#switch();
  }

  #switch(): void {
    if (!this.#next || this.#old.size > 0) return;
    this.#journal = this.#next.journal;
    this.#floor = this.#next.floor;
    this.#seen = new Set();
    this.#next = undefined;
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const { call, timer } of held) {
      timer.cancel();
      this.take(call);
    }
  }

  #hold(call: CallMessage): void {
    const { callId } = call;
    if (this.#held.has(callId)) return;
    const refuse = (): void => {
      this.#held.delete(callId);
      const why = 'calls of another gateway are still running; this one was not run';
      this.#deps.send(failure(callId, TOO_MANY_CALLS, why));
    };
    if (this.#held.size >= MAX_HELD) refuse();
    else this.#held.set(callId, { call, timer: this.#deps.clock.after(call.ttlMs, refuse) });
  }
}

function failureOf(callId: number, error: unknown): MessageOf<'failure'> {
  if (error instanceof VerbError) return failure(callId, error.code, error.message);
  return failure(callId, 'failed', error instanceof Error ? error.message : 'the verb failed');
}

function failure(callId: number, code: string, message: string): MessageOf<'failure'> {
  const words = message.toWellFormed();
  const kept = words.length <= 1024 ? words : `${words.slice(0, 1000).toWellFormed()} [cut]`;
  return { type: 'failure', callId, status: 1, code: code.slice(0, 64), message: kept };
}
