/**
 * The gateway's memory across restarts. Every promise resolves only when what it says is
 * durable; a full or broken disk rejects with `JournalUnavailable`, and then nothing may be
 * acknowledged or sent.
 */
import type { BoardId, Call, Outcome, UpItem } from './types.js';

export class JournalUnavailable extends Error {
  override readonly name = 'JournalUnavailable';
}

/** A call as the journal keeps it. */
export interface CallRecord {
  call: Call;
  /** Strictly increasing per board; never given twice. */
  callId: number;
  /** Ids it had before: a call that moved to another boot of its board gets a new one. */
  earlierIds: number[];
  /** The boot that may have received it; a CALL for another boot is never sent again. */
  bootId: number;
  /** Unix milliseconds. */
  admittedAt: number;
  /** Set once; what the door must still report if `reported` is false. */
  outcome?: Outcome;
  reported: boolean;
  /** A RESULT that came after the outcome was reported. */
  late?: Outcome;
}

export interface Journal {
  /** Four random bytes made with the journal: a new journal is a new memory. */
  readonly journalId: Uint8Array;
  /** Keeps the call and gives it its id. The same key again gives the first record, unchanged. */
  admit(call: Call, bootId: number, admittedAt: number, outcome?: Outcome): Promise<CallRecord>;
  /**
   * Gives an unsettled call a new id for another boot: it was never sent, or its verb is
   * idempotent. The old id is kept in `earlierIds`.
   */
  rebind(key: string, bootId: number): Promise<CallRecord>;
  /** The first outcome wins; false if one was there already. */
  settle(key: string, outcome: Outcome): Promise<boolean>;
  late(key: string, outcome: Outcome): Promise<void>;
  /** The door has told its side; the record is kept for a day so that its key stays known. */
  reported(key: string): Promise<void>;
  /** Forgets a call whose claim was lost. */
  drop(key: string): Promise<void>;
  find(key: string): CallRecord | undefined;
  /** By its present or an earlier id, for as long as the record is kept. */
  findById(boardId: BoardId, callId: number): CallRecord | undefined;
  /** Everything without an outcome, or with one that is not reported. */
  open(): CallRecord[];
  nextCallId(boardId: BoardId): number;

  /** Keeps an item for the upstream; false if (board, boot, seq, kind group) was kept before. */
  keep(item: UpItem): Promise<boolean>;
  /** Oldest first. */
  pending(limit: number): { id: number; item: UpItem }[];
  /** Forgets items that the upstream has stored. */
  done(ids: number[]): Promise<void>;

  /** Small durable values of doors and links (identities, tokens, catalogs by board). */
  get(room: string, key: string): string | undefined;
  list(room: string): [key: string, value: string][];
  put(room: string, key: string, value: string | undefined): Promise<void>;

  close(): Promise<void>;
}
