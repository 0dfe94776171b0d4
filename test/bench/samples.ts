/**
 * The messages that the bench measures, each beside what the same content is in JSON: by names,
 * since names are what JSON carries, and bytes as base64url. The values are as large as a year of
 * use makes them, so that no figure lives on small numbers.
 */
import { z } from 'zod';
import { encodeValue } from '../../protocol/codec.js';
import type { Message } from '../../protocol/messages.js';

export interface Sample {
  name: string;
  message: Message;
  /** The same content under its names, where the message itself speaks in numbers. */
  named?: Record<string, unknown>;
  /** Holds its JSON to the same bounds as the message table does. */
  schema: z.ZodType;
  /** Bytes that the sender asked to carry; what is over them is overhead. */
  payload?: Uint8Array;
  /** From frame.md "Sizes to reach" as amended (4, 13): of the message, or of its overhead. */
  aim?: { of: 'message' | 'overhead'; bytes: number };
}

const filled = (length: number, seed: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (i * 73 + seed * 41 + 17) & 0xff);

const u32 = z.number().int().min(0).max(0xffff_ffff);
const b64 = (bytes: number) => z.string().length(Math.ceil((bytes * 4) / 3));
const kind = (name: string) => z.literal(name);

const ids = { callId: 3_141_592_653, bootId: 70_123 };
const boardId = filled(8, 1);
const capsHash = filled(8, 2);
const nonce = filled(8, 3);

const card = {
  type: 'kv',
  title: 'Kitchen',
  rows: { inside: '21.4 °C', outside: '7.9 °C', next: 'Bins out at 19:30', door: 'closed' },
};
const cardArgs = new Map([[0, card]]);
const cardSchema = z.object({
  type: z.string().max(32),
  title: z.string().max(200),
  rows: z.record(z.string().max(64), z.string().max(200)),
});

const status = {
  screen: 'kv',
  title: 'Kitchen',
  refreshes: 4_211,
  uptime_s: 1_209_600,
  battery: 87,
  last_refresh_ms: 1_840,
};

const twelve: [string, number][] = [
  ['temperature', 2137],
  ['humidity', 4512],
  ['pressure', 101_325],
  ['co2', 812],
  ['light', 1_204],
  ['noise', 413],
  ['pm1', 31],
  ['pm25', 54],
  ['pm10', 78],
  ['voc', 187],
  ['voltage', 3_712],
  ['rssi', -67],
];
/** The scale of each, as the catalog would declare it: JSON writes the value itself. */
const scales = [2, 2, 0, 0, 0, 1, 1, 1, 1, 0, 3, 0];

export const SAMPLES: readonly Sample[] = [
  {
    name: 'HELLO, known board',
    message: {
      type: 'hello',
      version: 1,
      boardId,
      bootId: ids.bootId,
      nonce,
      maxMessage: 1_024,
      capsHash,
      battery: 87,
      maxCalls: 4,
    },
    schema: z.object({
      type: kind('hello'),
      version: z.number().int().min(0).max(255),
      boardId: b64(8),
      bootId: u32,
      nonce: b64(8).nullable(),
      maxMessage: u32.optional(),
      capsHash: b64(8).optional(),
      battery: z.number().int().min(0).max(100).optional(),
      maxCalls: z.number().int().min(0).max(255).optional(),
    }),
    aim: { of: 'message', bytes: 60 },
  },
  {
    name: 'BEAT',
    message: { type: 'beat', uptimeS: 1_209_600 },
    schema: z.object({ type: kind('beat'), uptimeS: u32 }),
    aim: { of: 'message', bytes: 8 },
  },
  {
    name: 'BEAT with battery',
    message: { type: 'beat', uptimeS: 1_209_600, battery: 87 },
    schema: z.object({
      type: kind('beat'),
      uptimeS: u32,
      battery: z.number().int().min(0).max(100).optional(),
    }),
    aim: { of: 'message', bytes: 11 },
  },
  {
    name: 'CALL without arguments',
    message: { type: 'call', ...ids, verb: 7, args: new Map(), ttlMs: 30_000 },
    named: { type: 'call', ...ids, verb: 'status', args: {}, ttlMs: 30_000 },
    schema: z.object({
      type: kind('call'),
      callId: u32,
      bootId: u32,
      verb: z.string().max(64),
      args: z.object({}),
      ttlMs: u32,
    }),
    payload: encodeValue(new Map()),
    aim: { of: 'overhead', bytes: 18 },
  },
  {
    name: 'CALL with a card',
    message: { type: 'call', ...ids, verb: 0, args: cardArgs, ttlMs: 3_600_000 },
    named: { type: 'call', ...ids, verb: 'render_ui', args: { card }, ttlMs: 3_600_000 },
    schema: z.object({
      type: kind('call'),
      callId: u32,
      bootId: u32,
      verb: z.string().max(64),
      args: z.object({ card: cardSchema }),
      ttlMs: u32,
    }),
    payload: encodeValue(cardArgs),
    aim: { of: 'overhead', bytes: 18 },
  },
  {
    name: 'CALL, every field at its largest',
    message: {
      type: 'call',
      callId: 0xffff_ffff,
      bootId: 0xffff_ffff,
      verb: 255,
      args: new Map([[0, 4]]),
      ttlMs: 0xffff_ffff,
    },
    named: {
      type: 'call',
      callId: 0xffff_ffff,
      bootId: 0xffff_ffff,
      verb: 'set_size',
      args: { size: 4 },
      ttlMs: 0xffff_ffff,
    },
    schema: z.object({
      type: kind('call'),
      callId: u32,
      bootId: u32,
      verb: z.string().max(64),
      args: z.object({ size: z.number().int().min(1).max(4) }),
      ttlMs: u32,
    }),
    payload: encodeValue(new Map([[0, 4]])),
    aim: { of: 'overhead', bytes: 18 },
  },
  {
    name: 'ACK',
    message: { type: 'ack', callId: 0xffff_ffff },
    schema: z.object({ type: kind('ack'), callId: u32 }),
    aim: { of: 'message', bytes: 7 },
  },
  {
    name: 'PROGRESS',
    message: { type: 'progress', callId: ids.callId, percent: 40, note: 'refreshing' },
    schema: z.object({
      type: kind('progress'),
      callId: u32,
      percent: z.number().int().min(0).max(100).optional(),
      note: z.string().max(256).optional(),
    }),
  },
  {
    name: 'RESULT of a status',
    message: { type: 'result', callId: ids.callId, status: 0, value: status },
    schema: z.object({
      type: kind('result'),
      callId: u32,
      status: z.literal(0),
      value: z.object({
        screen: z.string().max(64),
        title: z.string().max(200),
        refreshes: z.number(),
        uptime_s: z.number(),
        battery: z.number(),
        last_refresh_ms: z.number(),
      }),
    }),
    payload: encodeValue(status),
    aim: { of: 'overhead', bytes: 9 },
  },
  {
    name: 'RESULT, failed',
    message: {
      type: 'failure',
      callId: ids.callId,
      status: 1,
      code: 'panel_busy',
      message: 'The panel is still refreshing; try again in 2 s.',
    },
    schema: z.object({
      type: kind('failure'),
      callId: u32,
      status: z.literal(1),
      code: z.string().max(64),
      message: z.string().max(1024),
    }),
  },
  {
    name: 'SETTLED',
    message: { type: 'settled', callId: ids.callId },
    schema: z.object({ type: kind('settled'), callId: u32 }),
  },
  {
    name: 'READINGS of 12',
    message: { type: 'readings', values: twelve.map(([, value]) => value) },
    named: {
      type: 'readings',
      values: Object.fromEntries(
        twelve.map(([name, value], i) => [name, value / 10 ** (scales[i] ?? 0)]),
      ),
    },
    schema: z.object({
      type: kind('readings'),
      values: z.object(Object.fromEntries(twelve.map(([name]) => [name, z.number()]))),
    }),
    aim: { of: 'message', bytes: 50 },
  },
  {
    name: 'EVENT, a tap',
    message: {
      type: 'event',
      bootId: ids.bootId,
      seq: 90_210,
      kind: 'tap',
      detail: { button: 'done', card: 'kv' },
      ageMs: 120,
    },
    schema: z.object({
      type: kind('event'),
      bootId: u32,
      seq: u32,
      kind: z.string().max(64),
      detail: z.object({ button: z.string().max(64), card: z.string().max(64) }),
      ageMs: z.number().int().min(0).optional(),
    }),
  },
  {
    name: 'BLOB_DATA of 512',
    message: { type: 'blobData', blobId: 71, offset: 24_576, bytes: filled(512, 5) },
    schema: z.object({ type: kind('blobData'), blobId: u32, offset: u32, bytes: z.base64url() }),
    payload: encodeValue(filled(512, 5)),
  },
  {
    name: 'TRANSCRIPT of 200',
    message: {
      type: 'transcript',
      bootId: ids.bootId,
      seq: 90_211,
      text: 'Remind me to take the bins out at half past seven, and tell me how cold it gets tonight. '
        .repeat(3)
        .slice(0, 200),
      durationS: 6,
    },
    schema: z.object({
      type: kind('transcript'),
      bootId: u32,
      seq: u32,
      text: z.string().max(16_384),
      durationS: u32.optional(),
    }),
  },
];

/** The content of a sample under its names; byte strings as Uint8Array. */
export function namedOf(sample: Sample): Record<string, unknown> {
  return sample.named ?? { ...sample.message };
}

/** The JSON of a sample: what a board without this protocol would send. */
export function jsonOf(sample: Sample): Record<string, unknown> {
  const plain = (value: unknown): unknown => {
    if (value instanceof Uint8Array) return Buffer.from(value).toString('base64url');
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
  };
  return plain(namedOf(sample)) as Record<string, unknown>;
}
