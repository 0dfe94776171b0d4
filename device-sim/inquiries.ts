/**
 * What a board asks and waits for an answer to: questions to its owner's agent, or mail. One is
 * in flight; one that gets no answer is sent once more and then waits its turn again, of which
 * there is one with each beat. An id stays the same when its message is repeated: the gateway
 * runs it once and repeats its answer (amendment 6).
 */
import { encodeMessage } from '../protocol/codec.js';
import type { Message, MessageOf } from '../protocol/messages.js';
import { type BoardClock, VerbError } from './types.js';

export interface InquiriesDeps {
  readonly clock: BoardClock;
  send(message: Message): void;
  maxOut(): number;
}

export type Inquiry = Omit<MessageOf<'ask'>, 'askId'> | Omit<MessageOf<'mail'>, 'mailId'>;

/** One that waits beside the one in flight; more are refused as `busy`. */
const QUEUE = 8;
/** The gateway's own bound is 80 s, and its answer has a way to go. */
const ANSWER_MS = 90_000;

interface Open {
  readonly id: number;
  readonly message: Message;
  readonly resolve: (reply: never) => void;
  readonly reject: (error: Error) => void;
  tries: number;
}

/** Questions or mail of one boot; `Reply` is what an answer brings. */
export class Inquiries<Reply> {
  readonly #deps: InquiriesDeps;
  readonly #queue: Open[] = [];
  #flight: Open | undefined;
  #timer: { cancel(): void } | undefined;
  #live = false;
  #id = 0;

  constructor(deps: InquiriesDeps) {
    this.#deps = deps;
  }

  /** The one in flight and those that wait. */
  get size(): number {
    return this.#queue.length + (this.#flight ? 1 : 0);
  }

  /**
   * Resolves with the answer, however late. Rejects with VerbError: `busy`, `too_large`, what
   * `refuse` was told, or `rebooted`.
   */
  put(inquiry: Inquiry): Promise<Reply> {
    const id = this.#id + 1;
    const message: Message =
      inquiry.type === 'ask' ? { ...inquiry, askId: id } : { ...inquiry, mailId: id };
    if (this.#queue.length >= QUEUE) {
      const why = `${QUEUE} wait for an answer already; this one was not sent. Try again later`;
      return Promise.reject(new VerbError('busy', why));
    }
    const size = encodeMessage(message).length;
    if (size > this.#deps.maxOut()) {
      const why = `${size} bytes are more than the gateway takes (${this.#deps.maxOut()})`;
      return Promise.reject(new VerbError('too_large', why));
    }
    this.#id = id;
    return new Promise<Reply>((resolve, reject) => {
      this.#queue.push({ id, message, resolve: resolve as Open['resolve'], reject, tries: 0 });
      this.#next();
    });
  }

  /** Whether an answer to `id` is waited for. */
  waits(id: number): boolean {
    return this.#flight?.id === id || this.#queue.some((open) => open.id === id);
  }

  answered(id: number, reply: Reply): boolean {
    const open = this.#take(id);
    open?.resolve(reply as never);
    return open !== undefined;
  }

  /** The answer is a no, in a sentence for people. */
  refused(id: number, sentence: string): boolean {
    const open = this.#take(id);
    open?.reject(new VerbError('refused', sentence));
    return open !== undefined;
  }

  /** A gateway has greeted: what was in flight may have been lost with the connection. */
  opened(): void {
    this.#live = true;
    if (this.#flight) this.#failed(this.#flight);
    else this.#next();
  }

  closed(): void {
    this.#live = false;
    this.#timer?.cancel();
  }

  /** A beat went out: one that waits may try. */
  beat(): void {
    this.#next();
  }

  stop(): void {
    this.closed();
    const open = [...(this.#flight ? [this.#flight] : []), ...this.#queue.splice(0)];
    this.#flight = undefined;
    for (const { reject } of open) reject(new VerbError('rebooted', 'the board went down'));
  }

  #next(): void {
    if (!this.#live || this.#flight) return;
    this.#flight = this.#queue.shift();
    if (this.#flight) this.#send(this.#flight);
  }

  #send(open: Open): void {
    open.tries += 1;
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after(ANSWER_MS, () => this.#failed(open));
    this.#deps.send(open.message);
  }

  #failed(open: Open): void {
    if (open.tries < 2) {
      this.#send(open);
      return;
    }
    open.tries = 0;
    this.#flight = undefined;
    this.#timer?.cancel();
    this.#queue.push(open);
  }

  /** An answer that comes late finds its question in the queue. */
  #take(id: number): Open | undefined {
    const flight = this.#flight;
    if (flight?.id === id) {
      this.#flight = undefined;
      this.#timer?.cancel();
      this.#next();
      return flight;
    }
    const at = this.#queue.findIndex((open) => open.id === id);
    return at < 0 ? undefined : this.#queue.splice(at, 1)[0];
  }
}
