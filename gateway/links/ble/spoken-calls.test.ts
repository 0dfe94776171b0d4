import { expect, test } from 'vitest';
import type { Value } from '../../../protocol/kinds.js';
import type { Message } from '../../../protocol/messages.js';
import { settle } from '../../../test/support/clock.js';
import { SpokenCalls } from './spoken-calls.js';

const JOURNAL = Uint8Array.of(1, 2, 3, 4);

function setUp(run: (args: Record<string, Value>) => Value | Promise<Value> = () => 'done') {
  const sent: Message[] = [];
  let runs = 0;
  const calls = new SpokenCalls({
    bootId: 7,
    send: (message) => sent.push(message),
    maxOut: () => 200,
    verbs: [
      {
        name: 'go',
        signature: 'n?:i0..9',
        description: '',
        run: (args) => {
          runs += 1;
          return run(args);
        },
      },
    ],
  });
  calls.opened(JOURNAL, 100);
  const call = async (callId: number, more: { bootId?: number; verb?: number; n?: Value } = {}) => {
    const { bootId = 7, verb = 0, n } = more;
    const args = new Map<number, Value>(n === undefined ? [] : [[0, n]]);
    calls.take({ type: 'call', callId, bootId, verb, args, ttlMs: 1_000 });
    await settle();
  };
  const codes = () => sent.flatMap((each) => (each.type === 'failure' ? [each.code] : []));
  return { calls, sent, call, codes, runs: () => runs };
}

test('a repeated id is answered from memory, a settled or an older one is refused', async () => {
  const { calls, sent, call, codes, runs } = setUp();
  await call(100);
  await call(100);
  expect(sent.map(({ type }) => type)).toEqual(['ack', 'result', 'result']);
  expect(calls.unsettled()).toEqual([[100, 1]]);
  calls.settled(100);
  expect(calls.unsettled()).toEqual([]);
  await call(100);
  await call(99);
  expect(codes()).toEqual(['already_settled', 'already_settled']);
  await call(140);
  await call(108);
  expect(codes()).toHaveLength(3);
  await call(109);
  expect(runs()).toBe(3);
});

test('a call of another boot is refused and never run', async () => {
  const { call, codes, runs } = setUp();
  await call(100, { bootId: 6 });
  await call(100, { bootId: 0 });
  expect(codes()).toEqual(['stale_boot', 'stale_boot']);
  expect(runs()).toBe(0);
});

test('what runs is said to run; settled meanwhile, its late answer is still told', async () => {
  let finish: (value: Value) => void = () => {};
  const { calls, sent, call, runs } = setUp(
    () =>
      new Promise((resolve) => {
        finish = resolve;
      }),
  );
  await call(100);
  await call(100);
  expect(sent.map(({ type }) => type)).toEqual(['ack', 'ack']);
  expect(calls.unsettled()).toEqual([[100, 0]]);
  calls.settled(100);
  calls.cancel(100);
  finish('late');
  await settle();
  expect(sent.at(-1)).toMatchObject({ type: 'result', callId: 100, value: 'late' });
  expect(runs()).toBe(1);
});

test('a cancelled id that never came does not run when it comes', async () => {
  const { calls, call, codes, runs } = setUp();
  calls.cancel(101);
  await call(101);
  expect(codes()).toEqual(['cancelled', 'cancelled']);
  expect(runs()).toBe(0);
});

test('answers of one journal are not told to another, and its ids begin anew', async () => {
  let finish: (value: Value) => void = () => {};
  const { calls, sent, call } = setUp(
    (args) =>
      new Promise((resolve) => {
        if (args.n === 1) finish = resolve;
        else resolve('at once');
      }),
  );
  await call(100, { n: 1 });
  await call(101);
  sent.length = 0;
  calls.opened(Uint8Array.of(9, 9, 9, 9), 5);
  finish('for the other');
  await settle();
  expect(sent).toEqual([]);
  expect(calls.unsettled()).toEqual([]);
  await call(5);
  expect(sent.at(-1)).toMatchObject({ type: 'result', callId: 5 });
});

test('bad verbs, bad arguments, envelopes and answers that can’t travel have their codes', async () => {
  const { calls, call, codes } = setUp((args) =>
    args.n === 9 ? 'x'.repeat(300) : (undefined as never),
  );
  await call(100, { verb: 3 });
  await call(101, { n: 'text' });
  calls.take({
    type: 'envelope',
    callId: 102,
    bootId: 7,
    kind: 'k',
    bytes: new Uint8Array(),
    ttlMs: 1,
  });
  await call(103, { n: 9 });
  await call(104);
  expect(codes()).toEqual([
    'unknown_verb',
    'bad_arguments',
    'unsupported',
    'result_too_large',
    'bad_result',
  ]);
});

test('unsettled answers are bounded', async () => {
  const { call, codes, calls, runs } = setUp();
  for (let id = 100; id < 140; id++) await call(id);
  expect(calls.unsettled()).toHaveLength(32);
  expect(codes()).toEqual(Array(8).fill('too_many_calls'));
  expect(runs()).toBe(32);
});
