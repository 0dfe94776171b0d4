import { afterEach, describe, expect, it, vi } from 'vitest';
import { FORKS, heardNext, pick, rawCentral, stateOf } from '../testing/raw-central.js';
import { VirtualClock } from '../testing/virtual-clock.js';
import { type Air, createAir } from './air.js';
import { blenoPeripheral } from './bleno-peripheral.js';
import type { PeripheralAdvertising, PeripheralEvents } from './peripheral.js';
import type { NobleFork } from './wire.js';
import { virtualBleno } from './wire.js';

const SERVICE = '6d6f7465-6272-6964-6765-0000000000f1';
const ECHO = '6d6f7465-6272-6964-6765-0000000000f2';
const TOLD = '6d6f7465-6272-6964-6765-0000000000f3';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function central(air: Air, fork: NobleFork, options = {}) {
  const made = await rawCentral(air, fork, options);
  cleanups.push(() => made.stop());
  return made;
}

/** A peripheral that reads `told`, and notifies whatever is written to it. */
async function peripheral(
  air: Air,
  options: {
    maxMtu?: number;
    show?: Partial<PeripheralAdvertising>;
    broadcast?: boolean;
    address?: string;
  } = {},
) {
  const { address } = options;
  const { instance, controller, stop } = virtualBleno(air, address ? { address } : {});
  cleanups.push(stop);
  const made = blenoPeripheral({ bleno: instance, maxMtu: options.maxMtu ?? 517 });
  const log: string[] = [];
  const events: PeripheralEvents = {
    connected: () => log.push('connected'),
    payload: (bytes) => log.push(`payload ${bytes}`),
    disconnected: (why) => log.push(`disconnected: ${why}`),
    subscribed: (_, payload) => log.push(`subscribed ${payload}`),
    unsubscribed: () => log.push('unsubscribed'),
  };
  const written: number[] = [];
  const refuse = (bytes: Uint8Array): void => {
    written.push(...bytes);
    if (bytes[0] === 0xee) throw new Error('not this one');
    made.notify(ECHO, bytes);
  };
  const service = {
    uuid: SERVICE,
    characteristics: [
      { uuid: ECHO, write: refuse, notify: true },
      { uuid: TOLD, read: () => Buffer.alloc(300, 7) },
    ],
  };
  await made.start(options.broadcast ? undefined : service, events);
  await made.advertise({ name: 'Küche', services: [SERVICE], ...options.show });
  cleanups.push(() => made.stop());
  return { peripheral: made, controller, log, written };
}

async function linked(
  air: Air,
  fork: NobleFork,
  options: { maxMtu?: number; clock?: VirtualClock } = {},
) {
  const board = await peripheral(air, options);
  const host = await central(air, fork);
  const finding = host.find(SERVICE);
  await turns();
  await options.clock?.pass(1_000);
  const peer = await finding;
  await peer.connectAsync();
  const { characteristics } = await peer.discoverSomeServicesAndCharacteristicsAsync([], []);
  const echo = pick(characteristics, ECHO);
  const got: Buffer[] = [];
  echo.on('data', (bytes: Buffer) => got.push(bytes));
  await echo.subscribeAsync();
  const [link] = air.links;
  if (!link) throw new Error('there is no link');
  return { ...board, noble: host.noble, peer, link, echo, told: pick(characteristics, TOLD), got };
}

const turns = async (count = 20): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe.each(FORKS)('the virtual radio under noble of %s', (fork) => {
  it('shows what a peripheral advertises, byte for byte', async () => {
    const air = createAir();
    const manufacturerData = Buffer.from('ffff0101aabbccdd', 'hex');
    const board = await peripheral(air, { show: { manufacturerData } });
    board.controller.rssi = -71;
    expect(board.controller.advertising?.data).toHaveLength(31);
    const host = await central(air, fork);
    const peer = await host.find();
    expect(peer.address).toBe(board.controller.addressText);
    expect(peer.rssi).toBe(-71);
    expect(peer.advertisement.localName).toBe('Küche');
    expect(peer.advertisement.serviceUuids).toEqual([SERVICE.replaceAll('-', '')]);
    expect(peer.advertisement.manufacturerData).toEqual(manufacturerData);
  });

  it('shows service data of boards that only broadcast', async () => {
    const air = createAir();
    const data = Buffer.from('40025c0003bf13', 'hex');
    await peripheral(air, {
      broadcast: true,
      show: { services: [], serviceData: [{ uuid: 'fcd2', data }] },
    });
    const host = await central(air, fork);
    const peer = await host.find();
    expect(peer.advertisement.serviceData).toEqual([{ uuid: 'fcd2', data }]);
  });

  it('links, agrees on an MTU, reads, writes and notifies', async () => {
    const { log, peer, told, echo, got } = await linked(createAir(), fork, { maxMtu: 185 });
    expect(peer.mtu).toBe(185);
    expect(log).toEqual(['connected', 'payload 182', 'subscribed 182']);
    expect(await told.readAsync()).toEqual(Buffer.alloc(300, 7));
    await echo.writeAsync(Buffer.from('with'), false);
    await echo.writeAsync(Buffer.from('without'), true);
    await vi.waitFor(() => expect(got.map(String)).toEqual(['with', 'without']));
    expect(await peer.updateRssiAsync()).toBe(-55);
  });

  it('answers what a write throws as an ATT error, and the link goes on', async () => {
    const air = createAir();
    const { echo, got } = await linked(air, fork);
    const errors: string[] = [];
    air.rule = ({ att }) => {
      if (att?.[0] === 0x01) errors.push(Buffer.from(att).toString('hex'));
      return undefined;
    };
    // Neither fork ever settles a write that was answered by an error.
    void echo.writeAsync(Buffer.of(0xee), false);
    await echo.writeAsync(Buffer.of(1), false);
    await vi.waitFor(() => expect(got).toEqual([Buffer.of(1)]));
    expect(errors).toEqual([expect.stringMatching(/^0112....0e$/)]);
  });

  it('refuses a notification that would be cut, and one that nobody asked for', async () => {
    const { peripheral: made, echo, got } = await linked(createAir(), fork, { maxMtu: 23 });
    expect(made.notify(ECHO, new Uint8Array(20).fill(9))).toBe(true);
    expect(() => made.notify(ECHO, new Uint8Array(21))).toThrow('does not fit');
    expect(made.notify(TOLD, Uint8Array.of(1))).toBe(false);
    await echo.unsubscribeAsync();
    expect(made.notify(ECHO, Uint8Array.of(1))).toBe(false);
    expect(got.map((bytes) => bytes.length)).toEqual([20]);
  });

  it('is shown again after the central has left, and not while it is there', async () => {
    const air = createAir();
    const { peer, controller, log } = await linked(air, fork);
    expect(controller.advertising).toBeUndefined();
    await peer.disconnectAsync();
    await vi.waitFor(() => expect(controller.advertising).toBeDefined());
    expect(log.slice(-2)).toEqual(['unsubscribed', 'disconnected: the link ended']);
    await peer.connectAsync();
    expect(log.at(-1)).toBe('connected');
  });

  it('loses a link at the moment that a test names, with its reason', async () => {
    const air = createAir();
    const { peer, log } = await linked(air, fork);
    const gone = new Promise((resolve) => peer.once('disconnect', resolve));
    for (const link of air.links) link.lose(0x3e);
    expect(await gone).toBe(0x3e);
    await vi.waitFor(() => expect(log.at(-1)).toBe('disconnected: the link ended'));
  });

  it('drops and delays packets by a rule, and keeps their order', async () => {
    const clock = new VirtualClock();
    const air = createAir({ clock });
    const { echo, got } = await linked(air, fork, { clock });
    air.rule = ({ up, att }) => {
      if (!up || att?.[0] !== 0x1b) return undefined;
      if (att[3] === 1) return 'drop';
      return att[3] === 2 ? { delayMs: 500 } : undefined;
    };
    for (const byte of [1, 2, 3]) await echo.writeAsync(Buffer.of(byte), true);
    await turns();
    expect(got).toEqual([]);
    await clock.pass(499);
    await turns();
    expect(got).toEqual([]);
    await clock.pass(1);
    await vi.waitFor(() => expect(got).toEqual([Buffer.of(2), Buffer.of(3)]));
    expect(air.counters.dropped).toBe(1);
  });

  it('lets a peer hang while its link stays up', async () => {
    const air = createAir();
    const { controller, echo, got, peer, written } = await linked(air, fork);
    controller.frozen = true;
    await echo.writeAsync(Buffer.of(1), true);
    await turns();
    expect(written).toEqual([]);
    expect(peer.state).toBe('connected');
    controller.frozen = false;
    await echo.writeAsync(Buffer.of(2), true);
    await vi.waitFor(() => expect(got).toEqual([Buffer.of(1), Buffer.of(2)]));
    expect(written).toEqual([1, 2]);
  });

  it('tells a peer only after the supervision timeout that the other vanished', async () => {
    const clock = new VirtualClock();
    const air = createAir({ clock });
    const { controller, peer, link } = await linked(air, fork, { clock });
    const gone = vi.fn();
    peer.once('disconnect', gone);
    controller.power(false);
    await clock.pass(link.supervision * 10 - 1);
    await turns();
    expect(gone).not.toHaveBeenCalled();
    await clock.pass(1);
    await vi.waitFor(() => expect(gone).toHaveBeenCalledWith(0x08));
  });

  it('goes deaf and hears again after what cures it', async () => {
    const clock = new VirtualClock();
    const air = createAir({ clock });
    await peripheral(air);
    const { noble, controller } = await central(air, fork);
    controller.deafen('scan');
    // The scan that is already asked for is as deaf as its adapter.
    controller.setScan(undefined);
    await noble.startScanningAsync([], true);
    const heard = heardNext(noble);
    await clock.pass(1_000);
    await heard;
    controller.deafen('power');
    const later = vi.fn();
    noble.on('discover', later);
    await noble.stopScanningAsync();
    await noble.startScanningAsync([], true);
    await clock.pass(1_000);
    await turns();
    expect(later).not.toHaveBeenCalled();
    expect(noble.state).toBe('poweredOn');
  });

  it('says when its adapter goes and comes, and works afterwards', async () => {
    const air = createAir();
    await peripheral(air);
    const { noble, controller, find } = await central(air, fork);
    controller.plug(false);
    await stateOf(noble, 'poweredOff');
    await expect(noble.startScanningAsync([], true)).rejects.toThrow('poweredOff');
    controller.plug(true);
    await stateOf(noble, 'poweredOn');
    expect((await find()).advertisement.localName).toBe('Küche');
  });

  it('comes back on the air when the adapter of the peripheral was off', async () => {
    const air = createAir();
    const { controller, log } = await linked(air, fork);
    controller.power(false);
    await vi.waitFor(() => expect(log.at(-1)).toBe('disconnected: the adapter is poweredOff'));
    controller.power(true);
    await vi.waitFor(() => expect(controller.advertising).toBeDefined());
  });

  it('has no more links than slots, and says why', async () => {
    const air = createAir();
    await peripheral(air);
    await peripheral(air);
    const { noble } = await central(air, fork, { slots: 1 });
    const peers = new Map<string, Awaited<ReturnType<typeof heardNext>>>();
    noble.on('discover', (peer) => peers.set(peer.address, peer));
    await noble.startScanningAsync([], true);
    await vi.waitFor(() => expect(peers.size).toBe(2));
    await noble.stopScanningAsync();
    const [first, second] = [...peers.values()];
    await first?.connectAsync();
    await expect(second?.connectAsync()).rejects.toThrow(/limit|0x9/i);
    await first?.disconnectAsync();
    await second?.connectAsync();
    expect(second?.state).toBe('connected');
  });

  it('gives the slot of a peripheral to the first central', async () => {
    const air = createAir();
    const { peer } = await linked(air, fork);
    const other = await central(air, fork);
    const { noble } = other;
    const heard = vi.fn();
    noble.on('discover', heard);
    await noble.startScanningAsync([], true);
    await turns();
    expect(heard).not.toHaveBeenCalled();
    const found = heardNext(noble);
    await peer.disconnectAsync();
    await noble.stopScanningAsync();
    await noble.startScanningAsync([], true);
    await (await found).connectAsync();
  });

  it('leaves nothing on the process, however many there are', async () => {
    const listeners = () => process.listenerCount('exit') + process.listenerCount('SIGINT');
    const before = listeners();
    const air = createAir();
    for (let i = 0; i < 12; i++) await central(air, fork);
    await peripheral(air);
    expect(listeners()).toBe(before);
  });
});

describe('a controller with an address of its own', () => {
  const address = 'c0:11:22:33:44:0f';

  it.each(FORKS)('is heard under it, in each of its runs (%s)', async (fork) => {
    const air = createAir();
    const host = await central(air, fork);
    for (let run = 0; run < 2; run++) {
      const made = await peripheral(air, { address });
      expect((await host.find(SERVICE)).address).toBe(address);
      await made.peripheral.stop();
      for (const clean of cleanups.splice(1).reverse()) await clean();
      expect(air.controllers).toHaveLength(1);
    }
  });

  it('shares no address with those that have none, whoever left meanwhile', async () => {
    const air = createAir();
    const first = virtualBleno(air);
    const second = virtualBleno(air);
    first.stop();
    const third = virtualBleno(air);
    cleanups.push(second.stop, third.stop);
    expect(third.controller.address).not.toEqual(second.controller.address);
  });

  it('is not made for what is no address', () => {
    const air = createAir();
    for (const none of ['', 'c0:11:22:33:44', 'c0:11:22:33:44:0g', 'c01122334455']) {
      expect(() => virtualBleno(air, { address: none })).toThrow(RangeError);
    }
    expect(air.controllers).toEqual([]);
  });
});

describe('advertising that does not fit', () => {
  it('is refused with both numbers, and what was shown stays', async () => {
    const { peripheral: made, controller } = await peripheral(createAir());
    const before = controller.advertising?.data;
    const manufacturerData = new Uint8Array(11);
    await expect(
      made.advertise({ name: 'x', services: [SERVICE], manufacturerData }),
    ).rejects.toThrow('34 bytes and holds 31');
    expect(controller.advertising?.data).toEqual(before);
  });

  it('cuts the name at a code point', async () => {
    const { controller } = await peripheral(createAir(), { show: { name: `${'a'.repeat(28)}ü` } });
    expect(controller.advertising?.scanResponse.subarray(0, 2)).toEqual(Buffer.of(29, 0x08));
  });
});
