import { describe, expect, it } from 'vitest';
import { bench } from './testing/peer.js';
import type { BoardHost } from './types.js';

function withHost() {
  let host: BoardHost | undefined;
  const made = bench((h) => {
    host = h;
    return {
      name: 'Bench',
      platform: 'test',
      firmware: '1',
      verbs: [],
      readings: [
        { name: 't', unit: '°C', scale: -2, read: () => 21.37 },
        { name: 'gone', unit: '', read: () => Number.NaN },
        { name: 'door', unit: '', read: () => true },
      ],
    };
  });
  made.board.start();
  const boardHost = host as BoardHost;
  return { ...made, host: boardHost };
}

describe('stored messages', () => {
  it('share one sequence, wait for a gateway, say their age and go when they are stored', async () => {
    const { peer, host, clock } = withHost();
    host.event('button', { id: 'a' });
    host.transcript('hello there', { label: 'kitchen' });
    await clock.pass(4_000);
    host.taskResult('t1', 'done', [1, 2]);
    host.storeReadings();
    peer.welcome();
    const sent = peer.sent.filter((m) => 'seq' in m) as {
      type: string;
      seq: number;
      ageMs?: number;
    }[];
    expect(sent.map((m) => [m.type, m.seq, m.ageMs ?? 0])).toEqual([
      ['event', 1, 4000],
      ['transcript', 2, 4000],
      ['taskResult', 3, 0],
      ['storedReadings', 4, 0],
    ]);
    expect(sent[0]).toMatchObject({ bootId: 0, kind: 'button', detail: { id: 'a' } });
    expect(sent[3]).toMatchObject({ values: [2137, null, true] });
    peer.sent = [];
    for (const seq of [1, 2, 4]) peer.say({ type: 'stored', bootId: 0, seq });
    peer.cut();
    peer.connect();
    peer.welcome({ session: 8 });
    expect(peer.sent.filter((m) => 'seq' in m)).toMatchObject([{ type: 'taskResult', seq: 3 }]);
  });

  it('are sent again while STORED does not come, and not after it', async () => {
    const { board, peer, host, clock } = withHost();
    peer.welcome();
    host.event('a', 1);
    await clock.pass(60_000);
    const times = peer.take('event').length;
    expect(times).toBeGreaterThanOrEqual(3);
    expect(times).toBeLessThanOrEqual(5);
    peer.say({ type: 'stored', bootId: board.bootId, seq: 1 });
    await clock.pass(600_000);
    expect(peer.take('event')).toEqual([]);
    expect(board.session?.outbox.size).toBe(0);
  });

  it('are not forgotten for another boot’s STORED', () => {
    const { board, peer, host } = withHost();
    peer.welcome();
    host.event('a', 1);
    peer.say({ type: 'stored', bootId: 99, seq: 1 });
    expect(board.session?.outbox.size).toBe(1);
  });

  it('are bounded: the oldest goes, is counted, and the rest keep their order', () => {
    const { board, peer, host } = withHost();
    const kept = Array.from({ length: 70 }, (_, i) => host.event('e', i));
    expect(kept.filter((ok) => !ok)).toHaveLength(6);
    expect(board.session?.outbox.dropped).toBe(6);
    peer.welcome();
    const seqs: number[] = [];
    for (let events = peer.take('event'); events.length > 0; events = peer.take('event')) {
      for (const event of events) {
        seqs.push(event.seq);
        peer.say({ type: 'stored', bootId: 0, seq: event.seq });
      }
    }
    expect(seqs).toEqual(Array.from({ length: 64 }, (_, i) => i + 7));
  });

  it('flow at most eight at a time', () => {
    const { peer, host } = withHost();
    for (let i = 0; i < 20; i++) host.event('e', i);
    peer.welcome();
    expect(peer.take('event')).toHaveLength(8);
    peer.say({ type: 'stored', bootId: 0, seq: 3 });
    expect(peer.take('event').map((e) => e.seq)).toEqual([9]);
  });

  it('that are too large for the gateway are dropped and counted, and block nothing', () => {
    const { board, peer, host } = withHost();
    host.event('big', 'x'.repeat(2_000));
    host.event('small', 1);
    peer.welcome({ maxMessage: 512 });
    expect(peer.take('event').map((e) => e.kind)).toEqual(['small']);
    expect(board.session?.outbox.dropped).toBe(1);
  });

  it('start at one again after a reboot, whose queue is lost', () => {
    const { board, peer, host } = withHost();
    host.event('a', 1);
    board.reboot();
    peer.welcome();
    expect(peer.take('event')).toEqual([]);
    expect(host.event('from the old boot', 1)).toBe(false);
  });
});

describe('live readings', () => {
  it('come on schedule, scaled to integers, without a sequence', async () => {
    const { peer, clock } = withHost();
    peer.welcome();
    await clock.pass(70_000);
    const readings = peer.take('readings');
    expect(readings).toHaveLength(3);
    expect(readings[0]).toEqual({ type: 'readings', values: [2137, null, true] });
  });

  it('are shed and counted without a gateway', async () => {
    const { board, peer, clock } = withHost();
    await clock.pass(70_000);
    expect(board.session?.counters['shed.readings']).toBe(3);
    peer.welcome();
    expect(peer.take('readings')).toEqual([]);
  });
});

describe('sleep', () => {
  it('is said before the board leaves', () => {
    const { peer, host, board } = withHost();
    peer.welcome();
    host.sleep(600);
    expect(peer.take('sleep')).toEqual([{ type: 'sleep', seconds: 600 }]);
    expect(board.online).toBe(false);
  });
});
