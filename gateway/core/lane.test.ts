import { describe, expect, it } from 'vitest';
import { BoardPeer, PEER_ID } from '../../test/support/board-peer.js';
import { settle } from '../../test/support/clock.js';
import { bench } from '../../test/support/gateway.js';
import type { CallRecord } from './journal.js';
import { memoryJournal } from './memory-journal.js';
import type { Call, Door, Outcome } from './types.js';

class RecordingDoor implements Door {
  readonly outcomes: Outcome[] = [];
  readonly lateOutcomes: Outcome[] = [];
  readonly resumed: CallRecord[] = [];
  readonly notes: unknown[] = [];
  failures = 0;

  async resume(record: CallRecord): Promise<void> {
    this.resumed.push(record);
  }

  async report(record: CallRecord): Promise<void> {
    if (this.failures-- > 0) throw new Error('the hub is down');
    if (record.outcome) this.outcomes.push(record.outcome);
  }

  async late(record: CallRecord): Promise<void> {
    if (record.late) this.lateOutcomes.push(record.late);
  }

  progress(_record: CallRecord, progress: unknown): void {
    this.notes.push(progress);
  }
}

const call = (key: string, more: Partial<Call> = {}): Call => ({
  key,
  door: 'test',
  boardId: PEER_ID,
  verb: 'say',
  args: { text: 'hi' },
  ttlMs: 30_000,
  ...more,
});

async function online(options: Parameters<typeof bench>[0] = {}) {
  const b = bench(options);
  const door = new RecordingDoor();
  b.gateway.attach('test', door);
  const board = new BoardPeer(b.gateway);
  board.greet(1);
  await settle();
  const run = async (c: Call): Promise<void> => {
    await b.gateway.admit(c);
    b.gateway.release(c.key);
    await settle();
  };
  return { ...b, door, board, run };
}

describe('a call', () => {
  it('travels with its arguments by index, and its result is settled, then reported', async () => {
    const { board, door, run } = await online();
    await run(call('a', { args: { text: 'hello', size: 3 } }));
    const sent = board.last('call');
    expect(sent).toMatchObject({ callId: 1, bootId: 1, verb: 0, ttlMs: 30_000 });
    expect([...sent.args]).toEqual([
      [0, 'hello'],
      [1, 3],
    ]);
    board.answer(1, { shown: true });
    await settle();
    expect(board.last('settled').callId).toBe(1);
    expect(door.outcomes).toEqual([{ kind: 'ok', value: { shown: true }, blobs: [] }]);
  });

  it('is not sent before its claim holds, and never after the claim was lost', async () => {
    const { gateway, board, clock, door } = await online();
    await gateway.admit(call('a'));
    await gateway.admit(call('b'));
    await clock.advance(1_000);
    expect(board.all('call')).toHaveLength(0);
    await gateway.drop('a');
    gateway.release('b');
    gateway.release('a');
    await clock.advance(1_000);
    expect(board.all('call').map((c) => c.callId)).toEqual([2]);
    expect(door.outcomes).toEqual([]);
  });

  it('is one call for one key, however often it is admitted', async () => {
    const { gateway, board } = await online();
    const [a, b] = await Promise.all([gateway.admit(call('a')), gateway.admit(call('a'))]);
    expect(a.callId).toBe(b.callId);
    gateway.release('a');
    gateway.release('a');
    await settle();
    board.answer(1);
    await settle();
    expect((await gateway.admit(call('a'))).outcome?.kind).toBe('ok');
    expect(board.all('call')).toHaveLength(1);
  });

  it.each([
    [{ verb: 'fly' }, 'unknown_verb', /no verb “fly”; it has: say, status, reset/],
    [{ args: { text: 5 } }, 'bad_arguments', /text/],
    [{ args: { text: 'x', size: 9 } }, 'bad_arguments', /size/],
    [{ verb: 'reset', args: {} }, 'protected', /protected/],
    [{ boardId: 'ffffffffffffffff' }, 'unknown_board', /knows no board/],
  ] as const)('with %o is refused as %s and nothing is sent', async (more, code, words) => {
    const { board, door, run } = await online();
    await run(call('a', more as Partial<Call>));
    expect(door.outcomes).toMatchObject([{ kind: 'refused', code }]);
    expect(door.outcomes[0]).toHaveProperty('message', expect.stringMatching(words));
    expect(board.all('call')).toHaveLength(0);
  });

  it('larger than the board takes is refused with both numbers', async () => {
    const { gateway, board, door, run } = await online();
    board.greet(2, { maxMessage: 100 });
    await settle();
    await run(call('a', { args: { text: 'x'.repeat(150) } }));
    expect(gateway.board(PEER_ID)?.presence.state).toBe('online');
    expect(door.outcomes).toMatchObject([{ kind: 'refused', code: 'too_large' }]);
    expect(door.outcomes[0]).toHaveProperty('message', expect.stringMatching(/18\d bytes .* 100/));
    expect(board.all('call')).toHaveLength(0);
  });

  it('beyond the queue is refused as busy', async () => {
    const { door, run } = await online({ limits: { queue: 2 } });
    for (const key of ['a', 'b', 'c']) await run(call(key));
    expect(door.outcomes).toMatchObject([{ kind: 'refused', code: 'busy' }]);
  });

  it('without ACK is sent again under the same id, with ACK it is not', async () => {
    const { board, clock, run } = await online();
    await run(call('a'));
    await clock.advance(2_000);
    await clock.advance(4_000);
    expect(board.all('call').map((c) => c.callId)).toEqual([1, 1, 1]);
    board.send({ type: 'ack', callId: 1 });
    await clock.advance(20_000);
    expect(board.all('call')).toHaveLength(3);
  });

  it('without an answer ends as outcome_unknown, and a result after that is told as late', async () => {
    const { board, clock, door, run } = await online();
    await run(call('a', { ttlMs: 5_000 }));
    await clock.advance(5_000);
    expect(board.last('cancel').callId).toBe(1);
    expect(door.outcomes).toMatchObject([{ kind: 'outcome_unknown' }]);
    board.answer(1, 'done');
    board.answer(1, 'done');
    await clock.advance(10);
    expect(door.lateOutcomes).toEqual([{ kind: 'ok', value: 'done', blobs: [] }]);
    expect(board.all('settled')).toHaveLength(2);
    expect(door.outcomes).toHaveLength(1);
  });

  it('that was never sent in its time is expired', async () => {
    const { board, clock, door, run } = await online();
    board.greet(1, { maxCalls: 1 });
    await run(call('a', { ttlMs: 60_000 }));
    await run(call('b', { ttlMs: 3_000 }));
    board.send({ type: 'ack', callId: 1 });
    await clock.advance(3_000);
    expect(door.outcomes).toMatchObject([{ kind: 'expired' }]);
    expect(board.all('call').some((c) => c.callId === 2)).toBe(false);
  });

  it('gets its time again with ACK and PROGRESS, up to the limit of its door', async () => {
    const { board, clock, door, run } = await online();
    await run(call('a', { ttlMs: 5_000, maxMs: 12_000 }));
    board.send({ type: 'ack', callId: 1 });
    await clock.advance(4_000);
    board.send({ type: 'progress', callId: 1, percent: 30 });
    await clock.advance(4_500);
    board.send({ type: 'progress', callId: 1, note: 'nearly' });
    await clock.advance(3_000);
    expect(door.outcomes).toEqual([]);
    await clock.advance(1_000);
    expect(door.outcomes).toMatchObject([{ kind: 'outcome_unknown' }]);
    expect(door.notes).toMatchObject([{ percent: 30 }, { note: 'nearly' }]);
  });

  it('waits its turn when the board takes no more at once', async () => {
    const { board, run } = await online();
    board.greet(1, { maxCalls: 2 });
    for (const key of ['a', 'b', 'c']) await run(call(key));
    expect(board.all('call').map((c) => c.callId)).toEqual([1, 2]);
    board.answer(1);
    await settle();
    expect(board.all('call').map((c) => c.callId)).toEqual([1, 2, 3]);
  });

  it('is never sent beyond the window of ids that the board remembers', async () => {
    const { gateway, board, run } = await online({ limits: { queue: 100 } });
    board.greet(1, { maxCalls: 200 });
    await gateway.admit(call('held'));
    for (let i = 0; i < 40; i++) await run(call(`k${i}`));
    expect(Math.max(...board.all('call').map((c) => c.callId))).toBe(32);
    await gateway.drop('held');
    await settle();
    expect(board.all('call').some((c) => c.callId === 33)).toBe(true);
  });
});

describe('cancelling', () => {
  it('ends at once what was not sent', async () => {
    const { gateway, board, door } = await online();
    await gateway.admit(call('a'));
    gateway.cancel('a');
    gateway.release('a');
    await settle();
    expect(door.outcomes).toMatchObject([{ kind: 'cancelled' }]);
    expect(board.all('call')).toHaveLength(0);
  });

  it('asks the board about what was sent, and takes whatever it says', async () => {
    const { gateway, board, door, run } = await online();
    await run(call('a'));
    await run(call('b'));
    gateway.cancel('a');
    gateway.cancel('b');
    expect(board.all('cancel').map((c) => c.callId)).toEqual([1, 2]);
    board.send({ type: 'failure', callId: 1, status: 1, code: 'cancelled', message: '' });
    board.answer(2);
    await settle();
    expect(door.outcomes.map((o) => o.kind)).toEqual(['cancelled', 'ok']);
  });
});

describe('a link that breaks', () => {
  it('in the middle of a call: the same boot gets the same id again, unless it says it holds it', async () => {
    const { board, run } = await online();
    await run(call('a'));
    await run(call('b'));
    board.reconnect();
    board.greet(1, { unsettled: [[1, 0]] });
    await settle();
    expect(board.all('call').map((c) => c.callId)).toEqual([1, 2, 2]);
  });

  it('and another boot comes back: the call may have run, so it is said and not sent', async () => {
    const { board, door, run } = await online();
    await run(call('a'));
    board.reconnect();
    board.greet(2);
    await settle();
    expect(door.outcomes).toMatchObject([{ kind: 'outcome_unknown' }]);
    expect(board.all('call')).toHaveLength(1);
  });

  it('and another boot comes back: an idempotent call is sent under a new id', async () => {
    const { board, door, run } = await online();
    await run(call('a', { verb: 'status', args: {} }));
    board.reconnect();
    board.greet(2);
    await settle();
    expect(board.last('call')).toMatchObject({ callId: 2, bootId: 2 });
    board.answer(2, 'fine');
    await settle();
    expect(door.outcomes).toMatchObject([{ kind: 'ok', value: 'fine' }]);
  });

  it('before a waiting call was sent: it goes to the new boot under a new id', async () => {
    const { board, door, run } = await online();
    board.greet(1, { maxCalls: 1 });
    await run(call('a'));
    await run(call('b'));
    board.reconnect();
    board.greet(2);
    await settle();
    expect(door.outcomes.map((o) => o.kind)).toEqual(['outcome_unknown']);
    expect(board.last('call')).toMatchObject({ callId: 3, bootId: 2 });
    board.answer(3);
    await settle();
    expect(door.outcomes.map((o) => o.kind)).toEqual(['outcome_unknown', 'ok']);
  });

  it('does not matter to a call when the clock on the wall jumps', async () => {
    const { clock, door, board, run } = await online();
    await run(call('a'));
    clock.jumpWall(-3_600_000);
    await clock.advance(100);
    clock.jumpWall(366 * 86_400_000);
    await clock.advance(100);
    expect(door.outcomes).toEqual([]);
    board.answer(1);
    await settle();
    expect(door.outcomes).toMatchObject([{ kind: 'ok' }]);
  });
});

describe('a board that runs as many calls as it takes', () => {
  const ids = async (board: BoardPeer): Promise<number[]> => {
    await settle();
    return board.all('call').map((c) => c.callId);
  };
  const fails = (board: BoardPeer, callId: number, code: string): void =>
    board.send({ type: 'failure', callId, status: 1, code, message: 'the board’s words' });

  it('gets none more when it repeats its HELLO, though older calls were released since', async () => {
    const { gateway, board } = await online();
    board.greet(1, { maxCalls: 2 });
    for (const key of ['a', 'b', 'c']) await gateway.admit(call(key));
    gateway.release('c');
    gateway.release('b');
    expect(await ids(board)).toEqual([3, 2]);
    gateway.release('a');
    board.greet(1, { maxCalls: 2 });
    expect(new Set(await ids(board))).toEqual(new Set([2, 3]));
    board.answer(3);
    expect((await ids(board)).at(-1)).toBe(1);
  });

  it('gets none more while one that is out of time may still run', async () => {
    const { board, clock, run } = await online();
    board.greet(1, { maxCalls: 1 });
    await run(call('a', { ttlMs: 1_000 }));
    await run(call('b'));
    await clock.advance(1_000);
    expect(board.last('cancel').callId).toBe(1);
    expect(await ids(board)).toEqual([1]);
    fails(board, 1, 'cancelled');
    expect(await ids(board)).toEqual([1, 2]);
  });

  it('gets the next although it never says that it has stopped', async () => {
    const { board, clock, run } = await online();
    board.greet(1, { maxCalls: 1 });
    await run(call('a', { ttlMs: 1_000 }));
    await run(call('b'));
    await clock.advance(1_000);
    expect(await ids(board)).toEqual([1]);
    await clock.advance(2_000);
    expect(await ids(board)).toEqual([1, 2]);
  });

  it('gets a call again by another id if it had no room and says that it did not run it', async () => {
    const { board, clock, door, run, journal } = await online();
    await run(call('a'));
    fails(board, 1, 'too_many_calls');
    await settle();
    expect(board.last('settled').callId).toBe(1);
    expect(await ids(board)).toEqual([1]);
    await clock.advance(2_000);
    expect(await ids(board)).toEqual([1, 2]);
    fails(board, 1, 'too_many_calls');
    board.answer(2, 'once');
    await settle();
    expect(door.outcomes).toMatchObject([{ kind: 'ok', value: 'once' }]);
    expect(journal.find('a')).toMatchObject({ callId: 2, earlierIds: [1] });
  });

  it('that has no room until the end leaves the call expired, as it has not run', async () => {
    const { board, clock, door, run } = await online();
    await run(call('a', { ttlMs: 5_000 }));
    for (let n = 0; n < 6; n++) {
      fails(board, board.last('call').callId, 'too_many_calls');
      await clock.advance(1_000);
    }
    expect(door.outcomes).toMatchObject([{ kind: 'expired' }]);
  });
});

describe('after a restart of the gateway', () => {
  it('an open call goes on: the door claims it again and the board gets the same id', async () => {
    const journal = memoryJournal();
    const first = await online({ journal });
    await first.run(call('a'));
    first.gateway.stop();

    const second = bench({ journal });
    const door = new RecordingDoor();
    second.gateway.attach('test', door);
    expect(door.resumed.map((r) => r.call.key)).toEqual(['a']);
    const board = new BoardPeer(second.gateway);
    board.greet(1);
    await settle();
    expect(board.all('call')).toHaveLength(0);
    second.gateway.release('a');
    await settle();
    expect(board.all('call').map((c) => c.callId)).toEqual([1]);
    board.answer(1, 'once');
    await settle();
    expect(door.outcomes).toMatchObject([{ kind: 'ok', value: 'once' }]);
  });

  it.each(['before', 'after'])(
    'calls released %s the board is back go to it as many at once as it takes',
    async (when) => {
      const journal = memoryJournal();
      const first = await online({ journal });
      const keys = ['a', 'b', 'c'];
      for (const key of keys) await first.run(call(key));
      first.gateway.stop();
      const second = bench({ journal });
      second.gateway.attach('test', new RecordingDoor());
      const board = new BoardPeer(second.gateway);
      const release = (): void => {
        for (const key of keys) second.gateway.release(key);
      };
      if (when === 'before') release();
      board.greet(1, { maxCalls: 2 });
      await settle();
      if (when === 'after') release();
      await settle();
      expect(board.all('call').map((c) => c.callId)).toEqual([1, 2]);
      board.answer(1);
      await settle();
      expect(board.all('call').map((c) => c.callId)).toEqual([1, 2, 3]);
    },
  );

  it('a call waits for older ones that may run on the board, whichever is released first', async () => {
    const journal = memoryJournal();
    const first = await online({ journal });
    for (const key of ['a', 'b', 'c']) await first.run(call(key));
    first.gateway.stop();
    const second = bench({ journal });
    second.gateway.attach('test', new RecordingDoor());
    const board = new BoardPeer(second.gateway);
    board.greet(1, { maxCalls: 2 });
    const sent = async (): Promise<number[]> => {
      await settle();
      return board.all('call').map((c) => c.callId);
    };
    second.gateway.release('c');
    expect(await sent()).toEqual([]);
    second.gateway.release('a');
    expect(await sent()).toEqual([1]);
    await second.gateway.drop('b');
    expect(board.all('cancel').map((c) => c.callId)).toEqual([2]);
    expect(await sent()).toEqual([1]);
    board.send({ type: 'failure', callId: 2, status: 1, code: 'cancelled', message: '' });
    expect(await sent()).toEqual([1, 3]);
  });

  it('a call that the board holds takes one of its places, released or not', async () => {
    const journal = memoryJournal();
    const first = await online({ journal });
    for (const key of ['a', 'b']) await first.run(call(key));
    first.gateway.stop();
    const second = bench({ journal });
    second.gateway.attach('test', new RecordingDoor());
    const board = new BoardPeer(second.gateway);
    board.greet(1, { maxCalls: 2, unsettled: [[1, 0]] });
    await settle();
    second.gateway.release('b');
    await settle();
    expect(board.all('call').map((c) => c.callId)).toEqual([2]);
  });

  it('an open call whose board has restarted meanwhile is outcome_unknown', async () => {
    const journal = memoryJournal();
    const first = await online({ journal });
    await first.run(call('a'));
    first.gateway.stop();
    const second = bench({ journal });
    const door = new RecordingDoor();
    second.gateway.attach('test', door);
    second.gateway.release('a');
    const board = new BoardPeer(second.gateway);
    board.greet(2);
    await settle();
    expect(door.outcomes).toMatchObject([{ kind: 'outcome_unknown' }]);
    expect(board.all('call')).toHaveLength(0);
  });

  it('an outcome that was not told yet is told', async () => {
    const journal = memoryJournal();
    const first = await online({ journal });
    first.door.failures = 1_000;
    await first.run(call('a'));
    first.board.answer(1, 'x');
    await settle();
    expect(first.door.outcomes).toEqual([]);
    first.gateway.stop();
    const second = bench({ journal });
    const door = new RecordingDoor();
    second.gateway.attach('test', door);
    await settle();
    expect(door.outcomes).toMatchObject([{ kind: 'ok', value: 'x' }]);
    expect(journal.open()).toEqual([]);
  });

  it('a failing door is told again until it takes the outcome', async () => {
    const { board, clock, door, run } = await online();
    door.failures = 3;
    await run(call('a'));
    board.answer(1);
    await clock.advance(10_000);
    expect(door.outcomes).toHaveLength(1);
  });
});

describe('calls from this process', () => {
  it('resolve with their outcome', async () => {
    const { gateway, board } = await online();
    const outcome = gateway.call({ boardId: PEER_ID, verb: 'status', args: {}, ttlMs: 1_000 });
    await settle();
    board.answer(1, { up: 5 });
    expect(await outcome).toEqual({ kind: 'ok', value: { up: 5 }, blobs: [] });
  });

  it('to a board that is asleep or gone say so at once', async () => {
    const { gateway, board, clock } = await online();
    board.send({ type: 'sleep', seconds: 600 });
    const ask = () => gateway.call({ boardId: PEER_ID, verb: 'status', args: {}, ttlMs: 1_000 });
    expect(await ask()).toMatchObject({
      kind: 'unreachable',
      message: expect.stringMatching(/sleeps until/),
    });
    await clock.advance(700_000);
    expect(await ask()).toMatchObject({
      kind: 'unreachable',
      message: expect.stringMatching(/not been reachable/),
    });
  });
});
