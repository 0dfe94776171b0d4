import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WINDOW } from './call-memory.js';
import { bench } from './testing/peer.js';
import { VerbError } from './types.js';

function greeted(...args: Parameters<typeof bench>) {
  const made = bench(...args);
  made.board.start();
  made.peer.welcome();
  made.peer.sent = [];
  return made;
}

describe('a call', () => {
  it('is acknowledged at receipt and answered when it ends', async () => {
    const { peer, held, settle } = greeted();
    peer.call(100, 0);
    expect(peer.take('ack')).toEqual([{ type: 'ack', callId: 100 }]);
    await settle();
    expect(peer.sent).toEqual([]);
    held.get(100)?.resolve({ a: 1 });
    await settle();
    expect(peer.take('result')).toEqual([
      { type: 'result', callId: 100, status: 0, value: { a: 1 } },
    ]);
  });

  it('repeated while it runs is acknowledged again; repeated later is answered from memory', async () => {
    const { board, peer, held, settle } = greeted();
    peer.call(100, 0);
    peer.call(100, 0);
    expect(peer.take('ack')).toHaveLength(2);
    held.get(100)?.resolve('done');
    await settle();
    peer.take('result');
    peer.call(100, 0);
    await settle();
    expect(peer.take('result')).toMatchObject([{ callId: 100, value: 'done' }]);
    expect(board.executions).toBe(1);
  });

  it('whose RESULT is lost is answered again with growing pauses until SETTLED', async () => {
    const { peer, clock, settle } = greeted();
    peer.call(100, 1, ['x']);
    await clock.pass(30_000);
    const times = peer.take('result').length;
    expect(times).toBeGreaterThanOrEqual(4);
    expect(times).toBeLessThanOrEqual(6);
    peer.say({ type: 'settled', callId: 100 });
    await clock.pass(300_000);
    await settle();
    expect(peer.take('result')).toEqual([]);
  });

  it('that was settled is refused when it comes again, and never runs', async () => {
    const { board, peer, settle } = greeted();
    peer.call(100, 1, ['x']);
    await settle();
    peer.say({ type: 'settled', callId: 100 });
    peer.sent = [];
    peer.call(100, 1, ['x']);
    await settle();
    expect(peer.take('failure')).toMatchObject([{ callId: 100, code: 'already_settled' }]);
    expect(board.executions).toBe(1);
  });

  it('at or below the floor that the journal gave is refused', async () => {
    const { board, peer, settle } = greeted();
    peer.call(99, 1, ['x']);
    await settle();
    expect(peer.take('failure')).toMatchObject([{ callId: 99, code: 'already_settled' }]);
    peer.call(100, 1, ['x']);
    await settle();
    expect(board.log.map((e) => e.callId)).toEqual([100]);
  });

  it('below a window of 32 ids is refused, inside it may come late', async () => {
    const { board, peer, settle } = greeted();
    peer.call(200, 1, ['x']);
    peer.call(200 - WINDOW, 1, ['x']);
    peer.call(200 - WINDOW + 1, 1, ['x']);
    await settle();
    expect(peer.take('failure')).toMatchObject([{ callId: 168, code: 'already_settled' }]);
    expect(board.log.map((e) => e.callId)).toEqual([200, 169]);
  });

  it('for another boot is stale and not run', async () => {
    const { board, peer, settle } = greeted();
    peer.call(100, 1, ['x'], { bootId: 77 });
    await settle();
    expect(peer.take('failure')).toMatchObject([{ callId: 100, code: 'stale_boot' }]);
    expect(board.executions).toBe(0);
    peer.call(100, 1, ['x']);
    await settle();
    expect(board.executions).toBe(1);
  });

  it('beyond maxCalls is refused as busy, and stays refused', async () => {
    const { board, peer, held, settle } = greeted({ maxCalls: 2 });
    for (const id of [100, 101, 102]) peer.call(id, 0);
    await settle();
    expect(peer.take('failure')).toMatchObject([{ callId: 102, code: 'too_many_calls' }]);
    held.get(100)?.resolve(1);
    await settle();
    peer.call(102, 0);
    peer.call(103, 0);
    await settle();
    expect(peer.take('failure')).toMatchObject([{ callId: 102, code: 'too_many_calls' }]);
    expect(board.log.map((e) => e.callId)).toEqual([100, 101, 103]);
  });

  it('with an unknown verb or wrong arguments fails without running', async () => {
    const { board, peer, settle } = greeted();
    peer.call(100, 9);
    peer.call(101, 1, []);
    peer.call(102, 1, ['much too long for twenty bytes']);
    peer.call(103, 1, [5]);
    await settle();
    expect(peer.take('failure').map((f) => [f.callId, f.code])).toEqual([
      [100, 'unknown_verb'],
      [101, 'bad_arguments'],
      [102, 'bad_arguments'],
      [103, 'bad_arguments'],
    ]);
    expect(board.executions).toBe(0);
    expect(peer.take('ack')).toEqual([]);
  });

  it('fails with the code that its verb gives, else with failed', async () => {
    const { peer, held, settle } = greeted();
    peer.call(100, 0);
    peer.call(101, 0);
    await settle();
    held.get(100)?.reject(new VerbError('too_hot', 'the oven is 300 °C'));
    held.get(101)?.reject(new Error('boom'));
    await settle();
    expect(peer.take('failure')).toMatchObject([
      { callId: 100, code: 'too_hot', message: 'the oven is 300 °C' },
      { callId: 101, code: 'failed', message: 'boom' },
    ]);
  });

  it('whose answer is too large, or has no form on the wire, says so instead of nothing', async () => {
    const { peer, held, settle } = greeted();
    peer.call(100, 0);
    peer.call(101, 0);
    await settle();
    held.get(100)?.resolve('x'.repeat(20_000));
    held.get(101)?.resolve('\ud800');
    await settle();
    expect(peer.take('failure')).toMatchObject([
      { callId: 100, code: 'result_too_large' },
      { callId: 101, code: 'bad_result' },
    ]);
  });
});

describe('a cut', () => {
  it('leaves what runs running; HELLO says what is unsettled; the answer follows', async () => {
    const { peer, held, settle } = greeted();
    peer.call(100, 0);
    peer.call(101, 1, ['x']);
    await settle();
    peer.cut();
    held.get(100)?.resolve('while away');
    peer.sent = [];
    await settle();
    expect(peer.sent).toEqual([]);
    peer.connect();
    expect(peer.take('hello')[0]?.unsettled).toEqual([
      [100, 1],
      [101, 1],
    ]);
    peer.welcome({ session: 8, nextCallId: 102 });
    expect(peer.take('result').map((r) => r.callId)).toEqual([100, 101]);
  });

  it('does not move the floor when the same journal greets with a higher id', async () => {
    const { board, peer, settle } = greeted();
    peer.cut();
    peer.connect();
    peer.welcome({ session: 8, nextCallId: 110 });
    peer.call(105, 1, ['x']);
    await settle();
    expect(board.log.map((e) => e.callId)).toEqual([105]);
  });
});

describe('a new journal', () => {
  const OTHER = Uint8Array.of(9, 9, 9, 9);

  it('clears the memory and sets the floor', async () => {
    const { board, peer, settle } = greeted();
    peer.call(100, 1, ['x']);
    await settle();
    peer.take('result');
    peer.welcome({ session: 8, journalId: OTHER, nextCallId: 5 });
    expect(peer.take('result')).toEqual([]);
    peer.call(4, 1, ['x']);
    peer.call(5, 1, ['x']);
    await settle();
    expect(peer.take('failure')).toMatchObject([{ callId: 4, code: 'already_settled' }]);
    expect(board.log.map((e) => e.callId)).toEqual([100, 5]);
  });

  it('waits for calls of the old one; its own are held, and run once', async () => {
    const { board, peer, held, settle } = greeted();
    peer.call(100, 0);
    await settle();
    const before = held.get(100);
    peer.welcome({ session: 8, journalId: OTHER, nextCallId: 100 });
    peer.sent = [];
    peer.call(100, 1, ['new']);
    peer.call(100, 1, ['new']);
    await settle();
    expect(peer.sent).toEqual([]);
    before?.resolve('for a journal that is gone');
    await settle();
    expect(peer.take('result')).toMatchObject([{ callId: 100, value: { text: 'new' } }]);
    expect(board.log.map((e) => [e.callId, e.verb])).toEqual([
      [100, 'hold'],
      [100, 'echo'],
    ]);
  });

  it('refuses a held call as busy when its time is over', async () => {
    const { board, peer, clock } = greeted();
    peer.call(100, 0);
    await clock.pass(0);
    peer.welcome({ session: 8, journalId: OTHER, nextCallId: 1 });
    peer.call(1, 1, ['x'], { ttlMs: 5_000 });
    await clock.pass(6_000);
    expect(peer.take('failure')).toMatchObject([{ callId: 1, code: 'too_many_calls' }]);
    expect(board.executions).toBe(1);
  });
});

describe('CANCEL', () => {
  it('tells the verb, and the call fails as cancelled', async () => {
    const { peer, settle } = greeted();
    peer.call(100, 0);
    await settle();
    peer.say({ type: 'cancel', callId: 100 });
    await settle();
    expect(peer.take('failure')).toMatchObject([{ callId: 100, code: 'cancelled' }]);
  });

  it('is answered after a second even if the verb does not listen', async () => {
    const { peer, clock } = greeted(() => ({
      name: 'Deaf',
      platform: 'test',
      firmware: '1',
      verbs: [
        { name: 'deaf', signature: '', description: '', run: () => new Promise<never>(() => {}) },
      ],
    }));
    peer.call(100, 0);
    await clock.pass(10);
    peer.say({ type: 'cancel', callId: 100 });
    await clock.pass(900);
    expect(peer.take('failure')).toEqual([]);
    await clock.pass(200);
    expect(peer.take('failure')).toMatchObject([{ callId: 100, code: 'cancelled' }]);
  });

  it('that comes too late leaves the result as it is', async () => {
    const { peer, held, settle } = greeted();
    peer.call(100, 0);
    await settle();
    held.get(100)?.resolve('done');
    peer.say({ type: 'cancel', callId: 100 });
    await settle();
    expect(peer.take('result')).toMatchObject([{ callId: 100, value: 'done' }]);
  });

  it('before its CALL keeps that from running', async () => {
    const { board, peer, settle } = greeted();
    peer.say({ type: 'cancel', callId: 100 });
    peer.call(100, 1, ['x']);
    await settle();
    expect(board.executions).toBe(0);
    expect(peer.take('failure').every((f) => f.code === 'cancelled')).toBe(true);
  });
});

describe('at most once', () => {
  it('holds under any mix of repeats, settlements, cancels, cuts and reboots', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('call' as const), id: fc.integer({ min: 90, max: 150 }) }),
      fc.record({
        do: fc.constantFrom('settled' as const, 'cancel' as const),
        id: fc.integer({ min: 90, max: 150 }),
      }),
      fc.record({
        do: fc.constantFrom('cut' as const, 'reboot' as const, 'wait' as const),
        id: fc.constant(0),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
        const { board, peer, clock, settle } = greeted();
        for (const { do: what, id } of steps) {
          if (what === 'call') peer.call(id, 1, ['x']);
          else if (what === 'settled') peer.say({ type: 'settled', callId: id });
          else if (what === 'cancel') peer.say({ type: 'cancel', callId: id });
          else if (what === 'wait') await clock.pass(3_000);
          else {
            if (what === 'reboot') board.reboot();
            else {
              peer.cut();
              peer.connect();
            }
            peer.welcome({ session: steps.length });
          }
          await settle();
        }
        const runs = board.log.map((e) => `${e.bootId}:${e.callId}`);
        expect(new Set(runs).size).toBe(runs.length);
      }),
      { numRuns: 60 },
    );
  });
});
