/** What radios, libraries and strangers do to the link: each step lost, hung, or answered with rubbish. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BLE_INFO, BLE_RX, BLE_TX } from '../../../protocol/ble.js';
import { FakeClock } from '../../../test/support/clock.js';
import { Connection } from './connection.js';
import { addressOf, FakeDevice, FakeMote, FakePeer, type Step } from './fake-port.fixture.js';
import { hello, idOf, rig } from './rig.fixture.js';

const STEPS: readonly Step[] = ['discover', 'read', 'subscribe', 'write'];

describe.each(STEPS)('a link lost at the step %s', (step) => {
  test.each([
    ['rejects', true],
    ['never settles', false],
  ])('frees its slot and is made again, where the library %s', async (_, settles) => {
    const { mote, live, listener, link, port, clock } = rig();
    mote.loseAt = step;
    mote.settlesWhenLost = settles;
    await live(2);
    listener.paths[0]?.send(new Uint8Array(10));
    await clock.advance(0);
    expect(port.links).toBe(0);
    expect(link.health()).toMatchObject({ slots: { used: 0 }, paths: 0 });
    mote.loseAt = undefined;
    await live(40);
    expect(listener.said.at(-1)).toBe(`opened ${idOf(1)}`);
    expect(link.health()).toMatchObject({ slots: { used: 1 }, paths: 1 });
  });
});

describe.each(['connect', ...STEPS] as const)('a step %s that never ends', (step) => {
  test('is given up at its deadline, and the link closed', async () => {
    const { mote, live, listener, link, port, clock } = rig();
    mote.hangs.add(step);
    await live(2);
    listener.paths[0]?.send(new Uint8Array(10));
    await clock.advance(11_000);
    expect(port.links).toBe(0);
    expect(link.health()).toMatchObject({ slots: { used: 0 }, counters: { deadline: 1 } });
    const [board] = link.health().boards;
    expect(board?.why).toMatch(/did not end within \d+ s/);
    mote.hangs.clear();
    await live(40);
    expect(listener.said.at(-1)).toBe(`opened ${idOf(1)}`);
  });
});

test('a connection given up that comes all the same is closed', async () => {
  const { mote, port, live, clock } = rig();
  let come: (() => void) | undefined;
  const connect = port.connect.bind(port);
  port.connect = (address) =>
    new Promise((resolve) => {
      come = () => void connect(address).then(resolve);
    });
  await live(2);
  await clock.advance(11_000);
  come?.();
  await clock.advance(0);
  expect(mote.connects).toBe(1);
  expect(port.links).toBe(0);
});

test('an adapter that does not confirm a disconnection keeps no slot', async () => {
  const { mote, live, listener, link, clock } = rig();
  await live(2);
  mote.hangs.add('disconnect');
  listener.paths[0]?.close('enough');
  await clock.advance(2_900);
  expect(link.health().slots.used).toBe(1);
  await clock.advance(200);
  expect(link.health()).toMatchObject({
    slots: { used: 0 },
    counters: { disconnect_unconfirmed: 1 },
  });
});

test('five connections that nobody answers reset the adapter', async () => {
  const { port, live, logged, link, mote } = rig();
  port.hangs.add('connect');
  await live(300);
  expect(link.health().counters.adapter_resets).toBe(1);
  expect(logged.some((line) => /no connection is answered any more/.test(line))).toBe(true);
  port.hangs.clear();
  await live(70);
  expect(mote.peers.size).toBe(1);
});

describe('rubbish', () => {
  test('in place of info never gets a path, and the device is left alone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 64 }), async (info) => {
        const { mote, live, listener, port } = rig();
        mote.values.set(BLE_INFO, info);
        await live(20);
        expect(listener.said).toEqual([]);
        expect(mote.connects).toBe(1);
        expect(port.links).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  test.each([
    ['no service', (mote: FakeMote) => Object.assign(mote, { services: ['180f'] })],
    ['no info', (mote: FakeMote) => mote.values.delete(BLE_INFO)],
  ])('of a device with %s costs one connection a minute at most', async (_, spoil) => {
    const { mote, live, link, port } = rig();
    spoil(mote);
    await live(29);
    expect(mote.connects).toBe(1);
    expect(port.links).toBe(0);
    expect(link.health().counters.strangers).toBe(1);
  });

  test('as packets leaves the link and its neighbours as they were', async () => {
    const { motes, live, listener, link, clock } = rig({}, 2);
    await live(4);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 64 }), async (packet) => {
        motes[0]?.notify(packet);
      }),
      { numRuns: 500 },
    );
    await clock.advance(100);
    listener.frames.length = 0;
    motes[1]?.send(hello);
    await clock.advance(200);
    expect(listener.frames).toEqual([hello]);
    expect(link.health().counters.listener_error).toBeUndefined();
  });

  test('in advertisements is nobody’s board', async () => {
    const { port, live, link, clock } = rig();
    link.onSighting(() => {});
    await live(1);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ maxLength: 300 }), { maxLength: 40 }),
        fc.option(fc.uint8Array({ maxLength: 300 }), { nil: undefined }),
        async (services, manufacturerData) => {
          const advertisement = {
            address: addressOf(500),
            rssi: 127,
            services,
            serviceData: [],
            connectable: true,
            ...(manufacturerData ? { manufacturerData } : {}),
          };
          port.advertise(new FakeDevice(addressOf(500), advertisement));
        },
      ),
      { numRuns: 200 },
    );
    await clock.advance(0);
    expect(link.sightings().map(({ address }) => address)).toEqual([addressOf(1)]);
    expect(link.health().counters.profile_error).toBeUndefined();
  });
});

test('ten thousand boards of the air leave a bounded list, strongest first', async () => {
  const { clock, port, live, link } = rig({}, 0);
  link.onSighting(() => {});
  await live(1);
  for (let i = 0; i < 10_000; i++) {
    const mote = new FakeMote(clock, idOf(i), addressOf(i));
    mote.advertisement = { ...mote.advertisement, rssi: -(i % 90) - 1 };
    port.advertise(mote);
  }
  const seen = link.sightings().map(({ rssi }) => rssi);
  expect(seen).toHaveLength(256);
  expect(seen).toEqual([...seen].sort((a, b) => b - a));
  await clock.advance(61_000);
  expect(link.sightings()).toEqual([]);
});

test('one prefix at a thousand addresses keeps four of them, and the board is still found', async () => {
  const { clock, live, link, mote } = rig();
  const liars = Array.from(
    { length: 1_000 },
    (_, i) => new FakeMote(clock, `${idOf(1).slice(0, 8)}eeeeeeee`, addressOf(100 + i)),
  );
  for (let i = 0; i < 60 && mote.peers.size === 0; i++) await live(1, ...liars.slice(0, 5), mote);
  expect(mote.peers.size).toBe(1);
  await live(1, ...liars);
  expect(link.health().slots.used).toBe(1);
});

test('a name with control characters is shown without them', async () => {
  const { clock, live, link } = rig({}, 0);
  link.onSighting(() => {});
  const name = '\u001b[2Jla\u202emp\u0000\r\nroot# \u{e000}';
  await live(2, new FakeMote(clock, idOf(1), addressOf(1), { name }));
  expect(link.sightings()[0]?.name).toBe('[2Jla mp root#');
});

test('a storm of notifications is shed, then ends the link, and its neighbour goes on', async () => {
  const { motes, live, link, listener, clock } = rig(
    { notificationsPerS: 100, notificationBurst: 200 },
    2,
  );
  const [loud, quiet] = motes as [FakeMote, FakeMote];
  await live(4);
  for (let i = 0; i < 1_500; i++) loud.notify(Uint8Array.of(0xff));
  expect(link.health().counters.notifications_shed).toBe(1_300);
  expect(loud.peers.size).toBe(1);
  for (let i = 0; i < 5_000; i++) loud.notify(Uint8Array.of(0xff));
  await clock.advance(0);
  expect(loud.peers.size).toBe(0);
  expect(link.health().counters).toMatchObject({ 'ended.storm': 1, notifications_shed: 2_001 });
  quiet.send(hello);
  await clock.advance(200);
  expect(listener.frames).toEqual([hello]);
  await live(12);
  expect(loud.peers.size).toBe(0);
});

describe('operations on one link', () => {
  function connection() {
    const clock = new FakeClock();
    const counted: string[] = [];
    const device = new FakeMote(clock, idOf(1), addressOf(1));
    const peer = new FakePeer(device);
    device.peers.add(peer);
    const held: (() => void)[] = [];
    peer.write = () => new Promise((resolve) => held.push(() => resolve()));
    const made = new Connection(peer, { clock, count: (name) => counted.push(name) });
    return { clock, counted, device, peer, held, made };
  }

  test('run one after another, whoever asks', async () => {
    const { made, held, clock } = connection();
    const done: number[] = [];
    for (let i = 0; i < 20; i++) {
      void made.write(BLE_RX, Uint8Array.of(i), true).then(() => done.push(i));
    }
    for (let i = 0; i < 20; i++) {
      await clock.advance(0);
      expect(held).toHaveLength(i + 1);
      held[i]?.();
    }
    await clock.advance(0);
    expect(done).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  test('are bounded in number, and all end when the link does', async () => {
    const { made, counted, peer, clock } = connection();
    const ends: string[] = [];
    const note = (error: { code: string }): void => void ends.push(error.code);
    for (let i = 0; i < 130; i++) made.write(BLE_RX, Uint8Array.of(1), true).catch(note);
    await clock.advance(0);
    expect(ends).toEqual(['failed']);
    expect(counted).toEqual(['queue_full']);
    peer.end('lost');
    await clock.advance(0);
    expect(ends.filter((code) => code === 'disconnected')).toHaveLength(129);
    await expect(made.subscribe(BLE_TX, () => {})).rejects.toThrow(/was not done: lost/);
  });
});
