/**
 * The calls of one board: which is sent when, what is sent again, and which outcome each gets.
 * Delivery is at most once (house.md "Delivery"): a call that may have reached one boot of the
 * board is never sent to another, unless its verb is idempotent.
 */
import type { Verb } from '../../protocol/catalog.js';
import type { Message, MessageOf } from '../../protocol/messages.js';
import { TOO_MANY_CALLS, UNSETTLED } from '../../protocol/messages.js';
import { callMessage } from './call-message.js';
import type { CallRecord, Journal } from './journal.js';
import { JournalUnavailable } from './journal.js';
import { CALL_WINDOW, type Limits } from './limits.js';
import { failureOutcome, OUTCOMES } from './outcomes.js';
import { Stopping } from './stopping.js';
import type { BlobRef, BoardId, Clock, Outcome, Progress, Timer } from './types.js';

/** What the lane needs of a greeted board. */
export interface LaneSession {
  readonly bootId: number;
  readonly maxCalls: number;
  send(message: Message): void;
}

export interface LaneDeps {
  readonly boardId: BoardId;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly limits: Limits;
  verb(name: string): Verb | undefined;
  /** Blobs that the board sent for a call. */
  blobs(callId: number): BlobRef[];
  /** The outcome is durable, and the claim of the call holds. */
  finished(record: CallRecord): void;
  late(record: CallRecord): void;
  progress(record: CallRecord, progress: Progress): void;
  /** Nothing can be journaled now: what was being done is tried again later. */
  journalFailed(error: unknown): void;
}

interface Live {
  record: CallRecord;
  released: boolean;
  /** The boot that it was sent to, as far as is known. */
  sentTo: number | undefined;
  /** Sent on this connection, or held: it takes one of the board's places. */
  placed: boolean;
  /** The board has said that it holds it: no need to send it again. */
  held: boolean;
  busy: boolean;
  deadlineAt: number;
  readonly limitAt: number;
  tries: number;
  /** The board had no room for it: not sent before then, by the clock. */
  notBefore: number;
  deadline: Timer | undefined;
  resend: Timer | undefined;
}

export class Lane {
  readonly #deps: LaneDeps;
  readonly #lives = new Map<string, Live>();
  readonly #byId = new Map<number, Live>();
  readonly #stopping: Stopping;
  #session: LaneSession | undefined;

  constructor(deps: LaneDeps) {
    this.#deps = deps;
    this.#stopping = new Stopping(deps.clock, deps.limits.resendMs, () => this.#pump());
  }

  get size(): number {
    return this.#lives.size;
  }

  /**
   * Takes a journaled call. `mayHaveRun` is true for one found in the journal after a restart.
   * `leftMs` is what is left of its time.
   */
  add(record: CallRecord, leftMs: number, mayHaveRun: boolean): void {
    if (this.#lives.has(record.call.key)) return;
    const now = this.#deps.clock.now();
    const live: Live = {
      record,
      released: false,
      sentTo: mayHaveRun ? record.bootId : undefined,
      placed: false,
      held: false,
      busy: false,
      deadlineAt: now + leftMs,
      limitAt: now + leftMs + Math.max(0, (record.call.maxMs ?? 0) - record.call.ttlMs),
      tries: 0,
      notBefore: 0,
      deadline: undefined,
      resend: undefined,
    };
    this.#lives.set(record.call.key, live);
    this.#byId.set(record.callId, live);
    if (!record.outcome) this.#watch(live);
  }

  has(key: string): boolean {
    return this.#lives.has(key);
  }

  release(key: string): void {
    const live = this.#lives.get(key);
    if (!live || live.released) return;
    live.released = true;
    if (live.record.outcome) this.#leave(live, true);
    else this.#pump();
  }

  /** The claim was lost: it was not sent, unless by an earlier run of this process. */
  drop(key: string): void {
    const live = this.#lives.get(key);
    if (!live) return;
    this.#stopOnBoard(live);
    this.#leave(live, false);
  }

  cancel(key: string): void {
    const live = this.#lives.get(key);
    if (!live || live.busy) return;
    if (live.sentTo === undefined) void this.#settle(live, OUTCOMES.cancelled());
    else this.#session?.send({ type: 'cancel', callId: live.record.callId });
  }

  opened(session: LaneSession, unsettled: readonly (readonly [number, number])[]): void {
    this.#session = session;
    this.#stopping.clear();
    const known = new Map(unsettled);
    for (const live of this.#lives.values()) {
      live.placed = false;
      if (live.sentTo !== session.bootId) continue;
      live.held = known.get(live.record.callId) !== undefined;
      live.placed = live.held;
      live.tries = 0;
    }
    for (const [callId, state] of unsettled) {
      if (state === UNSETTLED.running && !this.#byId.has(callId))
        this.#stopping.tell(callId, session);
    }
    this.#pump();
  }

  closed(): void {
    this.#session = undefined;
    this.#stopping.clear();
    for (const live of this.#lives.values()) live.resend?.cancel();
  }

  /** Ends the timers; the journal keeps what is open. */
  stop(): void {
    for (const live of this.#lives.values()) {
      live.deadline?.cancel();
      live.resend?.cancel();
    }
    this.#stopping.clear();
    this.#lives.clear();
    this.#byId.clear();
    this.#session = undefined;
  }

  acked(callId: number): void {
    const live = this.#byId.get(callId);
    if (!live) return;
    live.held = true;
    live.resend?.cancel();
    this.#stretch(live);
  }

  progressed(callId: number, progress: Progress): void {
    const live = this.#byId.get(callId);
    if (!live || live.busy) return;
    this.acked(callId);
    this.#deps.progress(live.record, progress);
  }

  async answered(message: MessageOf<'result'> | MessageOf<'failure'>): Promise<void> {
    const live = this.#byId.get(message.callId);
    const outcome: Outcome =
      message.type === 'result'
        ? { kind: 'ok', value: message.value, blobs: this.#deps.blobs(message.callId) }
        : failureOutcome(message.code, message.message);
    this.#stopping.ended(message.callId);
    if (live) {
      if (message.type === 'failure' && message.code === 'stale_boot') return this.#stale(live);
      if (message.type === 'failure' && message.code === TOO_MANY_CALLS) return this.#full(live);
      if (live.busy || live.record.outcome) return;
      await this.#settle(live, outcome);
      return;
    }
    await this.#afterwards(message.callId, outcome);
  }

  /**
   * Sends what may be sent now, oldest id first. What may be on the board already (found in the
   * journal, or sent before this HELLO) goes before all else and within the same bound, so that
   * the board, which knows its id, never has more than it takes.
   */
  #pump(): void {
    const session = this.#session;
    if (!session) return;
    const there = (live: Live): boolean => live.sentTo === session.bootId;
    const lives = [...this.#lives.values()]
      .filter((live) => !live.record.outcome)
      .sort((a, b) => Number(there(b)) - Number(there(a)) || a.record.callId - b.record.callId);
    const oldest = Math.min(...lives.map((live) => live.record.callId));
    const now = this.#deps.clock.now();
    let running = lives.filter((live) => live.placed).length + this.#stopping.size;
    for (const live of lives) {
      // One whose claim is still being asked about may run on the board all the while.
      if (!live.released && !live.placed && there(live)) running += 1;
      if (!live.released || live.busy || live.placed || live.notBefore > now) continue;
      if (live.sentTo !== undefined && live.sentTo !== session.bootId) {
        void this.#rebooted(live, session);
        continue;
      }
      if (running >= session.maxCalls || live.record.callId >= oldest + CALL_WINDOW) break;
      running += 1;
      if (live.record.bootId === session.bootId) this.#send(live, session);
      else void this.#rebind(live, session);
    }
  }

  #send(live: Live, session: LaneSession): void {
    const { call, callId } = live.record;
    const left = Math.max(1, Math.round(live.deadlineAt - this.#deps.clock.now()));
    const message = callMessage(call, callId, session.bootId, left, this.#deps.verb(call.verb));
    if (!message) {
      void this.#settle(live, OUTCOMES.verbGone(call.verb));
      return;
    }
    live.sentTo = session.bootId;
    live.placed = true;
    session.send(message);
    live.resend?.cancel();
    live.resend = this.#deps.clock.after(
      this.#deps.limits.resendMs * 2 ** Math.min(live.tries, 4),
      () => {
        live.tries += 1;
        if (this.#session === session && !live.held && !live.busy) this.#send(live, session);
      },
    );
  }

  /** The board has restarted since it may have received this call. */
  async #rebooted(live: Live, session: LaneSession): Promise<void> {
    if (this.#deps.verb(live.record.call.verb)?.idempotent) await this.#rebind(live, session);
    else await this.#settle(live, OUTCOMES.rebooted());
  }

  /**
   * The board says that it had no room and did not run it: it is sent by another id, after a
   * while or once another call has ended.
   */
  async #full(live: Live): Promise<void> {
    const session = this.#session;
    if (!session || live.busy || live.record.outcome) return;
    const { callId } = live.record;
    const pause = this.#deps.limits.resendMs;
    live.resend?.cancel();
    live.notBefore = this.#deps.clock.now() + pause;
    this.#deps.clock.after(pause, () => this.#pump());
    await this.#rebind(live, session);
    if (live.record.callId !== callId) session.send({ type: 'settled', callId });
  }

  async #rebind(live: Live, session: LaneSession): Promise<void> {
    live.busy = true;
    try {
      const record = await this.#deps.journal.rebind(live.record.call.key, session.bootId);
      this.#byId.delete(live.record.callId);
      live.record = record;
      this.#byId.set(record.callId, live);
      live.sentTo = undefined;
      live.placed = false;
      live.held = false;
    } catch (error) {
      this.#deps.journalFailed(error);
      this.#deps.clock.after(this.#deps.limits.resendMs, () => this.#pump());
      return;
    } finally {
      live.busy = false;
    }
    if (this.#lives.has(live.record.call.key)) this.#pump();
  }

  /** The board says the CALL was for another boot: it did not run in this one. */
  async #stale(live: Live): Promise<void> {
    if (live.busy || live.record.outcome) return;
    await this.#settle(live, OUTCOMES.rebooted());
  }

  #watch(live: Live): void {
    live.deadline?.cancel();
    live.deadline = this.#deps.clock.after(
      Math.max(0, live.deadlineAt - this.#deps.clock.now()),
      () => {
        if (live.busy) {
          live.deadlineAt = this.#deps.clock.now() + 100;
          this.#watch(live);
          return;
        }
        if (live.sentTo === undefined) void this.#settle(live, OUTCOMES.expired());
        else {
          this.#stopOnBoard(live);
          void this.#settle(live, OUTCOMES.silent(live.record.call.ttlMs));
        }
      },
    );
  }

  /** ACK and PROGRESS give the call its time again, up to the door's own limit. */
  #stretch(live: Live): void {
    const wanted = Math.min(live.limitAt, this.#deps.clock.now() + live.record.call.ttlMs);
    if (wanted <= live.deadlineAt || live.busy) return;
    live.deadlineAt = wanted;
    this.#watch(live);
  }

  /** Keeps the outcome, then tells the board that it may forget the call. */
  async #settle(live: Live, outcome: Outcome): Promise<void> {
    if (live.busy || live.record.outcome) return;
    live.busy = true;
    try {
      await this.#deps.journal.settle(live.record.call.key, outcome);
    } catch (error) {
      live.busy = false;
      if (!(error instanceof JournalUnavailable)) throw error;
      this.#deps.journalFailed(error);
      this.#deps.clock.after(this.#deps.limits.resendMs, () => void this.#settle(live, outcome));
      return;
    }
    live.busy = false;
    live.record = this.#deps.journal.find(live.record.call.key) ?? { ...live.record, outcome };
    live.deadline?.cancel();
    live.resend?.cancel();
    if (outcome.kind === 'ok' || outcome.kind === 'failed' || outcome.kind === 'cancelled') {
      if (live.sentTo !== undefined)
        this.#session?.send({ type: 'settled', callId: live.record.callId });
    }
    if (live.released) this.#leave(live, true);
  }

  #leave(live: Live, report: boolean): void {
    live.deadline?.cancel();
    live.resend?.cancel();
    this.#lives.delete(live.record.call.key);
    this.#byId.delete(live.record.callId);
    if (report) this.#deps.finished(live.record);
    this.#pump();
  }

  /** A RESULT for a call that has its outcome: late if that outcome did not know it. */
  async #afterwards(callId: number, outcome: Outcome): Promise<void> {
    const session = this.#session;
    const record = this.#deps.journal.findById(this.#deps.boardId, callId);
    if (record?.outcome) {
      const known = record.outcome.kind === 'ok' || record.outcome.kind === 'failed';
      if (!known && !record.late && outcome.kind !== 'cancelled') {
        try {
          await this.#deps.journal.late(record.call.key, outcome);
        } catch (error) {
          this.#deps.journalFailed(error);
          return;
        }
        this.#deps.late({ ...record, late: outcome });
      }
    }
    session?.send({ type: 'settled', callId });
  }

  /** Nobody waits for it any more, and this boot of the board may have it. */
  #stopOnBoard(live: Live): void {
    const session = this.#session;
    if (session && live.sentTo === session.bootId) this.#stopping.tell(live.record.callId, session);
  }
}
