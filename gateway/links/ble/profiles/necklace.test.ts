import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  encodeNecklaceBeacon,
  NECKLACE_CONFIG,
  NECKLACE_SERVICE,
  NECKLACE_STATUS,
  NECKLACE_WAKE,
} from '../../../../protocol/necklace.js';
import type { PathListener } from '../../../core/types.js';
import { BleError, plainUuid } from '../port.js';
import { advertisement, FakePeer, world } from '../profile.fixture.js';
import type { KnownBoard } from '../profile.js';
import { spokenBoardId } from '../spoken-board.js';
import { necklaceProfile } from './necklace.js';

const ADDRESS = '54:48:e6:8f:80:a5';
const ID = spokenBoardId('necklace', ADDRESS);
const BOARD: KnownBoard = { boardId: ID, profile: 'necklace', address: ADDRESS };
const ALL = [NECKLACE_CONFIG, NECKLACE_WAKE, NECKLACE_STATUS];
const STATUS = '{"ndp":true,"mic":1,"w":3,"l":"alexa","up":61}';
const utf8 = new TextEncoder();

const seen = (more = {}) =>
  advertisement({ manufacturerData: encodeNecklaceBeacon('voice', true), ...more });

function setUp(options: { characteristics?: string[]; status?: string } = {}) {
  const w = world();
  const profile = necklaceProfile();
  const peer = new FakePeer(options.characteristics ?? ALL);
  const answer = utf8.encode(options.status ?? STATUS);
  peer.values.set(plainUuid(NECKLACE_STATUS), () => answer);
  const open = async (with_ = peer, listener: PathListener = w.gateway) => {
    const session = await profile.open?.(with_, BOARD, { ...w.context, listener });
    await w.clock.advance(10);
    if (!session) throw new Error('this profile opens');
    return session;
  };
  const call = (verb: string, args: Record<string, unknown> = {}, allowProtected = false) =>
    w.gateway.call({ boardId: ID, verb, args, ttlMs: 30_000, allowProtected });
  return { ...w, profile, peer, open, call, view: () => w.gateway.board(ID) };
}

describe('in the air', () => {
  test('it is seen by its manufacturer data or its service, and needs nothing to be paired', () => {
    const { profile } = setUp();
    expect(profile.sight(seen({ name: 'neck\u202elace\n' }))).toEqual({
      profile: 'necklace',
      address: ADDRESS,
      rssi: -60,
      name: 'neck lace',
      boardId: ID,
      paired: true,
      needs: 'none',
    });
    const bare = advertisement({ services: [plainUuid(NECKLACE_SERVICE)] });
    expect(profile.sight(bare)).toMatchObject({ boardId: ID, paired: false });
    expect(profile.sight(advertisement({ name: 'necklace' }))).toBeUndefined();
  });

  test('only one that is in the book is recognised, and only as what it is', () => {
    const { profile } = setUp();
    expect(profile.recognise(seen(), [])).toBeUndefined();
    expect(profile.recognise(seen(), [{ ...BOARD, profile: 'bthome' }])).toBeUndefined();
    expect(profile.recognise(seen({ address: '54:48:e6:8f:80:a6' }), [BOARD])).toBeUndefined();
    expect(profile.recognise(advertisement(), [BOARD])).toBeUndefined();
    expect(profile.recognise(seen({ address: '5448E68F80A5' }), [BOARD])).toBe(BOARD);
  });
});

describe('connected', () => {
  test('it is online exactly while its link is subscribed and open', async () => {
    const { open, states, clock, peer } = setUp();
    const session = await open();
    await clock.advance(600_000);
    expect(states).toEqual(['online']);
    session.closed('out of range');
    await clock.advance(10);
    expect(states).toEqual(['online', 'unreachable']);
    await clock.advance(600_000);
    await open();
    expect(states).toEqual(['online', 'unreachable', 'online']);
    expect(peer.disconnects).toBe(0);
  });

  test('its status becomes readings; it listens where detector and microphone both run', async () => {
    const { open, view, peer, clock } = setUp();
    await open();
    const values = () =>
      Object.fromEntries(Object.entries(view()?.readings ?? {}).map(([k, v]) => [k, v.value]));
    expect(values()).toEqual({
      listening: true,
      ndp: true,
      mic: true,
      wakes: 3,
      last_label: 'alexa',
      uptime: 61,
    });
    peer.notify(NECKLACE_STATUS, '{"mic":false}');
    await clock.advance(2_000);
    expect(values()).toMatchObject({ listening: false, ndp: true, mic: false });
    peer.notify(NECKLACE_STATUS, '{"mic":true,"ndp":true,"w":4}\n');
    await clock.advance(2_000);
    expect(values()).toMatchObject({ listening: true, wakes: 4 });
  });

  test('half a status does not say that it listens', async () => {
    const { open, view } = setUp({ status: '{"ndp":true}' });
    await open();
    expect(view()?.readings.ndp?.value).toBe(true);
    expect(view()?.readings.listening).toBeUndefined();
  });

  test('a wake is an event with its label and counter, however it is cut up', async () => {
    const { open, events, peer, clock } = setUp();
    await open();
    const bytes = utf8.encode('{"wake":7,"label":"hey ålexa"}\n');
    for (let i = 0; i < bytes.length; i += 5) peer.notify(NECKLACE_WAKE, bytes.slice(i, i + 5));
    peer.notify(
      NECKLACE_WAKE,
      '{"wake":8,"label":"a"}\n{"wake":9,"label":"b"}\n{"wake":10,"label":"c"}',
    );
    await clock.advance(10);
    expect(events()).toEqual(
      [
        [7, 'hey ålexa'],
        [8, 'a'],
        [9, 'b'],
        [10, 'c'],
      ].map(([wake, label]) => ({ kind: 'nicla_wake', detail: { label, wake } })),
    );
  });

  test('one without a status to read is a board all the same', async () => {
    const { open, states, clock, call, peer } = setUp({
      characteristics: [NECKLACE_CONFIG, NECKLACE_WAKE],
    });
    await open();
    await clock.advance(300_000);
    expect(states).toEqual(['online']);
    expect(peer.disconnects).toBe(0);
    const outcome = call('status');
    await clock.advance(10);
    expect(await outcome).toMatchObject({ kind: 'ok', value: {} });
  });

  test('one that stops answering is let go within a minute', async () => {
    const { open, peer, clock, counters } = setUp();
    await open();
    peer.values.set(plainUuid(NECKLACE_STATUS), () => new Promise(() => {}));
    await clock.advance(45_000);
    expect(peer.disconnects).toBe(1);
    expect(counters['necklace.no_answer']).toBe(1);
  });

  test('one without the wake characteristic, or that never subscribes, is not opened', async () => {
    const without = setUp({ characteristics: [NECKLACE_CONFIG] });
    await expect(without.open()).rejects.toMatchObject({ code: 'no_characteristic' });
    expect(without.view()).toBeUndefined();
    const slow = setUp();
    slow.peer.discovered = () => new Promise(() => {});
    const opening = slow.open();
    opening.catch(() => {});
    await slow.clock.advance(15_000);
    await expect(opening).rejects.toMatchObject({ code: 'deadline' });
    expect(slow.states).toEqual([]);
  });

  test('each connection reports to the listener that it was opened with', async () => {
    const { open, clock, gateway } = setUp();
    const told: string[] = [];
    const listener = (name: string): PathListener => ({
      opened: (path) => {
        told.push(`${name} opened`);
        gateway.opened(path);
      },
      received: (path, frame) => gateway.received(path, frame),
      closed: (path, reason) => {
        told.push(`${name} closed`);
        gateway.closed(path, reason);
      },
    });
    const first = await open(new FakePeer(ALL), listener('first'));
    first.closed('gone');
    await clock.advance(10);
    await open(new FakePeer(ALL), listener('second'));
    await clock.advance(10);
    expect(told).toEqual(['first opened', 'first closed', 'second opened']);
  });

  test('a second connection takes the place of the first, whose end then changes nothing', async () => {
    const { open, states, clock, peer, events } = setUp();
    const first = await open();
    const next = new FakePeer(ALL);
    await open(next);
    peer.notify(NECKLACE_WAKE, '{"wake":1,"label":"old"}');
    first.closed('late');
    next.notify(NECKLACE_WAKE, '{"wake":2,"label":"new"}');
    await clock.advance(10);
    expect(states).toEqual(['online']);
    expect(events()).toMatchObject([{ detail: { label: 'new' } }]);
  });

  test('the gateway ending its path, its removal, and the adapter going end it', async () => {
    const ended = setUp();
    await ended.open();
    ended.gateway.stop();
    await ended.clock.advance(10);
    expect(ended.peer.disconnects).toBe(1);
    const removed = setUp();
    await removed.open();
    removed.profile.forget?.(ID);
    removed.profile.forget?.('0000000000000000');
    await removed.clock.advance(10);
    expect(removed.states).toEqual(['online', 'unreachable']);
    const gone = setUp();
    let reads = 0;
    gone.peer.values.set(plainUuid(NECKLACE_STATUS), () => {
      reads += 1;
      return utf8.encode(STATUS);
    });
    await gone.open();
    gone.profile.closed?.('no adapter');
    await gone.clock.advance(120_000);
    expect(gone.states).toEqual(['online', 'unreachable']);
    expect(gone.clock.waiting).toBe(0);
    expect(reads).toBe(1);
  });
});

describe('bad input', () => {
  test('what is no wake and no status is counted and nothing else', async () => {
    const { open, peer, counters, events, view, clock } = setUp({ status: 'nonsense' });
    await open();
    peer.notify(NECKLACE_WAKE, 'nonsense\n');
    peer.notify(NECKLACE_WAKE, Uint8Array.of(0xff, 0xfe, 10));
    peer.notify(NECKLACE_WAKE, `{"wake":1,"label":"${'x'.repeat(2_000)}"}\n`);
    peer.notify(NECKLACE_WAKE, '{"wake":"1","label":{}}\n');
    peer.notify(NECKLACE_STATUS, '{"nothing":1}\n');
    peer.notify(NECKLACE_CONFIG, '{"ok":true}\n');
    await clock.advance(10);
    expect(counters).toEqual({
      'necklace.bad_json': 1,
      'necklace.bad_utf8': 1,
      'necklace.too_long': 1,
      'necklace.not_a_wake': 1,
      'necklace.not_a_status': 1,
      'necklace.stray_verdict': 1,
    });
    expect(events()).toEqual([]);
    expect(view()?.presence.state).toBe('online');
  });

  test('a storm of wakes is cut to twenty at once and two a second', async () => {
    const { open, peer, counters, events, clock } = setUp();
    await open();
    for (let i = 0; i < 1_000; i++) peer.notify(NECKLACE_WAKE, `{"wake":${i},"label":"a"}\n`);
    await clock.advance(2_000);
    expect(events()).toHaveLength(20);
    expect(counters['shed.wakes']).toBe(980);
    for (let i = 0; i < 9; i++) peer.notify(NECKLACE_WAKE, `{"wake":${i},"label":"b"}\n`);
    await clock.advance(10);
    expect(events()).toHaveLength(24);
  });

  test('no bytes on any characteristic make it throw', async () => {
    const { open, peer } = setUp();
    await open();
    fc.assert(
      fc.property(fc.constantFrom(...ALL), fc.uint8Array({ maxLength: 300 }), (uuid, bytes) => {
        peer.notify(uuid, bytes);
      }),
    );
  });
});

describe('verbs', () => {
  test('status asks the necklace itself; out of reach it says so', async () => {
    const { open, call, clock, peer } = setUp();
    await open();
    peer.values.set(plainUuid(NECKLACE_STATUS), () => utf8.encode('{"w":9}'));
    const good = call('status');
    await clock.advance(10);
    expect(await good).toMatchObject({ kind: 'ok', value: { listening: true, wakes: 9 } });
    peer.values.set(plainUuid(NECKLACE_STATUS), () => {
      throw new BleError('failed', 'no');
    });
    const bad = call('status');
    await clock.advance(10);
    expect(await bad).toMatchObject({ kind: 'failed', code: 'no_answer' });
  });

  const IDENTITY = { device_id: 'd'.repeat(36), token: 'tind_secret', name: 'Hälse' };

  /** Echoes every write, then says what a test wants. */
  function judging(peer: FakePeer, verdict: string | undefined) {
    const got: number[] = [];
    peer.onWrite = (characteristic, bytes) => {
      peer.notify(characteristic, bytes);
      got.push(...bytes);
      if (bytes.at(-1) === 10 && verdict) peer.notify(characteristic, verdict);
    };
    return () => new TextDecoder().decode(Uint8Array.from(got));
  }

  async function provisioned(verdict: string | undefined, identity: object = IDENTITY) {
    const made = setUp();
    await made.open();
    const written = judging(made.peer, verdict);
    const outcome = made.call('provision', { ...identity }, true);
    await made.clock.advance(25_000);
    return { ...made, outcome: await outcome, written };
  }

  test('provision writes one line in chunks of 20 and believes the verdict, not the echo', async () => {
    const { outcome, peer, written, counters } = await provisioned(
      '{"ok":true,"complete":false,"missing":["ssid"]}\n',
    );
    expect(outcome).toMatchObject({ kind: 'ok', value: { complete: false, missing: ['ssid'] } });
    expect(written()).toBe(`${JSON.stringify(IDENTITY)}\n`);
    expect(peer.written.every((each) => each.withResponse && each.bytes.length <= 20)).toBe(true);
    expect(counters).toEqual({ 'necklace.echo': 1 });
  });

  test('each chunk waits for the answer to the one before', async () => {
    const { open, peer, call, clock } = setUp();
    await open();
    const answers: (() => void)[] = [];
    peer.onWrite = () => new Promise((resolve) => answers.push(resolve));
    const outcome = call('provision', IDENTITY, true);
    await clock.advance(100);
    expect(peer.written).toHaveLength(1);
    answers[0]?.();
    await clock.advance(100);
    expect(peer.written).toHaveLength(2);
    peer.notify(NECKLACE_CONFIG, '{"ok":true}');
    peer.notify(NECKLACE_CONFIG, '{"ok":false,"error":"flash is full"}');
    await clock.advance(100);
    expect(await outcome).toMatchObject({
      kind: 'failed',
      code: 'refused',
      message: expect.stringContaining('flash is full'),
    });
    expect(peer.written).toHaveLength(2);
  });

  test('without a verdict it is said that nobody knows', async () => {
    const { outcome } = await provisioned(undefined);
    expect(outcome).toMatchObject({ kind: 'failed', code: 'no_verdict' });
  });

  test('a voice necklace takes 240 bytes; a longer identity is not written at all', async () => {
    const { outcome, peer } = await provisioned('{"ok":true}\n', {
      ...IDENTITY,
      ssid: 's'.repeat(32),
      key: 'k'.repeat(63),
      name: 'n'.repeat(64),
    });
    expect(outcome).toMatchObject({ kind: 'failed', code: 'too_large' });
    expect(peer.written).toEqual([]);
  });

  test('one with a camera takes its Wi-Fi too', async () => {
    const { profile, open, peer, call, clock } = setUp();
    profile.recognise(seen({ manufacturerData: encodeNecklaceBeacon('vision', false) }), [BOARD]);
    await open();
    judging(peer, '{"ok":true}\n');
    const wifi = { ssid: 's'.repeat(32), key: 'k'.repeat(63), name: 'n'.repeat(64) };
    const outcome = call('provision', { ...IDENTITY, ...wifi }, true);
    await clock.advance(100);
    expect(await outcome).toMatchObject({ kind: 'ok', value: { complete: true } });
  });

  test('a failed write and a lost link end it at once, each by its name', async () => {
    const failing = setUp();
    await failing.open();
    failing.peer.onWrite = () => {
      throw new BleError('failed', 'ATT error 3');
    };
    const failed = failing.call('provision', IDENTITY, true);
    await failing.clock.advance(10);
    expect(await failed).toMatchObject({ kind: 'failed', code: 'write_failed' });
    const losing = setUp();
    const session = await losing.open();
    losing.peer.onWrite = () => new Promise(() => {});
    const lost = losing.call('provision', IDENTITY, true);
    const second = losing.call('provision', IDENTITY, true);
    await losing.clock.advance(10);
    expect(await second).toMatchObject({ kind: 'failed', code: 'busy' });
    session.closed('gone');
    await losing.clock.advance(10);
    await losing.open();
    expect(await lost).toMatchObject({ kind: 'failed', code: 'link_lost' });
  });

  test('provision holds a secret: no door without leave may call it', async () => {
    const { open, call, peer } = setUp();
    await open();
    expect(await call('provision', IDENTITY)).toMatchObject({ kind: 'refused', code: 'protected' });
    expect(peer.written).toEqual([]);
  });
});
