import { describe, expect, it, vi } from 'vitest';
import { boardIdBytes } from '../../protocol/identity.js';
import { BoardPeer, PEER_ID } from '../../test/support/board-peer.js';
import { settle } from '../../test/support/clock.js';
import { bench } from '../../test/support/gateway.js';
import type { Journal } from './journal.js';
import { JournalUnavailable } from './journal.js';
import { memoryJournal } from './memory-journal.js';
import type { Presence } from './types.js';

async function greeted(options: Parameters<typeof bench>[0] = {}) {
  const b = bench(options);
  const states: Presence['state'][] = [];
  b.gateway.on('presence', (board) => states.push(board.presence.state));
  const board = new BoardPeer(b.gateway);
  board.greet(1);
  await settle();
  return { ...b, board, states, view: () => b.gateway.board(PEER_ID) };
}

describe('greeting', () => {
  it('asks for capabilities once, then knows them by their hash, across restarts too', async () => {
    const { board, view, journal } = await greeted();
    expect(board.last('welcome')).toMatchObject({ wantCaps: true, nextCallId: 1, beatS: 30 });
    expect(view()?.catalog?.verbs.map((v) => v.name)).toEqual(['say', 'status', 'reset']);
    const later = bench({ journal });
    const again = new BoardPeer(later.gateway);
    again.hello(1);
    await settle();
    expect(again.last('welcome').wantCaps).toBeUndefined();
    expect(later.gateway.board(PEER_ID)).toMatchObject({
      name: 'lamp',
      presence: { state: 'online' },
    });
  });

  it('tells a board on a link of small packets how far it may send ahead', async () => {
    const { gateway } = bench();
    const [plain, cut] = [
      new BoardPeer(gateway),
      new BoardPeer(gateway, { id: '00112233445566bb', rxWindow: 8_192 }),
    ];
    plain.hello(1);
    cut.hello(1, { boardId: boardIdBytes('00112233445566bb') });
    await settle();
    expect(plain.last('welcome').rxWindow).toBeUndefined();
    expect(cut.last('welcome').rxWindow).toBe(8_192);
  });

  it('asks again while the capabilities do not come, then gives the path up', async () => {
    const { gateway, clock } = bench();
    const board = new BoardPeer(gateway);
    board.hello(1);
    await clock.advance(3_000);
    expect(board.all('welcome')).toHaveLength(2);
    await clock.advance(300_000);
    expect(board.closedBecause).toMatch(/capabilities/);
    expect(gateway.board(PEER_ID)?.presence.state).toBe('unreachable');
  });

  it('takes capabilities in pages, in any order, and a new list when the hash changes', async () => {
    const { board, view } = await greeted();
    const before = view()?.catalog?.hash;
    board.hello(2, { capsHash: new Uint8Array(8) });
    await settle();
    expect(board.last('welcome').wantCaps).toBe(true);
    board.caps();
    await settle();
    expect(view()?.catalog?.hash).toBe(before);
    expect(view()?.presence.state).toBe('online');
  });

  it('refuses another board, another version and a flood of greetings', async () => {
    const { board, gateway, clock } = await greeted();
    board.hello(1, { boardId: new Uint8Array(8) });
    board.hello(1, { version: 2 });
    await settle();
    expect(board.all('error').map((e) => e.code)).toEqual(['wrong_board', 'version']);
    const welcomes = board.all('welcome').length;
    for (let i = 0; i < 1_000; i++) board.hello(i + 10);
    await settle();
    expect(board.all('welcome').length - welcomes).toBeLessThanOrEqual(5);
    expect(gateway.guard(PEER_ID)?.counters['shed.hello']).toBeGreaterThan(990);
    await clock.advance(10_001);
    board.greet(2_000);
    await settle();
    expect(gateway.board(PEER_ID)?.presence.state).toBe('online');
  });

  it('answers messages before a greeting with one hint and takes none of them', async () => {
    const { gateway } = bench();
    const board = new BoardPeer(gateway);
    for (let i = 0; i < 5; i++)
      board.send({ type: 'event', bootId: 0, seq: i, kind: 'k', detail: null });
    await settle();
    expect(board.received.map((m) => m.type)).toEqual(['error']);
    expect(board.last('error').code).toBe('hello_first');
  });

  it('takes no plain frame on a link that must seal', async () => {
    const { gateway } = bench();
    const board = new BoardPeer(gateway, { mustSeal: true });
    board.greet(1);
    await settle();
    expect(board.last('error').code).toBe('sealing_required');
    expect(gateway.board(PEER_ID)?.presence.state).toBe('unreachable');
  });
});

describe('presence', () => {
  it('is online while frames come and unreachable after two and a half beats of silence', async () => {
    const { board, clock, states, view } = await greeted();
    for (let i = 0; i < 10; i++) {
      board.send({ type: 'beat', uptimeS: i * 30 });
      await clock.advance(30_000);
    }
    expect(states).toEqual(['online']);
    await clock.advance(75_000);
    expect(states).toEqual(['online', 'unreachable']);
    expect(view()?.presence.state).toBe('unreachable');
    expect(board.closedBecause).toMatch(/beats/);
  });

  it('follows the path', async () => {
    const { board, states } = await greeted();
    board.cut();
    expect(states).toEqual(['online', 'unreachable']);
    board.reconnect();
    board.greet(1);
    await settle();
    expect(states).toEqual(['online', 'unreachable', 'online']);
  });

  it('of a sleeper is asleep until it said, with a margin, although its path ends', async () => {
    const { board, clock, states, view } = await greeted();
    board.send({ type: 'sleep', seconds: 600 });
    board.cut();
    expect(view()?.presence).toMatchObject({ state: 'asleep', until: clock.wall() + 600_000 });
    await clock.advance(610_000);
    expect(states).toEqual(['online', 'asleep']);
    board.reconnect();
    board.greet(1);
    await settle();
    expect(states.at(-1)).toBe('online');
    board.send({ type: 'sleep', seconds: 600 });
    await clock.advance(661_000);
    expect(states.at(-1)).toBe('unreachable');
  });

  it('does not follow an older path that ends after the board has greeted on a new one', async () => {
    const { gateway, board, states } = await greeted();
    const newer = new BoardPeer(gateway);
    newer.greet(1);
    await settle();
    expect(board.closedBecause).toMatch(/elsewhere/);
    gateway.closed(board.path, 'late last will');
    expect(states).toEqual(['online']);
    expect(gateway.board(PEER_ID)?.presence.state).toBe('online');
  });

  it('does not move when the date is set an hour back or a year ahead', async () => {
    const { clock, states, board } = await greeted();
    clock.jumpWall(-3_600_000);
    await clock.advance(1_000);
    clock.jumpWall(366 * 86_400_000);
    board.send({ type: 'beat', uptimeS: 1 });
    await clock.advance(60_000);
    expect(states).toEqual(['online']);
  });
});

describe('readings', () => {
  it('are named and scaled, in full or by index', async () => {
    const { board, gateway, clock } = await greeted();
    const seen: unknown[] = [];
    gateway.on('readings', (_board, values, at) => seen.push([values, at]));
    board.send({ type: 'readings', values: [2137, true] });
    board.send({ type: 'readings', values: new Map([[0, -5]]), ageMs: 2_000 });
    board.send({ type: 'readings', values: new Map([[77, 1]]) });
    expect(seen).toEqual([
      [{ temperature: 21.37, door: true }, clock.wall()],
      [{ temperature: -0.05 }, clock.wall() - 2_000],
      [{}, clock.wall()],
    ]);
    expect(gateway.board(PEER_ID)?.readings.temperature?.value).toBe(-0.05);
  });
});

describe('what must not be lost', () => {
  const event = (seq: number) =>
    ({ type: 'event', bootId: 0, seq, kind: 'tap', detail: { id: 'ok' }, ageMs: 500 }) as const;

  it('is acknowledged when it is kept, once in the journal however often it comes', async () => {
    const { board, journal, clock } = await greeted();
    board.send(event(1));
    board.send(event(1));
    board.send({ ...event(1), bootId: 1 });
    await settle();
    expect(board.all('stored').map((s) => s.seq)).toEqual([1, 1, 1]);
    expect(journal.pending(10).map((p) => p.item)).toEqual([
      {
        boardId: PEER_ID,
        bootId: 1,
        seq: 1,
        kind: 'event',
        at: clock.wall() - 500,
        body: { kind: 'tap', detail: { id: 'ok' } },
      },
    ]);
  });

  it('is not acknowledged while the journal takes nothing', async () => {
    const journal = memoryJournal();
    let full = false;
    const failing: Journal = Object.create(journal, {
      keep: {
        value: (item: Parameters<Journal['keep']>[0]) =>
          full ? Promise.reject(new JournalUnavailable('disk full')) : journal.keep(item),
      },
      journalId: { value: journal.journalId },
    });
    for (const name of [
      'get',
      'list',
      'put',
      'open',
      'find',
      'findById',
      'nextCallId',
      'pending',
    ] as const) {
      Object.defineProperty(failing, name, { value: journal[name].bind(journal) });
    }
    const { board } = await greeted({ journal: failing });
    full = true;
    board.send(event(1));
    await settle();
    expect(board.all('stored')).toHaveLength(0);
    full = false;
    board.send(event(1));
    await settle();
    expect(board.all('stored')).toHaveLength(1);
  });
});

describe('blobs', () => {
  it('of a call reach its outcome, resumed after a cut, and a wrong hash is told', async () => {
    const { board, gateway } = await greeted();
    const bytes = new Uint8Array(5_000).map((_, i) => i * 7);
    const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    const outcome = gateway.call({ boardId: PEER_ID, verb: 'status', args: {}, ttlMs: 10_000 });
    await settle();
    const open = {
      type: 'blobOpen',
      blobId: 9,
      size: 5_000,
      mediaType: 'image/png',
      purpose: 'snapshot',
      callId: 1,
    } as const;
    board.send(open);
    await settle();
    expect(board.last('blobAck')).toMatchObject({ blobId: 9, nextOffset: 0 });
    board.send({ type: 'blobData', blobId: 9, offset: 0, bytes: bytes.subarray(0, 3_000) });
    await settle();
    board.reconnect();
    board.greet(1, { unsettled: [[1, 0]] });
    board.send(open);
    await settle();
    expect(board.last('blobAck').nextOffset).toBe(3_000);
    board.send({ type: 'blobData', blobId: 9, offset: 3_000, bytes: bytes.subarray(3_000) });
    board.send({ type: 'blobClose', blobId: 9, sha256 });
    await vi.waitFor(() => expect(board.last('blobDone')).toMatchObject({ blobId: 9, status: 0 }));
    board.answer(1, 'seen');
    await settle();
    expect(await outcome).toMatchObject({
      kind: 'ok',
      blobs: [{ size: 5_000, mediaType: 'image/png', purpose: 'snapshot' }],
    });

    board.send({ ...open, blobId: 10, size: 4 });
    board.send({ type: 'blobData', blobId: 10, offset: 0, bytes: new Uint8Array(4) });
    board.send({ type: 'blobClose', blobId: 10, sha256 });
    await vi.waitFor(() => expect(board.last('blobDone')).toMatchObject({ blobId: 10, status: 1 }));
  });

  it('that are too large or too many are refused', async () => {
    const { board } = await greeted({ limits: { maxBlob: 1_000, openBlobs: 1 } });
    const open = {
      type: 'blobOpen',
      blobId: 1,
      size: 1_001,
      mediaType: 'x/y',
      purpose: 'audio',
    } as const;
    board.send(open);
    board.send({ ...open, blobId: 2, size: 10 });
    board.send({ ...open, blobId: 3, size: 10 });
    await settle();
    expect(board.all('blobDone').map((d) => [d.blobId, d.status])).toEqual([
      [1, 4],
      [3, 2],
    ]);
  });
});

describe('hostile bytes', () => {
  it('cost the board the frame, are kept as samples and answered once for each cause', async () => {
    const { board, gateway, view } = await greeted();
    const bad = [
      new Uint8Array(0),
      new Uint8Array([9, 1, 2]),
      new Uint8Array([0, 0x9a, 0xff, 0xff, 0xff, 0xff]),
      new Uint8Array(200_001).fill(0x81).fill(0, 0, 1),
      new Uint8Array([0, 0x82, 0x18, 0x63, 0x01]),
      new Uint8Array([0, 0x9f, 0xff]),
      new Uint8Array([0, 0x9f, 0xff]),
      new Uint8Array([1, 0x82, 4, 1]),
    ];
    for (const frame of bad) board.raw(frame);
    await settle();
    const codes = board.all('error').map((e) => e.code);
    expect(new Set(codes).size).toBe(codes.length);
    expect(codes).toContain('unknown_type');
    expect(gateway.guard(PEER_ID)?.quarantine.length).toBeGreaterThanOrEqual(6);
    expect(view()?.presence.state).toBe('online');
    board.send({ type: 'readings', values: [1, 2] });
    expect(view()?.readings.temperature?.value).toBe(0.01);
  });

  it('in a flood close the path', async () => {
    const { board, states } = await greeted();
    for (let i = 0; i <= 100; i++) board.raw(new Uint8Array([0, 0xff]));
    expect(board.closedBecause).toMatch(/bad frames/);
    expect(states.at(-1)).toBe('unreachable');
  });

  it('of every kind never throw into the link', () => {
    const { gateway } = bench();
    const board = new BoardPeer(gateway);
    let seed = 1;
    for (let i = 0; i < 2_000; i++) {
      const bytes = new Uint8Array(i % 40).map(() => {
        seed = (seed * 1_103_515_245 + 12_345) & 0x7fff_ffff;
        return seed >> 16;
      });
      if (bytes.length > 0) bytes[0] = i % 4;
      expect(() => board.raw(bytes)).not.toThrow();
    }
  });
});
