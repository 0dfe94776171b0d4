/**
 * Every message of the frame protocol, version 1, as one table. A message is a CBOR array
 * `[id, ...required fields in order, optional fields as a trailing map with integer keys]`;
 * the map is left out when it is empty. Types, zod schemas, codec and `frame explain` all
 * come from this table; `frame.cddl` is its language-neutral twin.
 */
import { z } from 'zod';
import {
  bool,
  bytes,
  bytesOf,
  either,
  int,
  intMap,
  type Kind,
  listOf,
  literal,
  nullable,
  text,
  tuple,
  tupleMaybe,
  uint,
  value,
} from './kinds.js';

export const PROTOCOL_VERSION = 1;

const u8 = uint(0xff, 'uint .size 1');
const u16 = uint(0xffff, 'uint .size 2');
const u32 = uint(0xffff_ffff, 'uint .size 4');
const callId = uint(0xffff_ffff, 'call-id', 1);
const age = uint(Number.MAX_SAFE_INTEGER, 'age-ms');
const percent = uint(100, 'percent');
/** Power of ten: 2137 at −2 is 21.37. */
const scale = int(-12, 12, 'scale');
const boardId = bytesOf(8);
const nonce = nullable(bytesOf(8));
const code = text(64);

type Fields = Record<string, Kind<unknown>>;
type Extras = Record<string, readonly [key: number, kind: Kind<unknown>]>;

export interface MessageDef {
  readonly id: number;
  readonly from: 'board' | 'gateway' | 'both';
  readonly means: string;
  /** Positional, in this order, after the id. */
  readonly fields: Fields;
  /** In the trailing map, by its integer key. */
  readonly extras: Extras;
}

function def<const F extends Fields, const E extends Extras>(
  id: number,
  from: MessageDef['from'],
  means: string,
  fields: F,
  extras: E,
): { id: number; from: MessageDef['from']; means: string; fields: F; extras: E } {
  return { id, from, means, fields, extras };
}

/** `unsettled` states of a call that a board still remembers. */
export const UNSETTLED = { running: 0, answered: 1 } as const;

/**
 * The code of a RESULT by which a board says that it had no room for this CALL and will never run
 * it under this id. The gateway sends it by another id; no verb fails with this code.
 */
export const TOO_MANY_CALLS = 'too_many_calls';

/** BLOB_DONE status. */
export const BLOB_STATUS = { stored: 0, badHash: 1, refused: 2, aborted: 3, tooLarge: 4 } as const;

export const MESSAGES = {
  hello: def(
    1,
    'board',
    'a board greets, after each connect',
    {
      version: u8,
      boardId,
      bootId: u32,
      nonce,
    },
    {
      maxMessage: [1, u32],
      capsHash: [2, bytesOf(8)],
      sleepS: [3, u32],
      unsettled: [4, listOf(tuple(callId, uint(1, '0 / 1')), 64)],
      battery: [5, percent],
      maxCalls: [6, u8],
      rxWindow: [7, u32],
      att: [8, u16],
    },
  ),
  welcome: def(
    2,
    'gateway',
    'the gateway answers a HELLO',
    {
      session: u32,
      unixMs: uint(Number.MAX_SAFE_INTEGER, 'unix-ms'),
      journalId: bytesOf(4),
      nextCallId: callId,
      nonce,
    },
    {
      beatS: [1, u16],
      utcOffsetMin: [2, int(-1080, 1080, 'minutes')],
      wantCaps: [3, bool],
      maxMessage: [4, u32],
      rxWindow: [5, u32],
    },
  ),
  caps: def(
    3,
    'board',
    'what the board can do, in pages',
    {
      verbs: listOf(tuple(text(64), text(1024), u8, text(1024)), 256),
      /** Name, unit, flags and where it travels as an integer its decimal scale. */
      readings: listOf(tupleMaybe([text(64), text(32), u8], scale), 256),
      page: u8,
      pages: uint(255, 'pages', 1),
    },
    {
      name: [1, text(64)],
      platform: [2, text(32)],
      firmware: [3, text(64)],
      envelopes: [4, bool],
    },
  ),
  beat: def(
    4,
    'board',
    'still here',
    { uptimeS: u32 },
    {
      battery: [1, percent],
      rssi: [2, int(-127, 20, 'dBm')],
      freeHeap: [3, u32],
      flags: [4, u8],
    },
  ),
  call: def(
    5,
    'gateway',
    'run a verb once',
    {
      callId,
      bootId: u32,
      verb: u8,
      args: intMap,
      ttlMs: u32,
    },
    {},
  ),
  ack: def(6, 'board', 'received, now working', { callId }, {}),
  progress: def(
    7,
    'board',
    'still working',
    { callId },
    { percent: [1, percent], note: [2, text(256)] },
  ),
  result: def(8, 'board', 'the call succeeded', { callId, status: literal(0), value }, {}),
  failure: def(
    8,
    'board',
    'the call failed',
    { callId, status: literal(1), code, message: text(1024) },
    {},
  ),
  settled: def(9, 'gateway', 'the outcome is stored, forget it', { callId }, {}),
  cancel: def(10, 'gateway', 'stop this call', { callId }, {}),
  readings: def(
    11,
    'board',
    'live readings, by index or all in catalog order',
    {
      values: either(intMap, listOf(value, 256)),
    },
    { ageMs: [1, age] },
  ),
  event: def(
    12,
    'board',
    'something happened',
    {
      bootId: u32,
      seq: u32,
      kind: text(64),
      detail: value,
    },
    { ageMs: [1, age] },
  ),
  stored: def(13, 'gateway', 'a stored message is safe, forget it', { bootId: u32, seq: u32 }, {}),
  blobOpen: def(
    14,
    'both',
    'a blob begins',
    {
      blobId: u32,
      size: u32,
      mediaType: text(64),
      purpose: text(32),
    },
    { callId: [1, callId], sha256: [2, bytesOf(32)] },
  ),
  blobData: def(15, 'both', 'bytes of a blob', { blobId: u32, offset: u32, bytes }, {}),
  blobAck: def(
    16,
    'both',
    'bytes kept up to nextOffset; send up to windowEnd',
    {
      blobId: u32,
      nextOffset: u32,
      windowEnd: u32,
    },
    {},
  ),
  blobClose: def(
    17,
    'both',
    'all bytes sent, with their hash',
    { blobId: u32, sha256: bytesOf(32) },
    {},
  ),
  ask: def(
    18,
    'board',
    'a question to the owner’s agent',
    {
      bootId: u32,
      askId: u32,
      question: either(text(4000), listOf(u32, 1)),
    },
    {},
  ),
  answer: def(
    19,
    'gateway',
    'an answer, in parts',
    {
      askId: u32,
      part: u8,
      last: bool,
      text: text(),
    },
    { card: [1, value], error: [2, text(256)] },
  ),
  envelope: def(
    20,
    'gateway',
    'an envelope passed through; answered like a call',
    {
      callId,
      bootId: u32,
      kind: text(64),
      bytes,
      ttlMs: u32,
    },
    {},
  ),
  mail: def(
    21,
    'board',
    'messages between owners',
    {
      bootId: u32,
      mailId: u32,
      op: text(16),
      args: value,
    },
    {},
  ),
  mailReply: def(22, 'gateway', 'what the mail route said', { mailId: u32, ok: bool, value }, {}),
  transcript: def(
    23,
    'board',
    'words a board heard',
    { bootId: u32, seq: u32, text: text(16_384) },
    {
      label: [1, text(80)],
      blobId: [2, u32],
      durationS: [3, u32],
      ageMs: [4, age],
    },
  ),
  taskResult: def(
    24,
    'board',
    'a background task ended',
    {
      bootId: u32,
      seq: u32,
      taskId: text(48),
      summary: text(140),
      result: value,
    },
    { ageMs: [1, age] },
  ),
  sleep: def(25, 'board', 'I go now and am back within that time', { seconds: u32 }, {}),
  storedReadings: def(
    26,
    'board',
    'readings kept until stored',
    {
      bootId: u32,
      seq: u32,
      values: either(intMap, listOf(value, 256)),
    },
    { ageMs: [1, age] },
  ),
  blobDone: def(27, 'both', 'how a blob ended', { blobId: u32, status: uint(4, '0..4') }, {}),
  provision: def(
    30,
    'gateway',
    'the board’s own key and name, sealed with the setup key',
    {
      boardId,
      key: bytesOf(16),
      name: text(64),
    },
    { wifi: [1, value], mqtt: [2, value] },
  ),
  provisioned: def(31, 'board', 'the key is kept', { boardId }, {}),
  unpair: def(32, 'gateway', 'forget your key, sealed with it', { boardId }, {}),
  unpaired: def(33, 'board', 'the key is forgotten, sealed with it once more', { boardId }, {}),
  error: def(
    40,
    'both',
    'a message that could not be taken',
    { code, message: text(256) },
    {
      about: [1, u16],
      id: [2, u32],
    },
  ),
} as const satisfies Record<string, MessageDef>;

type Of<K> = K extends Kind<infer T> ? T : never;
type Simplify<T> = { [K in keyof T]: T[K] } & {};
export type MessageName = keyof typeof MESSAGES;
/** One message as an object: `{ type, ...fields, ...optional extras }`. */
export type MessageOf<N extends MessageName> = Simplify<
  { type: N } & {
    -readonly [F in keyof (typeof MESSAGES)[N]['fields']]: Of<(typeof MESSAGES)[N]['fields'][F]>;
  } & {
    -readonly [E in keyof (typeof MESSAGES)[N]['extras']]?: (typeof MESSAGES)[N]['extras'][E] extends readonly [
      number,
      infer K,
    ]
      ? Of<K>
      : never;
  }
>;
export type Message = { [N in MessageName]: MessageOf<N> }[MessageName];

/** The zod schema of one message's object form. */
export function messageSchema<N extends MessageName>(name: N): z.ZodType<MessageOf<N>> {
  const { fields, extras } = MESSAGES[name] as MessageDef;
  const shape: Record<string, z.ZodType> = { type: z.literal(name) };
  for (const [field, kind] of Object.entries(fields)) shape[field] = kind.zod;
  for (const [extra, [, kind]] of Object.entries(extras)) shape[extra] = kind.zod.optional();
  return z.object(shape) as unknown as z.ZodType<MessageOf<N>>;
}

/** Bits of a verb's flags in CAPS. */
export const VERB_FLAGS = { protected: 1, idempotent: 2, readOnly: 4 } as const;
