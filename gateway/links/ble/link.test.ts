import { describe, expect, test } from 'vitest';
import { BLE_INFO, encodeInfo } from '../../../protocol/ble.js';
import type { Path } from '../../core/types.js';
import { addressOf, FakeMote, FakePort } from './fake-port.fixture.js';
import { BleError } from './port.js';
import { hello, idOf, Listener, rig } from './rig.fixture.js';

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error) => (error instanceof BleError ? error.code : String(error)),
  );

describe('a known board', () => {
  test('is connected when it is heard, and its frames go both ways', async () => {
    const { mote, listener, live, link, clock } = rig();
    await live(2);
    expect(listener.said).toEqual([`opened ${idOf(1)}`]);
    const [path] = listener.paths as [Path];
    expect(path).toMatchObject({ via: 'ble', mustSeal: true, rxWindow: 8_192 });
    mote.send(hello);
    const long = new Uint8Array(900).fill(7);
    path.send(long);
    await clock.advance(200);
    expect(listener.frames).toEqual([hello]);
    expect(mote.frames).toEqual([long]);
    expect(link.health()).toMatchObject({
      state: 'up',
      paths: 1,
      slots: { used: 1 },
      boards: [{ boardId: idOf(1), state: 'online', mtu: 247, rssi: -60, failures: 0 }],
    });
  });

  test.each([
    [23, 244, 20],
    [23, 0, 20],
    [185, 244, 182],
    [247, 65_535, 244],
    [517, 65_535, 512],
    [517, 100, 100],
    [undefined, 244, 20],
    [5, 1, 20],
  ])('with an MTU of %s that claims %i bytes gets packets of %i', async (mtu, att, most) => {
    const { mote, listener, live, clock } = rig();
    mote.mtu = mtu;
    mote.values.set(BLE_INFO, encodeInfo({ paired: true, boardId: idOf(1), att, name: '' }));
    await live(2);
    listener.paths[0]?.send(new Uint8Array(2_000));
    await clock.advance(10_000);
    expect(Math.max(...mote.writes.map(({ bytes }) => bytes.length))).toBe(most);
    expect(mote.frames).toEqual([new Uint8Array(2_000)]);
  });

  test('whose MTU grows while it is connected gets larger packets from then on', async () => {
    const { mote, listener, live, clock } = rig();
    mote.mtu = undefined;
    await live(2);
    listener.paths[0]?.send(new Uint8Array(50));
    await clock.advance(500);
    const before = mote.writes.length;
    mote.mtu = 185;
    listener.paths[0]?.send(new Uint8Array(150));
    await clock.advance(500);
    expect(mote.writes.slice(0, before).every(({ bytes }) => bytes.length <= 20)).toBe(true);
    expect(mote.writes[before]?.bytes).toHaveLength(151);
    expect(mote.frames.map((frame) => frame.length)).toEqual([50, 150]);
  });

  test('that speaks before it was told to is heard all the same, after its path has opened', async () => {
    const { mote, listener, live } = rig();
    const subscribed = mote.onSubscribed;
    mote.onSubscribed = () => {
      subscribed();
      mote.send(hello);
    };
    await live(2);
    expect(listener.said).toEqual([`opened ${idOf(1)}`]);
    expect(listener.frames).toEqual([hello]);
  });

  test('that is lost comes back ever later, and soon again only after it has held 30 s', async () => {
    const { mote, live, clock, link } = rig();
    const gaps: number[] = [];
    const lose = async (after: number): Promise<void> => {
      await clock.advance(after);
      mote.peer?.end('the radio link was lost');
      const since = clock.now();
      const before = mote.connects;
      while (mote.connects === before) await live(1);
      gaps.push(Math.round((clock.now() - since) / 1000));
    };
    await live(2);
    for (let i = 0; i < 6; i++) await lose(15_000);
    // Half of 1, 2, 4, … 30 s, as the drawn numbers are zero here.
    expect(gaps).toEqual([1, 1, 2, 4, 8, 15]);
    await lose(31_000);
    expect(gaps.at(-1)).toBe(1);
    expect(link.health().counters['ended.lost']).toBe(7);
  });

  test('that restarts every two seconds makes one alert, a counter, and few connections', async () => {
    const { mote, port, live, clock, link, logged } = rig();
    for (let i = 0; i < 150; i++) {
      await live(1);
      await clock.advance(1_000);
      mote.peer?.end('the board restarted');
    }
    expect(logged.filter((line) => /keeps restarting/.test(line))).toHaveLength(1);
    expect(link.health().counters).toMatchObject({ boot_loops: 1 });
    expect(mote.connects).toBeLessThan(25);
    expect(port.links).toBe(0);
  });

  test('that is let go by the gateway is told nothing more and is not hurried back', async () => {
    const { mote, listener, live } = rig();
    await live(2);
    const [path] = listener.paths as [Path];
    path.close('no frame within 2.5 beats');
    expect(() => path.send(hello)).toThrow(/not sent/);
    expect(listener.said.at(-1)).toBe(`closed ${idOf(1)}: no frame within 2.5 beats`);
    await live(2);
    expect(mote.connects).toBe(1);
    await live(3);
    expect(mote.connects).toBe(2);
  });

  test('that is forgotten is let go, and what it still says is ignored and counted', async () => {
    const { mote, listener, live, link, known, clock } = rig();
    await live(2);
    const late = mote.peer;
    known.length = 0;
    link.knownChanged();
    await clock.advance(0);
    expect(listener.said.at(-1)).toBe(`closed ${idOf(1)}: the board was forgotten`);
    expect(() => late?.notify(Uint8Array.of(0xc0, 1))).not.toThrow();
    expect(link.health()).toMatchObject({ counters: { late_event: 1 }, boards: [], paths: 0 });
    await live(5);
    expect(mote.connects).toBe(1);
  });

  test('takes no more than waits for it: a board that acknowledges nothing is let go', async () => {
    const { mote, listener, live, link } = rig();
    await live(2);
    mote.onWrite = () => {};
    const [path] = listener.paths as [Path];
    const flood = (): void => {
      for (let i = 0; i < 200; i++) path.send(new Uint8Array(1_000));
    };
    expect(flood).toThrow(/closed/);
    expect(link.health().counters).toMatchObject({ board_too_slow: 1 });
    await live(1);
    expect(mote.peers.size).toBe(0);
  });
});

describe('a device that is not the board it seems', () => {
  test('is let go and left alone, while the board itself is connected', async () => {
    const { clock, port, live, listener, link, mote } = rig();
    const sharing = `${idOf(1).slice(0, 8)}ffffffff`;
    const stranger = new FakeMote(clock, sharing, addressOf(99));
    await live(30, stranger);
    expect(stranger.connects).toBe(1);
    expect(stranger.peers.size).toBe(0);
    expect(link.health().counters).toMatchObject({ 'open_failed.not_a_board': 1, strangers: 1 });
    await live(5, stranger, mote);
    expect(listener.said).toEqual([`opened ${idOf(1)}`]);
    expect(port.links).toBe(1);
  });

  test('and says the right id, but proves nothing, gives its place to the one that does', async () => {
    let proven = false;
    const { clock, live, listener, mote, link } = rig({ proven: () => proven });
    const impostor = new FakeMote(clock, idOf(1), addressOf(99));
    await live(2, impostor);
    expect(impostor.peers.size).toBe(1);
    await live(44, impostor, mote);
    await live(10, impostor, mote);
    expect(impostor.peers.size).toBe(0);
    expect(mote.peers.size).toBe(1);
    proven = true;
    await live(60, impostor, mote);
    expect(mote.peers.size).toBe(1);
    expect(impostor.connects).toBe(1);
    expect(listener.said.at(-1)).toBe(`opened ${idOf(1)}`);
    expect(link.health().counters).toMatchObject({ 'ended.unproven': 1 });
  });
});

describe('more boards than connections', () => {
  test('take turns, each for half a minute or more', async () => {
    const { motes, port, live, listener, link } = rig({ slots: 2 }, 4);
    const held = motes.map(() => 0);
    for (let second = 0; second < 300; second++) {
      await live(1);
      expect(port.links).toBeLessThanOrEqual(2);
      for (const [i, mote] of motes.entries()) held[i] = (held[i] ?? 0) + mote.peers.size;
    }
    for (const seconds of held) expect(seconds).toBeGreaterThan(90);
    expect(link.health().counters.rotations).toBeGreaterThanOrEqual(8);
    expect(listener.said.some((line) => /makes room for another/.test(line))).toBe(true);
  });

  test('wait and are said to, where none may rest', async () => {
    const { live, listener, link, logged, port } = rig({ slots: 2, mayRest: () => false }, 3);
    await live(120);
    expect(listener.said).toHaveLength(2);
    expect(port.links).toBe(2);
    expect(logged.filter((line) => /all 2 connections.*a board waits/.test(line))).toHaveLength(1);
    const health = link.health();
    expect(health.boards.filter(({ state }) => state === 'no_slot')).toHaveLength(1);
    expect(health.slots).toEqual({ used: 2, limit: 2 });
  });

  test('teach their number by the refusal, and it is doubted again after ten minutes', async () => {
    const port = new FakePort();
    port.room = 2;
    const { live, link } = rig({ mayRest: () => false }, 3, port);
    await live(20);
    expect(link.health().slots).toEqual({ used: 2, limit: 2 });
    port.room = 3;
    await live(620);
    expect(link.health().slots.used).toBe(3);
  });

  test('are told apart from links: slots in use are live links, killed a hundred times', async () => {
    const { motes, port, live, link } = rig({ slots: 3 }, 3);
    const steps = ['connect', 'discover', 'read', 'subscribe', 'write'] as const;
    for (let round = 0; round < 100; round++) {
      const mote = motes[round % 3] as FakeMote;
      mote.loseAt = steps[round % 5];
      await live(7);
      mote.peer?.end('killed');
      mote.loseAt = undefined;
      expect(link.health().slots.used).toBe(port.links);
    }
    await live(120);
    expect(port.links).toBe(3);
    expect(link.health()).toMatchObject({ paths: 3, slots: { used: 3 } });
  });
});

describe('a connection for a pairing', () => {
  const fresh = (clock: ConstructorParameters<typeof FakeMote>[0]) =>
    new FakeMote(clock, idOf(9), addressOf(9), { paired: false });
  const board = { boardId: idOf(9), profile: 'mote' };

  test('is handed to the gateway without reconnecting', async () => {
    const { clock, live, link, listener, known } = rig({}, 0);
    const mote = fresh(clock);
    const seen: string[] = [];
    const stop = link.onSighting((sighting) => seen.push(sighting.name));
    await live(2, mote);
    stop();
    expect(seen[0]).toBe('lamp');
    const pairing = new Listener();
    const opening = link.openFor({ address: mote.address, board }, pairing);
    await clock.advance(100);
    const opened = await opening;
    mote.send(hello);
    await clock.advance(200);
    expect(pairing.frames).toHaveLength(1);
    expect(listener.said).toEqual([]);
    known.push(board);
    link.knownChanged();
    opened.handOver();
    mote.send(hello);
    await clock.advance(200);
    expect(listener.said).toEqual([`opened ${idOf(9)}`]);
    expect([pairing.frames.length, listener.frames.length]).toEqual([1, 1]);
    expect(mote.connects).toBe(1);
    mote.peer?.end('lost');
    expect(pairing.said).toEqual([`opened ${idOf(9)}`]);
    expect(listener.said.at(-1)).toBe(`closed ${idOf(9)}: lost`);
    await live(3, mote);
    expect(mote.connects).toBe(2);
  });

  test('takes the place of a board that may rest; without one it is refused in words', async () => {
    const resting = rig({ slots: 1 }, 1);
    const mote = fresh(resting.clock);
    resting.link.onSighting(() => {});
    await resting.live(6, mote, resting.mote);
    const opening = codeOf(resting.link.openFor({ address: mote.address, board }, new Listener()));
    await resting.clock.advance(1_000);
    expect(await opening).toBe('ok');
    expect(resting.port.links).toBe(1);

    const busy = rig({ slots: 1, mayRest: () => false }, 1);
    const other = fresh(busy.clock);
    busy.link.onSighting(() => {});
    await busy.live(6, other, busy.mote);
    const refused = busy.link.openFor({ address: other.address, board }, new Listener());
    await expect(refused).rejects.toThrow(/all 1 connections.*Unpair a board/);
  });

  test('that fails leaves nothing behind, and says why', async () => {
    const { clock, live, link, port } = rig({}, 0);
    const mote = fresh(clock);
    link.onSighting(() => {});
    await live(2, mote);
    mote.values.set(BLE_INFO, Uint8Array.of(1));
    const opening = codeOf(link.openFor({ address: mote.address, board }, new Listener()));
    await clock.advance(100);
    expect(await opening).toBe('not_a_board');
    expect(port.links).toBe(0);
    expect(await codeOf(link.openFor({ address: 'nowhere', board }, new Listener()))).toBe(
      'failed',
    );
    port.turn('unauthorized');
    const refused = link.openFor({ address: mote.address, board }, new Listener());
    await expect(refused).rejects.toThrow(/setcap/);
  });
});
