import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildCatalog } from '../protocol/catalog.js';
import { decodeMessage, encodeMessage } from '../protocol/codec.js';
import { plainFrame } from '../protocol/frame.js';
import { toHex } from '../protocol/identity.js';
import type { MessageOf } from '../protocol/messages.js';
import { BOARD_ID, bench } from './testing/peer.js';

describe('greeting', () => {
  it('says HELLO first, in at most 60 bytes, and nothing else before a WELCOME', async () => {
    const { board, peer, clock } = bench({ battery: () => 88 });
    board.start();
    const [hello] = peer.take('hello');
    expect(hello).toMatchObject({
      version: 1,
      bootId: 1,
      nonce: null,
      maxMessage: 1024,
      maxCalls: 4,
    });
    expect(toHex(hello?.boardId ?? new Uint8Array())).toBe(BOARD_ID);
    expect(encodeMessage(hello as MessageOf<'hello'>).length).toBeLessThanOrEqual(60);
    await clock.pass(2_000);
    expect(peer.sent).toEqual([]);
  });

  it('repeats the same HELLO with growing pauses until it is answered', async () => {
    const { board, peer, clock } = bench();
    board.start();
    await clock.pass(60_000);
    const hellos = peer.take('hello');
    expect(hellos.length).toBeGreaterThanOrEqual(4);
    expect(hellos.length).toBeLessThanOrEqual(7);
    expect(new Set(hellos.map((h) => toHex(encodeMessage(h)))).size).toBe(1);
    peer.welcome();
    await clock.pass(120_000);
    expect(peer.take('hello')).toEqual([]);
  });

  it('sends CAPS when wanted, and they hash to what HELLO said', async () => {
    const { board, peer } = bench();
    board.start();
    const [hello] = peer.take('hello');
    peer.welcome({ wantCaps: true });
    const pages = peer.take('caps').map((message) => ({ message, bytes: encodeMessage(message) }));
    const catalog = buildCatalog(pages);
    expect(catalog.verbs.map((verb) => verb.name)).toEqual(['hold', 'echo', 'help']);
    expect(catalog.name).toBe('Bench');
    expect(catalog.hash).toBe(toHex(hello?.capsHash ?? new Uint8Array()));
  });

  it('sends CAPS again when the gateway repeats its WELCOME, and nothing when it does not want them', () => {
    const { board, peer } = bench();
    board.start();
    peer.welcome({ wantCaps: true });
    peer.welcome({ wantCaps: true });
    expect(peer.take('caps')).toHaveLength(2);
    peer.welcome({ session: 8 });
    expect(peer.take('caps')).toEqual([]);
  });

  it('ignores and counts calls before a WELCOME', async () => {
    const { board, peer, settle } = bench();
    board.start();
    peer.call(100, 1, ['hi']);
    await settle();
    expect(board.executions).toBe(0);
    expect(board.session?.counters['ignored.ungreeted']).toBe(1);
  });

  it('takes nothing from a WELCOME that is not valid', async () => {
    const { board, peer } = bench();
    board.start();
    const frame = plainFrame({
      type: 'welcome',
      session: 1,
      unixMs: 5,
      journalId: Uint8Array.of(1, 2, 3, 4),
      nextCallId: 9,
      nonce: null,
    });
    peer.raw(frame.subarray(0, frame.length - 1));
    expect(board.online).toBe(false);
    expect(board.session?.gatewayTime()).toBeUndefined();
  });

  it('beats as often as the gateway asked, in at most 11 bytes', async () => {
    const { board, peer, clock } = bench({ battery: () => 50 });
    board.start();
    peer.welcome({ beatS: 10 });
    await clock.pass(60_500);
    const beats = peer.take('beat');
    expect(beats).toHaveLength(6);
    expect(beats[5]).toMatchObject({ uptimeS: 60, battery: 50 });
    for (const beat of beats) expect(encodeMessage(beat).length).toBeLessThanOrEqual(11);
    peer.cut();
    await clock.pass(60_000);
    expect(peer.take('beat')).toEqual([]);
  });

  it('greets anew when the gateway says it knows no session, but not in a storm of that', async () => {
    const { board, peer, clock } = bench();
    board.start();
    peer.welcome();
    peer.take('hello');
    const plea = { type: 'error', code: 'hello_first', message: 'say HELLO first' } as const;
    await clock.pass(5_000);
    for (let i = 0; i < 50; i++) peer.say(plea);
    expect(peer.take('hello')).toHaveLength(1);
    peer.welcome({ session: 9 });
    expect(board.online).toBe(true);
  });

  it('carries the gateway’s time on by its own clock', async () => {
    const { board, peer, clock } = bench();
    board.start();
    peer.welcome({ unixMs: 1_000_000, utcOffsetMin: 60 });
    await clock.pass(2_500);
    expect(board.session?.gatewayTime()).toEqual({ unixMs: 1_002_500, utcOffsetMin: 60 });
  });
});

describe('reboot', () => {
  it('saves the new boot id before it greets, and greets with it', () => {
    const saved: number[] = [];
    const { board, peer } = bench(
      {},
      {
        store: {
          load: () => ({ bootId: 41 }),
          save: ({ bootId }) => {
            expect(peer.sent).toEqual([]);
            saved.push(bootId);
          },
        },
      },
    );
    board.start();
    expect(saved).toEqual([42]);
    expect(peer.take('hello')[0]).toMatchObject({ bootId: 42 });
  });

  it('does not greet at all when the boot id can’t be saved', () => {
    const { board, peer } = bench(
      {},
      {
        store: {
          load: () => ({ bootId: 1 }),
          save: () => {
            throw new Error('flash is full');
          },
        },
      },
    );
    expect(() => board.start()).toThrow('flash is full');
    expect(peer.sent).toEqual([]);
  });

  it('forgets a running call and its answer; the old CALL is stale and does not run', async () => {
    const { board, peer, held, settle } = bench();
    board.start();
    peer.welcome();
    peer.call(100, 0);
    await settle();
    expect(board.executions).toBe(1);
    board.reboot();
    expect(peer.take('hello').at(-1)).toMatchObject({ bootId: 2 });
    peer.welcome({ session: 8, nextCallId: 101 });
    held.get(100)?.resolve('too late');
    await settle();
    peer.call(100, 0, [], { bootId: 1 });
    await settle();
    expect(peer.take('result')).toEqual([]);
    expect(peer.take('failure')).toMatchObject([{ callId: 100, code: 'stale_boot' }]);
    expect(board.log).toMatchObject([{ callId: 100, bootId: 1, verb: 'hold' }]);
  });
});

describe('hostile bytes', () => {
  const frames = fc.oneof(
    fc.uint8Array({ maxLength: 80 }),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Uint8Array.of(0, ...bytes)),
    fc.constantFrom(
      Uint8Array.of(0, ...new Uint8Array(2000).fill(0x81)),
      Uint8Array.of(0, 0x9a, 0xff, 0xff, 0xff, 0xff),
      Uint8Array.of(1, 2, 3),
      Uint8Array.of(2, 2, 3),
    ),
  );

  it('never make the session throw, run a verb, or lose its greeting', () => {
    fc.assert(
      fc.property(fc.array(frames, { maxLength: 20 }), fc.boolean(), (all, greeted) => {
        const { board, peer } = bench();
        board.start();
        if (greeted) peer.welcome();
        for (const frame of all) peer.raw(frame);
        expect(board.executions).toBe(0);
        expect(board.online).toBe(greeted);
      }),
      { numRuns: 150 },
    );
  });

  it('truncated anywhere, a CALL is not run and is answered with one ERROR of each kind', async () => {
    const { board, peer, settle } = bench();
    board.start();
    peer.welcome();
    const call = plainFrame({
      type: 'call',
      callId: 100,
      bootId: 1,
      verb: 1,
      args: new Map([[0, 'hello']]),
      ttlMs: 1000,
    });
    for (let end = 0; end < call.length; end++) peer.raw(call.slice(0, end));
    await settle();
    expect(board.executions).toBe(0);
    const codes = peer.take('error').map((error) => error.code);
    expect(codes.length).toBeGreaterThan(0);
    expect(new Set(codes).size).toBe(codes.length);
    peer.raw(call);
    await settle();
    expect(board.executions).toBe(1);
  });

  it('an unknown message is answered once with ERROR unsupported, and the link goes on', async () => {
    const { board, peer } = bench();
    board.start();
    peer.welcome();
    const unknown = Uint8Array.of(0, 0x82, 0x18, 99, 1);
    for (let i = 0; i < 5; i++) peer.raw(unknown);
    expect(peer.take('error')).toMatchObject([{ code: 'unsupported', about: 99 }]);
    expect(board.session?.counters['bad.unknown_type']).toBe(5);
    expect(peer.closed).toEqual([]);
  });

  it('an ERROR is never answered with an ERROR', () => {
    const { board, peer } = bench();
    board.start();
    peer.welcome();
    peer.say({ type: 'error', code: 'x', message: 'y' });
    expect(peer.take('error')).toEqual([]);
  });

  it('messages that only a board sends are refused', () => {
    const { board, peer } = bench();
    board.start();
    peer.welcome();
    peer.say({ type: 'beat', uptimeS: 1 });
    expect(peer.take('error')).toMatchObject([{ code: 'unsupported', about: 4 }]);
  });

  it('a blob from the gateway is refused, since this board keeps none', () => {
    const { board, peer } = bench();
    board.start();
    peer.welcome();
    peer.say({ type: 'blobOpen', blobId: 5, size: 9, mediaType: 'x/y', purpose: 'picture' });
    expect(peer.take('blobDone')).toEqual([{ type: 'blobDone', blobId: 5, status: 2 }]);
    expect(decodeMessage(encodeMessage({ type: 'cancel', callId: 1 }))).toEqual({
      type: 'cancel',
      callId: 1,
    });
  });
});
