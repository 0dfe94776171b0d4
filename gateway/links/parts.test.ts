import { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { passwordFits } from './broker-rules.js';
import { Bucket } from './bucket.js';
import { DoorQueue } from './door-queue.js';
import { isLoopback } from './loopback.js';
import { manualClock } from './manual-clock.js';
import { brokerAddress } from './mqtt-client.js';
import { PacketMeter } from './packet-meter.js';
import { Refusals } from './refusals.js';
import { Takeovers } from './takeovers.js';
import { decodeState, encodeState, parseTopic, topicOf } from './topics.js';

const ID = '00000000000000a1';

describe('topics', () => {
  test.each([
    'mote/00000000000000A1/up',
    'mote/00000000000000a/up',
    'mote/00000000000000a11/up',
    'mote/00000000000000a1/up/',
    '/mote/00000000000000a1/up',
    'mote/00000000000000a1/Up',
    'mote//up',
    'mote/00000000000000a1',
    'mote/00000000000000a1/up\n',
    'xmote/00000000000000a1/up',
  ])('%j is nobody’s', (topic) => expect(parseTopic(topic)).toBeUndefined());

  test('a board’s own topics are read back', () => {
    for (const leaf of ['up', 'down', 'state'] as const) {
      expect(parseTopic(topicOf(ID, leaf))).toEqual({ boardId: ID, leaf });
    }
  });
});

describe('state', () => {
  const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
  test('any state is read back', () => {
    fc.assert(
      fc.property(u32, u32, fc.boolean(), (bootId, connection, online) => {
        const state = { bootId, connection, online };
        expect(decodeState(encodeState(state))).toEqual(state);
      }),
    );
  });

  test('any bytes are a state or undefined, and never thrown at', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        const state = decodeState(bytes);
        expect(state === undefined || Number.isInteger(state.bootId)).toBe(true);
      }),
    );
  });

  test.each([
    '83010102',
    '8201',
    '830120f5',
    '8301fb3ff8000000000000',
    '83010101ff',
    '80',
    '9f010101ff',
  ])('%s is none', (hex) => expect(decodeState(Buffer.from(hex, 'hex'))).toBeUndefined());

  test('a newer peer may say more', () => {
    expect(decodeState(Buffer.from('8403010118ff', 'hex'))).toEqual({
      bootId: 3,
      connection: 1,
      online: true,
    });
  });
});

describe('packet meter', () => {
  const packet = fc.tuple(
    fc.integer({ min: 0x10, max: 0xef }),
    fc.integer({ min: 0, max: 20_000 }),
  );

  function bytesOf([type, length]: [number, number]): number[] {
    const head = [type];
    let left = length;
    do {
      const more = left > 127;
      head.push((left & 127) | (more ? 128 : 0));
      left >>= 7;
    } while (left > 0);
    return [...head, ...new Array<number>(length).fill(0xff)];
  }

  test('it counts packets however the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(packet, { maxLength: 6 }),
        fc.integer({ min: 1, max: 5_000 }),
        (packets, cut) => {
          const stream = new Uint8Array(packets.flatMap(bytesOf));
          const meter = new PacketMeter(20_000);
          for (let at = 0; at < stream.length; at += cut) {
            expect(meter.feed(stream.subarray(at, at + cut))).toBeUndefined();
          }
          expect(meter.packets).toBe(packets.length);
        },
      ),
      { numRuns: 50 },
    );
  });

  test('the cap holds at its edge, and a fifth length byte is malformed', () => {
    const edge = new PacketMeter(128);
    expect(edge.feed(new Uint8Array([0x30, 0x80, 0x01]))).toBeUndefined();
    expect(new PacketMeter(127).feed(new Uint8Array([0x30, 0x80, 0x01]))).toBe('too_large');
    const meter = new PacketMeter(2 ** 28);
    expect(meter.feed(new Uint8Array([0x30, 0xff, 0xff, 0xff, 0xff]))).toBe('malformed');
  });
});

test('a bucket pays debts by waiting', () => {
  const bucket = new Bucket(10, 20, 0);
  expect(bucket.charge(20, 0)).toBe(0);
  expect(bucket.charge(5, 0)).toBe(500);
  expect(bucket.take(1, 400)).toBe(false);
  expect(bucket.take(1, 600)).toBe(true);
  // Saved up to the burst, no further; a clock that stands still gives nothing.
  expect(bucket.charge(20, 1_000_000)).toBe(0);
  expect(bucket.take(1, 1_000_000)).toBe(false);
});

test('sockets wait their turn, and those that can’t wait are turned away', () => {
  const clock = manualClock();
  const admitted: Socket[] = [];
  const limits = { connectsPerS: 10, connectBurst: 2, maxWaiting: 2 };
  const queue = new DoorQueue(clock, limits, (socket) => admitted.push(socket));
  const sockets = Array.from({ length: 5 }, () => new Socket());
  expect(sockets.map((socket) => queue.arrive(socket))).toEqual([true, true, true, true, false]);
  expect(admitted).toEqual(sockets.slice(0, 2));
  expect(sockets[4]?.destroyed).toBe(true);
  clock.pass(80);
  expect(admitted).toHaveLength(2);
  clock.pass(20);
  expect(admitted).toHaveLength(3);
  clock.pass(80);
  expect(admitted).toHaveLength(3);
  clock.pass(20);
  expect(admitted).toEqual(sockets.slice(0, 4));
  queue.close();
});

describe('takeovers', () => {
  const pair = (bootId: number, connection = 1) => ({ bootId, connection });

  test('a boot loop and a bad radio are no duplicates', () => {
    const takeovers = new Takeovers();
    for (let i = 0; i < 20; i++)
      expect(takeovers.took(ID, pair(i), pair(i + 1), i * 100)).toBe(false);
    for (let i = 0; i < 20; i++) {
      expect(takeovers.took('b', pair(1, i), pair(1, i + 1), i * 100)).toBe(false);
    }
  });

  test('two that alternate are flagged at the third takeover, longer each time', () => {
    const takeovers = new Takeovers();
    let now = 0;
    const fight = (): boolean[] =>
      [0, 1, 2].map((i) => takeovers.took(ID, pair(i % 2 ? 9 : 5), pair(i % 2 ? 5 : 9), now + i));
    for (const holdMs of [10_000, 20_000, 40_000]) {
      expect(fight()).toEqual([false, false, true]);
      expect(takeovers.refuses(ID, pair(5), now + 100)).toBe(true);
      expect(takeovers.refuses(ID, undefined, now + 100)).toBe(true);
      expect(takeovers.refuses(ID, pair(9, 2), now + 100)).toBe(false);
      expect(takeovers.refuses(ID, pair(5), now + holdMs - 10)).toBe(true);
      now += holdMs + 100;
      expect(takeovers.refuses(ID, pair(5), now)).toBe(false);
    }
  });

  test('three takeovers that take longer than ten seconds are none, and a free seat is free', () => {
    const takeovers = new Takeovers();
    expect(takeovers.took(ID, pair(5), pair(9), 0)).toBe(false);
    expect(takeovers.took(ID, pair(9), pair(5), 6_000)).toBe(false);
    expect(takeovers.took(ID, pair(5), pair(9), 12_000)).toBe(false);
    expect(takeovers.took(ID, pair(9), pair(5), 13_000)).toBe(true);
    takeovers.left(ID);
    expect(takeovers.refuses(ID, pair(9), 13_001)).toBe(false);
  });
});

test('a reason is said once a minute for each id, escaped, and for a bounded number of ids', () => {
  const clock = manualClock();
  const said: string[] = [];
  const refusals = new Refusals(clock, (_line, details) => said.push(String(details?.client)));
  refusals.say('a\n\u001b[31m', 'x');
  refusals.say('a\n\u001b[31m', 'x');
  expect(said).toEqual(['"a\\n\\u001b[31m"']);
  clock.pass(60_000);
  refusals.say('a\n\u001b[31m', 'x');
  expect(said).toHaveLength(2);
  for (let i = 0; i < 1_000; i++) refusals.say(`id${i}`, 'x');
  expect(said).toHaveLength(2 + 255);
});

test('only the right password of a known board fits', () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  expect(passwordFits(bytes('right'), 'right')).toBe(true);
  expect(passwordFits(bytes('wrong'), 'right')).toBe(false);
  expect(passwordFits(undefined, 'right')).toBe(false);
  expect(passwordFits(bytes(''), undefined)).toBe(false);
  expect(passwordFits(undefined, undefined)).toBe(false);
});

test('what is private is TLS or this machine', () => {
  expect(brokerAddress('mqtt://localhost')).toMatchObject({ port: 1883, private: true });
  expect(brokerAddress('mqtt://[::1]:99')).toMatchObject({ host: '::1', port: 99, private: true });
  expect(brokerAddress('mqtts://10.0.0.1')).toMatchObject({ port: 8883, private: true });
  expect(brokerAddress('mqtt://10.0.0.1')).toMatchObject({ private: false });
  expect(brokerAddress('mqtt://127.0.0.1.example')).toMatchObject({ private: false });
  for (const bad of ['', 'http://a', 'mqtt://', 'mqtt://user:pass@a', 'ws://a']) {
    expect(() => brokerAddress(bad)).toThrow(RangeError);
  }
  expect(isLoopback('::ffff:127.3.2.1')).toBe(true);
  expect(isLoopback('127.evil')).toBe(false);
});
