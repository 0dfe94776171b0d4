/** The waist of the gateway: what doors, boards and links say to each other. No I/O here. */
import type { BoardCatalog } from '../../protocol/catalog.js';
import type { Value } from '../../protocol/kinds.js';
import type { CallRecord } from './journal.js';

/** A board's id as 16 lower-case hex digits. */
export type BoardId = string;

/** Time and timers, injected: monotonic for every deadline, wall time only for stamps. */
export interface Clock {
  /** Milliseconds on a clock that never jumps. */
  now(): number;
  /** Unix milliseconds, for stamps that people and servers read. */
  wall(): number;
  after(ms: number, run: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** A path to one board, made by a link when it hears of the board. */
export interface Path {
  readonly boardId: BoardId;
  /** What it runs over, for people: `mqtt`, `memory`, `ble`, `serial`. */
  readonly via: string;
  /** True where plain frames must not be trusted (a radio, an unencrypted network). */
  readonly mustSeal: boolean;
  /** Bytes of segments that the board may send ahead of credit, on links that cut frames. */
  readonly rxWindow?: number;
  /** Bytes of one frame (seal byte and message). May throw only `LinkClosed`. */
  send(frame: Uint8Array): void;
  /** Ends the path from our side; `reason` is for the log. */
  close(reason: string): void;
}

/** What a link tells the gateway of a path. */
export interface PathListener {
  opened(path: Path): void;
  received(path: Path, frame: Uint8Array): void;
  closed(path: Path, reason: string): void;
}

export interface BlobRef {
  /** Name in the blob store. */
  key: string;
  size: number;
  mediaType: string;
  purpose: string;
}

/** What a door asks for. `key` makes it idempotent: one key is one call, for ever. */
export interface Call {
  key: string;
  door: string;
  boardId: BoardId;
  /** A verb of the board's catalog, or an envelope passed through as it is. */
  verb: string;
  args: Record<string, unknown>;
  envelope?: { kind: string; bytes: Uint8Array };
  /** How long the caller waits, in milliseconds, from admission. */
  ttlMs: number;
  /** The longest that PROGRESS may stretch it to. */
  maxMs?: number;
  /** Set by a door that may use protected verbs (a secret argument, an irreversible act). */
  allowProtected?: boolean;
}

/** Why a call was never sent. */
export type RefusalCode =
  | 'unknown_board'
  | 'unknown_verb'
  | 'bad_arguments'
  | 'too_large'
  | 'busy'
  | 'protected'
  | 'journal_full';

/** Exactly one of these ends each call; `outcome_unknown` is said, never retried. */
export type Outcome =
  | { kind: 'ok'; value: Value; blobs: BlobRef[] }
  | { kind: 'failed'; code: string; message: string }
  | { kind: 'refused'; code: RefusalCode; message: string }
  | { kind: 'unreachable'; message: string }
  | { kind: 'expired'; message: string }
  | { kind: 'cancelled'; message: string }
  | { kind: 'outcome_unknown'; message: string };

export type Presence =
  | { state: 'online'; since: number }
  | { state: 'asleep'; since: number; until: number }
  | { state: 'unreachable'; since: number };

/** What a board sent that must not be lost, stamped by the gateway (unix milliseconds). */
export interface UpItem {
  boardId: BoardId;
  bootId: number;
  seq: number;
  kind: 'event' | 'transcript' | 'task_result' | 'readings' | 'ask' | 'mail';
  at: number;
  body: Record<string, Value>;
}

/** A board as doors see it. */
export interface BoardView {
  id: BoardId;
  name: string;
  presence: Presence;
  via: string;
  /** Undefined until the board has told it once; kept from then on, across restarts. */
  catalog: BoardCatalog | undefined;
  /** The last value of each reading, by name, in its unit. */
  readings: Record<string, { value: Value; at: number }>;
  battery?: number;
}

export interface Progress {
  percent?: number;
  note?: string;
}

/** What the switchboard asks of a door; both may be called again after a restart. */
export interface Door {
  /**
   * A call of this door that was admitted before a restart and has no outcome. The door makes
   * sure that its claim holds, then calls `release` or `drop`.
   */
  resume(record: CallRecord): Promise<void>;
  /** Tells the outcome upstream; resolves when that is durable there. Retried on rejection. */
  report(record: CallRecord): Promise<void>;
  /** A RESULT that came after the outcome had been told. */
  late?(record: CallRecord): Promise<void>;
  progress?(record: CallRecord, progress: Progress): void;
}

export interface SwitchboardEvents {
  presence: (board: BoardView) => void;
  catalog: (board: BoardView) => void;
  /** Live readings by name; not durable, newest wins. */
  readings: (board: BoardView, values: Record<string, Value>, at: number) => void;
  /** Something new stands in `journal.pending`. */
  kept: () => void;
}

/** The waist: doors call it, boards answer through it. */
export interface Switchboard {
  boards(): BoardView[];
  board(id: BoardId): BoardView | undefined;
  attach(name: string, door: Door): void;
  on<E extends keyof SwitchboardEvents>(event: E, run: SwitchboardEvents[E]): () => void;
  /**
   * Validates a call against the board's catalog and journals it; nothing is sent yet. What
   * can't be run comes back with its outcome already set (`refused`, `unreachable`), journaled
   * too, and is reported like any other. Rejects with `JournalUnavailable` only.
   */
  admit(call: Call): Promise<CallRecord>;
  /** Journals a call that the door answers by itself (help, a prompt it can't read). */
  answerHere(call: Call, outcome: Outcome): Promise<CallRecord>;
  /** The claim holds: send it, or report the outcome it already has. */
  release(key: string): void;
  /** The claim was lost: forget it. */
  drop(key: string): Promise<void>;
  cancel(key: string): void;
  /** Admit, release and wait, for doors that answer in place. */
  call(call: Omit<Call, 'key' | 'door'> & { key?: string }): Promise<Outcome>;
  /**
   * Answers an `ask` or a `mail` that a board sent in that boot. If the board is gone it is said
   * again when the board repeats its question; another boot never hears it.
   */
  answer(
    boardId: BoardId,
    askId: number,
    answer: { text?: string; card?: Value; error?: string },
    bootId: number,
  ): void;
  mailReply(boardId: BoardId, mailId: number, ok: boolean, value: Value, bootId: number): void;
}
