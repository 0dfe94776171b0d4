import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeMessage, encodeMessage, encodeValue, FrameError } from './codec.js';
import { fromHex } from './identity.js';
import type { Kind, Value } from './kinds.js';
import {
  MESSAGES,
  type Message,
  type MessageDef,
  type MessageName,
  messageSchema,
} from './messages.js';

const NAMES = Object.keys(MESSAGES) as MessageName[];
const kindsOf = (name: MessageName): [string, Kind<unknown>][] => {
  const { fields, extras } = MESSAGES[name] as MessageDef;
  return [
    ...Object.entries(fields),
    ...Object.entries(extras).map(([key, [, kind]]): [string, Kind<unknown>] => [key, kind]),
  ];
};

/** Values at the edges of every kind, good for some and bad for others. */
const POOL: Value[] = [
  ...[0, 1, -1, 2, 4, 5, 20, 21, 23, 24, 100, 101, 255, 256, 1080, 1081, 65_535, 65_536],
  ...[-1080, -1081, -127, -128, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, 1.5, -0.5, 1_785_000_000_123],
  ...['', 'x', 'é'.repeat(32), 'é'.repeat(33), 'x'.repeat(64), 'x'.repeat(65), 'x'.repeat(128)],
  ...['x'.repeat(140), 'x'.repeat(256), 'x'.repeat(257), 'x'.repeat(1024), 'x'.repeat(1025)],
  ...['x'.repeat(4000), 'x'.repeat(4001), 'x'.repeat(16_384), 'x'.repeat(16_385)],
  ...[0, 4, 7, 8, 9, 16, 32].map((n) => new Uint8Array(n).fill(n)),
  ...[true, false, null, {}, { a: 1 }, [], [1], [1, 2], [70_000], new Map(), new Map([[0, 'x']])],
  ...[
    new Map<number, Value>([[255, [1]]]),
    [[1, 0]],
    [
      [1, 1],
      [2, 0],
    ],
    [[0, 1]],
    [[1, 2]],
  ],
  ...[[['say', 's', 0, 'Says it']], [['say', 's', 0]], [['t', '°C', 0, -2]], [['t', '°C', 0, 'x']]],
  ...[[['t', '°C', 0]], Array.from({ length: 256 }, () => 1), Array.from({ length: 257 }, () => 1)],
];

const ANY: fc.Arbitrary<Message> = fc.constantFrom(...NAMES).chain((name) => {
  const { fields, extras } = MESSAGES[name] as MessageDef;
  const good = (kind: Kind<unknown>): fc.Arbitrary<Value> =>
    fc.constantFrom(...POOL.filter((v) => kind.is(v)));
  const shape: Record<string, fc.Arbitrary<unknown>> = { type: fc.constant(name) };
  for (const [field, kind] of Object.entries(fields)) shape[field] = good(kind);
  for (const [extra, [, kind]] of Object.entries(extras)) shape[extra] = good(kind);
  return fc.record(shape, {
    requiredKeys: ['type', ...Object.keys(fields)],
  }) as unknown as fc.Arbitrary<Message>;
});

/** An empty integer map has the bytes of an empty object and comes back as one. */
const settled = (value: unknown): unknown =>
  value instanceof Map && value.size === 0 ? {} : value;

describe('the message table', () => {
  it('has kinds whose quick check and schema agree', () => {
    const differ: string[] = [];
    for (const name of NAMES) {
      for (const [field, kind] of kindsOf(name)) {
        for (const value of [...POOL, undefined]) {
          if (kind.is(value) !== kind.zod.safeParse(value).success) {
            differ.push(`${name}.${field} (${kind.words}): ${JSON.stringify(value)?.slice(0, 60)}`);
          }
        }
      }
    }
    expect(differ).toEqual([]);
  });

  it('has an id of its own for each message but RESULT, which has two forms', () => {
    const ids = NAMES.filter((n) => n !== 'failure').map((n) => MESSAGES[n].id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(MESSAGES.failure.id).toBe(MESSAGES.result.id);
    for (const name of NAMES) {
      const keys = Object.values((MESSAGES[name] as MessageDef).extras).map(([key]) => key);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });
});

describe('messages', () => {
  it('come back as they were sent', () => {
    fc.assert(
      fc.property(ANY, (message) => {
        const back = decodeMessage(encodeMessage(message));
        const loose = (m: object): object =>
          Object.fromEntries(Object.entries(m).map(([k, v]) => [k, settled(v)]));
        expect(loose(back)).toEqual(loose(message));
        expect(messageSchema(message.type).safeParse(back).success).toBe(true);
      }),
      { numRuns: 600 },
    );
  });

  it('keep an empty argument map a Map', () => {
    const call = decodeMessage(fromHex('8605010200a000'));
    expect(call).toEqual({
      type: 'call',
      callId: 1,
      bootId: 2,
      verb: 0,
      args: new Map(),
      ttlMs: 0,
    });
  });

  it('ignore trailing items and map keys that this version does not know', () => {
    expect(decodeMessage(fromHex('8406010203'))).toEqual({ type: 'ack', callId: 1 });
    expect(decodeMessage(fromHex('83040ca201183218281905dc'))).toEqual({
      type: 'beat',
      uptimeS: 12,
      battery: 50,
    });
    expect(decodeMessage(fromHex('84040ca1011832f6'))).toMatchObject({ battery: 50 });
  });

  it('take integer keys and text keys in one message', () => {
    const message: Message = {
      type: 'event',
      bootId: 0,
      seq: 9,
      kind: 'tap',
      detail: { at: [1, 2], more: new Map<number, Value>([[4, { x: null }]]), none: {} },
      ageMs: 4_294_967_297,
    };
    expect(decodeMessage(encodeMessage(message))).toStrictEqual(message);
  });

  it.each([
    ['00', 'not_a_message'],
    ['80', 'not_a_message'],
    ['8120', 'not_a_message'],
    ['816161', 'not_a_message'],
    ['a10001', 'not_a_message'],
    ['81f97e00', 'not_a_message'],
    ['8104', 'missing_field'],
    ['820461', 'truncated'],
    ['82046161', 'bad_field'],
    ['8204f6', 'bad_field'],
    ['82041b0000000100000000', 'bad_field'],
    ['83040ca1011865', 'bad_field'],
    ['83040c00', 'bad_field'],
    ['83040ca1616100', 'bad_field'],
    ['8408010200', 'bad_field'],
    ['820600', 'bad_field'],
    ['8118ff', 'unknown_type'],
    ['811a00010000', 'unknown_type'],
  ])('are refused with a cause: %s is %s', (hex, code) => {
    expect(() => decodeMessage(fromHex(hex))).toThrow(expect.objectContaining({ code }));
  });

  it('tell the id of a message that is unknown or has a bad field', () => {
    const idOf = (hex: string): unknown => {
      try {
        return decodeMessage(fromHex(hex));
      } catch (error) {
        return error instanceof FrameError ? error.id : error;
      }
    };
    expect(idOf('8118c8')).toBe(200);
    expect(idOf('82046161')).toBe(4);
  });

  it('are refused above the limit that the caller gives', () => {
    const bytes = encodeMessage({ type: 'beat', uptimeS: 1 });
    expect(decodeMessage(bytes, bytes.length)).toMatchObject({ uptimeS: 1 });
    expect(() => decodeMessage(bytes, bytes.length - 1)).toThrow(/at most/);
  });

  it('are not sent when a field is wrong', () => {
    const send = (m: unknown): Uint8Array => encodeMessage(m as Message);
    expect(() => send({ type: 'beat' })).toThrow(/beat \(4\) lacks uptimeS/);
    expect(() => send({ type: 'beat', uptimeS: -1 })).toThrow(/uptimeS of beat/);
    expect(() => send({ type: 'beat', uptimeS: 1, battery: 101 })).toThrow(/battery of beat/);
    expect(() => send({ type: 'constructor' })).toThrow(/no message/);
  });

  it('never repeat the content of a bad field in the error', () => {
    const key = 'correct horse';
    const send = (): Uint8Array =>
      encodeMessage({
        type: 'provision',
        boardId: new Uint8Array(8),
        key,
        name: 'x',
      } as unknown as Message);
    expect(send).toThrow(/must be/);
    expect(send).not.toThrow(/horse/);
  });
});

describe('sizes in bytes, before sealing', () => {
  const size = (message: Message): number => encodeMessage(message).length;
  const LARGE = 2 ** 32 - 1;
  const overhead = (message: Message, content: Value): number =>
    size(message) - encodeValue(content).length;

  it('of a BEAT are at most 8, with battery at most 11', () => {
    expect(size({ type: 'beat', uptimeS: LARGE })).toBeLessThanOrEqual(8);
    expect(size({ type: 'beat', uptimeS: LARGE, battery: 100 })).toBeLessThanOrEqual(11);
  });

  it('of an ACK are at most 7', () => {
    expect(size({ type: 'ack', callId: LARGE })).toBeLessThanOrEqual(7);
  });

  it('of a CALL are at most 18 above its arguments', () => {
    const args = new Map<number, Value>([[0, 'on']]);
    const call = (bootId: number): Message => ({
      type: 'call',
      callId: LARGE,
      bootId,
      verb: 255,
      args,
      ttlMs: 60_000,
    });
    expect(overhead(call(65_535), args)).toBeLessThanOrEqual(18);
    expect(overhead(call(LARGE), args)).toBeLessThanOrEqual(18);
  });

  it('of a RESULT are at most 9 above its value', () => {
    expect(
      overhead({ type: 'result', callId: LARGE, status: 0, value: 'ok' }, 'ok'),
    ).toBeLessThanOrEqual(9);
  });

  it('of READINGS of 12 scaled numbers are at most 50', () => {
    const values = [2137, 4550, 101_325, -512, 0, 1, 400, 65_535, 70_000, -2000, 12, 999];
    expect(size({ type: 'readings', values, ageMs: 86_400_000 })).toBeLessThanOrEqual(50);
  });

  it('of a HELLO with nothing unsettled are at most 60', () => {
    expect(
      size({
        type: 'hello',
        version: 1,
        boardId: new Uint8Array(8),
        bootId: LARGE,
        nonce: new Uint8Array(8),
        maxMessage: 65_535,
        capsHash: new Uint8Array(8),
        sleepS: 65_535,
        battery: 100,
        maxCalls: 8,
        rxWindow: 65_535,
        att: 244,
      }),
    ).toBeLessThanOrEqual(60);
  });
});
