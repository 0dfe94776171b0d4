/** How the journal's records stand in their tables: JSON for what is JSON, CBOR for board values. */
import { decodeValue, encodeValue } from '../../protocol/codec.js';
import type { Value } from '../../protocol/kinds.js';
import type { CallRecord } from '../core/journal.js';
import type { Call, Outcome, UpItem } from '../core/types.js';

export const SCHEMA = [
  'CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID',
  `CREATE TABLE calls (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    board TEXT NOT NULL,
    call_id INTEGER NOT NULL,
    boot INTEGER NOT NULL,
    admitted_at INTEGER NOT NULL,
    call TEXT NOT NULL,
    envelope BLOB,
    outcome TEXT,
    outcome_value BLOB,
    late TEXT,
    late_value BLOB,
    reported_at INTEGER
  )`,
  'CREATE INDEX calls_open ON calls (n) WHERE reported_at IS NULL',
  'CREATE INDEX calls_reported ON calls (n) WHERE reported_at IS NOT NULL',
  // Every id a call has or had.
  `CREATE TABLE ids (
    board TEXT NOT NULL, call_id INTEGER NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (board, call_id)
  ) WITHOUT ROWID`,
  'CREATE INDEX ids_n ON ids (n)',
  'CREATE TABLE next_ids (board TEXT PRIMARY KEY, call_id INTEGER NOT NULL) WITHOUT ROWID',
  `CREATE TABLE items (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    board TEXT NOT NULL, boot INTEGER NOT NULL, seq INTEGER NOT NULL,
    kind TEXT NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL
  )`,
  // `n` is the item's id, so that the oldest are known.
  `CREATE TABLE seen (
    board TEXT NOT NULL, space TEXT NOT NULL, boot INTEGER NOT NULL, seq INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (board, space, boot, seq)
  ) WITHOUT ROWID`,
  'CREATE INDEX seen_age ON seen (board, space, n)',
  `CREATE TABLE rooms (
    room TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (room, key)
  ) WITHOUT ROWID`,
];

export interface CallRow {
  n: number;
  key: string;
  board: string;
  call_id: number;
  boot: number;
  admitted_at: number;
  call: string;
  envelope: Uint8Array | null;
  outcome: string | null;
  outcome_value: Uint8Array | null;
  late: string | null;
  late_value: Uint8Array | null;
  reported_at: number | null;
}

export interface ItemRow {
  id: number;
  board: string;
  boot: number;
  seq: number;
  kind: UpItem['kind'];
  at: number;
  body: Uint8Array;
}

/** A call's columns; its arguments must be JSON. */
export function callColumns(call: Call): { call: string; envelope: Uint8Array | null } {
  const { envelope, ...rest } = call;
  const text = JSON.stringify(envelope ? { ...rest, envelopeKind: envelope.kind } : rest);
  return { call: text, envelope: envelope?.bytes ?? null };
}

function readCall(text: string, envelope: Uint8Array | null): Call {
  const { envelopeKind, ...call } = JSON.parse(text) as Call & { envelopeKind?: string };
  if (envelopeKind === undefined) return call;
  return { ...call, envelope: { kind: envelopeKind, bytes: new Uint8Array(envelope ?? []) } };
}

/** An outcome's columns: its value as CBOR, the rest as JSON. */
export function outcomeColumns(
  outcome: Outcome | undefined,
): [text: string | null, value: Uint8Array | null] {
  if (!outcome) return [null, null];
  if (outcome.kind !== 'ok') return [JSON.stringify(outcome), null];
  const { value, ...rest } = outcome;
  return [JSON.stringify(rest), encodeValue(value)];
}

function readOutcome(text: string | null, value: Uint8Array | null): Outcome | undefined {
  if (text === null) return undefined;
  const outcome = JSON.parse(text) as Outcome;
  return outcome.kind === 'ok' ? { ...outcome, value: readValue(value) } : outcome;
}

function readValue(bytes: Uint8Array | null): Value {
  return bytes === null ? null : decodeValue(new Uint8Array(bytes), bytes.length);
}

/** `ids` are all that the call has or had. */
export function readRecord(row: CallRow, ids: readonly number[]): CallRecord {
  const outcome = readOutcome(row.outcome, row.outcome_value);
  const late = readOutcome(row.late, row.late_value);
  return {
    call: readCall(row.call, row.envelope),
    callId: row.call_id,
    earlierIds: ids.filter((id) => id !== row.call_id).sort((a, b) => a - b),
    bootId: row.boot,
    admittedAt: row.admitted_at,
    ...(outcome ? { outcome } : {}),
    reported: row.reported_at !== null,
    ...(late ? { late } : {}),
  };
}

export function bodyColumn(item: UpItem): Uint8Array {
  const told = Object.entries(item.body).filter(([, value]) => value !== undefined);
  return encodeValue(Object.fromEntries(told));
}

export function readItem(row: ItemRow): UpItem {
  return {
    boardId: row.board,
    bootId: row.boot,
    seq: row.seq,
    kind: row.kind,
    at: row.at,
    body: readValue(row.body) as UpItem['body'],
  };
}
