/**
 * The gateway: boards on one side, doors on the other, the journal between. It owns no radio
 * and no protocol of agents; links hand it paths, doors hand it calls.
 */
import { toHex } from '../../protocol/identity.js';
import type { Value } from '../../protocol/kinds.js';
import { refusal } from './admission.js';
import { answerMessages, mailReplyMessage } from './answers.js';
import type { BlobStore } from './blob-store.js';
import { Board, type BoardDeps } from './board.js';
import { Emitter } from './emitter.js';
import type { CallRecord, Journal } from './journal.js';
import { ProvisionError, UnpairError } from './key-asks.js';
import { LIMITS, type Limits } from './limits.js';
import { LOCAL_DOOR, LocalDoor } from './local-door.js';
import { Reporter } from './reporter.js';
import type {
  BoardId,
  BoardView,
  Call,
  Clock,
  Door,
  Outcome,
  Path,
  PathListener,
  Switchboard,
  SwitchboardEvents,
} from './types.js';

export interface GatewayOptions {
  clock: Clock;
  journal: Journal;
  blobs: BlobStore;
  /** Random bytes for nonces and sessions; default Web Crypto. */
  random?: (length: number) => Uint8Array;
  keyOf?: BoardDeps['keyOf'];
  secure?: BoardDeps['secure'];
  verified?: BoardDeps['verified'];
  limits?: Partial<Limits>;
  log?: BoardDeps['log'];
}

/** A call's key must fit the journal and the log. */
const MAX_KEY = 200;

export class Gateway implements Switchboard, PathListener {
  readonly #boards = new Map<BoardId, Board>();
  readonly #events: Emitter<SwitchboardEvents>;
  readonly #reporter: Reporter;
  readonly #local: LocalDoor;
  readonly #options: GatewayOptions;
  readonly #limits: Limits;
  readonly #boardDeps: BoardDeps;
  #calls = 0;
  readonly #run: string;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    const { clock, journal, blobs } = options;
    const log = options.log ?? (() => undefined);
    const random = options.random ?? ((n) => globalThis.crypto.getRandomValues(new Uint8Array(n)));
    this.#run = toHex(random(8));
    this.#events = new Emitter((error) => log('a listener failed', { error: String(error) }));
    this.#reporter = new Reporter({ clock, journal, log, random: () => (random(1)[0] ?? 0) / 256 });
    this.#boardDeps = {
      clock,
      journal,
      blobs,
      limits: this.#limits,
      random,
      log,
      verified: options.verified ?? (() => undefined),
      keyOf: options.keyOf ?? (async () => undefined),
      secure:
        options.secure ??
        (() =>
          Promise.reject(new Error('this gateway was made without sealing (option `secure`)'))),
      finished: (record) => this.#reporter.report(record),
      late: (record) =>
        void this.#reporter
          .door(record.call.door)
          ?.late?.(record)
          ?.catch((error) => {
            log('a late result was not told', { key: record.call.key, error: String(error) });
          }),
      progress: (record, progress) =>
        this.#reporter.door(record.call.door)?.progress?.(record, progress),
      presence: (board) => this.#events.emit('presence', board.view),
      catalog: (board) => this.#events.emit('catalog', board.view),
      readings: (board, values, at) => {
        const plain = Object.fromEntries(
          Object.entries(values).map(([name, r]) => [name, r.value]),
        );
        this.#events.emit('readings', board.view, plain, at);
      },
      kept: () => this.#events.emit('kept'),
    };
    this.#local = new LocalDoor((key) => this.drop(key));
    for (const [id] of journal.list('catalog')) this.#board(id);
    for (const [id] of journal.list('board')) this.#board(id);
    this.attach(LOCAL_DOOR, this.#local);
  }

  // Links

  opened(path: Path): void {
    this.#board(path.boardId);
  }

  received(path: Path, frame: Uint8Array): void {
    this.#board(path.boardId).received(path, frame);
  }

  closed(path: Path, reason: string): void {
    this.#boardDeps.log('a path ended', { board: path.boardId, via: path.via, reason });
    this.#boards.get(path.boardId)?.closed(path);
  }

  // Doors

  boards(): BoardView[] {
    return [...this.#boards.values()].map((board) => board.view);
  }

  board(id: BoardId): BoardView | undefined {
    return this.#boards.get(id)?.view;
  }

  /** What was refused from a board and how often, for health pages. */
  guard(
    id: BoardId,
  ): { counters: Record<string, number>; quarantine: readonly unknown[] } | undefined {
    const guard = this.#boards.get(id)?.guard;
    return guard && { counters: { ...guard.counters }, quarantine: [...guard.quarantine] };
  }

  /** Whether no call to this board waits or is under way. */
  idle(id: BoardId): boolean {
    return (this.#boards.get(id)?.lane.size ?? 0) === 0;
  }

  /** Tells a board to forget its key, over the link. Rejects with `UnpairError`. */
  unpair(id: BoardId): Promise<void> {
    return this.#boards.get(id)?.unpair() ?? Promise.reject(new UnpairError('offline'));
  }

  /**
   * Gives a board the key (16 bytes) of the gateway that it goes to, inside its own sealed
   * session, and waits for its word that it keeps it. Until a frame under that key verifies the
   * board speaks under the one that it has. Rejects with `ProvisionError`.
   */
  provision(id: BoardId, key: Uint8Array, name: string): Promise<void> {
    const board = this.#boards.get(id);
    return board?.provision(key, name) ?? Promise.reject(new ProvisionError('offline'));
  }

  /** Forgets a board that was removed from the book: its path closes and its catalog goes. */
  async forget(id: BoardId): Promise<void> {
    this.#boards.get(id)?.stop();
    this.#boards.delete(id);
    await this.#options.journal.put('catalog', id, undefined);
  }

  /** The book has a new name for a board: doors are told. */
  renamed(id: BoardId): void {
    const board = this.#boards.get(id);
    if (board) this.#events.emit('catalog', board.view);
  }

  attach(name: string, door: Door): void {
    this.#reporter.attach(name, door);
    for (const record of this.#options.journal.open()) {
      if (record.call.door === name) this.#again(record, door);
    }
  }

  on<E extends keyof SwitchboardEvents>(event: E, run: SwitchboardEvents[E]): () => void {
    return this.#events.on(event, run);
  }

  async admit(call: Call): Promise<CallRecord> {
    const known = this.#options.journal.find(call.key);
    if (known) return known;
    if (!call.key || call.key.length > MAX_KEY)
      throw new RangeError('a call key has 1 to 200 units');
    const board = this.#boards.get(call.boardId);
    return this.#journaled(call, board?.session?.bootId ?? 0, refusal(call, board, this.#limits));
  }

  answerHere(call: Call, outcome: Outcome): Promise<CallRecord> {
    const known = this.#options.journal.find(call.key);
    return known ? Promise.resolve(known) : this.#journaled(call, 0, outcome);
  }

  release(key: string): void {
    const record = this.#options.journal.find(key);
    if (!record || record.reported) return;
    const board = this.#boards.get(record.call.boardId);
    if (board?.lane.has(key)) board.lane.release(key);
    else if (record.outcome) this.#reporter.report(record);
  }

  async drop(key: string): Promise<void> {
    const record = this.#options.journal.find(key);
    if (record) this.#boards.get(record.call.boardId)?.lane.drop(key);
    await this.#options.journal.drop(key);
  }

  cancel(key: string): void {
    const record = this.#options.journal.find(key);
    if (record) this.#boards.get(record.call.boardId)?.lane.cancel(key);
  }

  async call(call: Omit<Call, 'key' | 'door'> & { key?: string }): Promise<Outcome> {
    this.#calls += 1;
    const key = call.key ?? `${LOCAL_DOOR}:${this.#run}:${this.#calls}`;
    const outcome = this.#local.wait(key);
    try {
      await this.admit({ ...call, key, door: LOCAL_DOOR });
    } catch (error) {
      this.#local.forget(key);
      throw error;
    }
    this.release(key);
    return outcome;
  }

  answer(
    boardId: BoardId,
    askId: number,
    answer: { text?: string; card?: Value; error?: string },
    bootId: number,
  ): void {
    this.#boards
      .get(boardId)
      ?.answer('ask', askId, bootId, (max) => answerMessages(askId, answer, max));
  }

  mailReply(boardId: BoardId, mailId: number, ok: boolean, value: Value, bootId: number): void {
    this.#boards
      .get(boardId)
      ?.answer('mail', mailId, bootId, (max) => [mailReplyMessage(mailId, ok, value, max)]);
  }

  stop(): void {
    this.#reporter.stop();
    for (const board of this.#boards.values()) board.stop();
  }

  #board(id: BoardId): Board {
    const known = this.#boards.get(id);
    if (known) return known;
    const board = new Board(id, this.#boardDeps);
    this.#boards.set(id, board);
    return board;
  }

  async #journaled(call: Call, bootId: number, outcome: Outcome | undefined): Promise<CallRecord> {
    const record = await this.#options.journal.admit(
      call,
      bootId,
      this.#options.clock.wall(),
      outcome,
    );
    if (!record.outcome) this.#boards.get(call.boardId)?.lane.add(record, call.ttlMs, false);
    return record;
  }

  /** A record of an earlier run of this process (house.md "Delivery" 3). */
  #again(record: CallRecord, door: Door): void {
    if (record.outcome) {
      this.#reporter.report(record);
      return;
    }
    const board = this.#board(record.call.boardId);
    if (board.lane.has(record.call.key)) return;
    const spent = Math.max(0, this.#options.clock.wall() - record.admittedAt);
    board.lane.add(record, Math.max(0, record.call.ttlMs - spent), true);
    void door.resume(record).catch((error) => {
      this.#boardDeps.log('a call was not resumed', { key: record.call.key, error: String(error) });
    });
  }
}

/** Makes a gateway of a journal, a blob store and a clock; links and doors are added to it. */
export function createGateway(options: GatewayOptions): Gateway {
  return new Gateway(options);
}
