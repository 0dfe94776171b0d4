import { afterEach, describe, expect, it, vi } from 'vitest';
import { BLE_SERVICE, decodeBeacon } from '../../protocol/ble.js';
import type { Message, MessageOf } from '../../protocol/messages.js';
import { createSimBoard, type SimBoardInput } from '../create.js';
import { type Air, createAir } from '../radio/air.js';
import { blenoPeripheral } from '../radio/bleno-peripheral.js';
import { type NobleFork, virtualBleno } from '../radio/wire.js';
import { memoryStore } from '../stores.js';
import { openBoard } from '../testing/raw-board-link.js';
import { FORKS, rawCentral } from '../testing/raw-central.js';
import { seededRandom, VirtualClock } from '../testing/virtual-clock.js';
import { bleTransport } from './ble.js';

const ID = '00112233445566ff';
const WELCOME: MessageOf<'welcome'> = {
  type: 'welcome',
  session: 1,
  unixMs: 1_700_000_000_000,
  journalId: Uint8Array.of(1, 2, 3, 4),
  nextCallId: 1,
  nonce: null,
  maxMessage: 16_384,
  rxWindow: 4_096,
};

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function world() {
  const clock = new VirtualClock();
  return { clock, air: createAir({ clock }) };
}

function boardOn(
  air: Air,
  clock: VirtualClock,
  more: Partial<SimBoardInput> & { maxMtu?: number } = {},
) {
  const { maxMtu = 517, ...input } = more;
  const { instance, controller, stop } = virtualBleno(air);
  cleanups.push(stop);
  let name = 'Air';
  const troubles: string[] = [];
  const transport = bleTransport({
    peripheral: blenoPeripheral({ bleno: instance, maxMtu }),
    clock,
    random: seededRandom(3),
    name: () => name,
    onTrouble: (why) => void troubles.push(why),
  });
  const board = createSimBoard({
    model: 'env',
    name,
    boardId: ID,
    key: new Uint8Array(16).fill(9),
    clock,
    random: seededRandom(4),
    store: memoryStore(6),
    readingsS: 0,
    transport,
    ...input,
  });
  board.start();
  cleanups.push(() => board.stop());
  const rename = (to: string): void => {
    name = to;
    transport.renamed();
  };
  return { board, transport, controller, troubles, rename };
}

/** Lets time pass until it holds: advertising comes with time, packets with turns of the loop. */
async function until(clock: VirtualClock, holds: () => unknown): Promise<void> {
  for (let i = 0; i < 400 && !holds(); i++) {
    await clock.pass(25);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(holds()).toBeTruthy();
}

async function found(air: Air, fork: NobleFork, clock: VirtualClock) {
  const central = await rawCentral(air, fork);
  cleanups.push(() => central.stop());
  const finding = central.find(BLE_SERVICE);
  let peer: Awaited<typeof finding> | undefined;
  void finding.then((one) => {
    peer = one;
  });
  await until(clock, () => peer);
  return { central, peer: await finding };
}

function callOf(bootId: number, callId: number): Message {
  return { type: 'call', callId, bootId, verb: 0, args: new Map(), ttlMs: 60_000 };
}

describe.each(FORKS)('a board over BLE, seen by noble of %s', (fork) => {
  it('shows its id and greets with what its radio carries', async () => {
    const { air, clock } = world();
    const { board, controller } = boardOn(air, clock, { maxMtu: 185 });
    const { peer } = await found(air, fork, clock);
    expect(controller.advertised.data).toHaveLength(31);
    const beacon = decodeBeacon(peer.advertisement.manufacturerData ?? new Uint8Array());
    expect(beacon).toEqual({ version: 1, paired: true, idPrefix: '00112233' });
    expect(peer.advertisement.localName).toBe('Air');
    const end = await openBoard(peer, clock);
    expect(end.info).toEqual({ version: 1, paired: true, boardId: ID, att: 182, name: 'Air' });
    await until(clock, () => end.last('hello'));
    expect(end.last('hello')).toMatchObject({ bootId: 7, att: 182, rxWindow: 2_048 });
    end.say({ ...WELCOME, wantCaps: true });
    await until(clock, () => end.last('caps'));
    end.say(callOf(board.bootId, 1));
    await until(clock, () => end.last('result'));
    expect(end.last('result')).toMatchObject({ callId: 1 });
    expect(board.executions).toBe(1);
    expect(Math.max(...end.packets)).toBeLessThanOrEqual(182);
    await until(clock, () => end.link.idle);
    expect(end.link.counters).toMatchObject({ dropped: 0, repeats: 0, naksIn: 0 });
  });

  it('speaks at the least that BLE carries', async () => {
    const { air, clock } = world();
    const { board } = boardOn(air, clock, { maxMtu: 23 });
    const { peer } = await found(air, fork, clock);
    const end = await openBoard(peer, clock);
    end.say({ ...WELCOME, wantCaps: true });
    await until(clock, () => end.last('caps'));
    expect(end.last('hello')?.att).toBe(20);
    end.say(callOf(board.bootId, 1));
    await until(clock, () => end.last('result'));
    expect(Math.max(...end.packets)).toBe(20);
  });

  it('sends as much at once as the gateway says that it takes', async () => {
    const { air, clock } = world();
    boardOn(air, clock, { maxMtu: 23 });
    const { peer } = await found(air, fork, clock);
    // No CREDIT comes without time, and none passes.
    const end = await openBoard(peer, clock, 1_000_000);
    end.say({ ...WELCOME, wantCaps: true });
    await vi.waitFor(() => expect(end.last('caps')).toBeDefined());
    const sent = end.packets.reduce((sum, bytes) => sum + bytes, 0);
    expect(sent).toBeGreaterThan(256);
  });

  it('greets as the next connection after a lost link, and answers again', async () => {
    const { air, clock } = world();
    const { board, troubles } = boardOn(air, clock);
    const { peer } = await found(air, fork, clock);
    const first = await openBoard(peer, clock);
    await until(clock, () => first.last('hello'));
    first.say(WELCOME);
    await until(clock, () => board.online);
    for (const link of air.links) link.lose();
    await until(clock, () => !board.online);
    expect(troubles).toHaveLength(1);
    await until(clock, () => peer.state === 'disconnected');
    const again = await openBoard(peer, clock);
    await until(clock, () => again.last('hello'));
    expect(board.session?.connection).toBe(2);
    again.say(WELCOME);
    again.say(callOf(board.bootId, 1));
    await until(clock, () => again.last('result'));
  });

  it('says nothing over a link that was meant for the one before', async () => {
    const { air, clock } = world();
    const { board } = boardOn(air, clock);
    const { peer } = await found(air, fork, clock);
    // What this central never acknowledges would be sent again.
    const first = await openBoard(peer, clock, 1_000_000);
    await until(clock, () => first.last('hello'));
    for (const link of air.links) link.lose();
    await until(clock, () => !board.session?.online && peer.state === 'disconnected');
    const again = await openBoard(peer, clock);
    await until(clock, () => again.last('hello'));
    again.say(WELCOME);
    await until(clock, () => board.online && again.link.idle);
    const packets = again.packets.length;
    const end = clock.now() + 5_000;
    await until(clock, () => clock.now() > end);
    expect(again.packets).toHaveLength(packets);
  });

  it('reboots: the link ends, and the new boot starts at connection 1', async () => {
    const { air, clock } = world();
    const { board } = boardOn(air, clock);
    const { peer } = await found(air, fork, clock);
    const first = await openBoard(peer, clock);
    await until(clock, () => first.last('hello'));
    board.reboot();
    await until(clock, () => peer.state === 'disconnected');
    const again = await openBoard(peer, clock);
    await until(clock, () => again.last('hello'));
    expect(again.last('hello')?.bootId).toBe(8);
    expect(board.session?.connection).toBe(1);
  });

  it('says SLEEP, is off the air for that long, and comes back', async () => {
    const { air, clock } = world();
    const { board, controller } = boardOn(air, clock, {
      model: (host) => ({
        name: 'Sleeper',
        platform: 'test',
        firmware: '1',
        verbs: [
          {
            name: 'nap',
            signature: '',
            description: 'sleeps for a minute',
            run: () => {
              host.sleep(60);
              return null;
            },
          },
        ],
      }),
    });
    const { peer } = await found(air, fork, clock);
    const end = await openBoard(peer, clock);
    end.say(WELCOME);
    await until(clock, () => board.online);
    // Slower than the moment that an idle link is given.
    air.latencyMs = 200;
    end.say(callOf(board.bootId, 1));
    await until(clock, () => peer.state === 'disconnected');
    expect(end.last('sleep')).toMatchObject({ seconds: 60 });
    await clock.pass(50_000);
    expect(controller.advertising).toBeUndefined();
    await clock.pass(10_000);
    await until(clock, () => controller.advertising);
    air.latencyMs = 0;
    await openBoard(peer, clock);
  });

  it('gives a link up whose central acknowledges nothing, and can be connected to again', async () => {
    const { air, clock } = world();
    const { board, troubles } = boardOn(air, clock);
    const { peer, central } = await found(air, fork, clock);
    await openBoard(peer, clock);
    central.controller.frozen = true;
    await clock.pass(30_000);
    await until(clock, () => troubles.length > 0);
    expect(troubles[0]).toBe('the peer stopped acknowledging segments');
    expect(board.session?.online).toBe(false);
    expect(air.links.size).toBe(0);
    central.controller.frozen = false;
    await until(clock, () => peer.state === 'disconnected');
    const again = await openBoard(peer, clock);
    await until(clock, () => again.last('hello'));
  });

  it('drops garbage, counts it and answers the next call', async () => {
    const { air, clock } = world();
    const { board } = boardOn(air, clock);
    const { peer } = await found(air, fork, clock);
    const end = await openBoard(peer, clock);
    end.say(WELCOME);
    await until(clock, () => board.online);
    end.link.send(Uint8Array.of(0xff, 0xff, 0xff));
    end.link.send(new Uint8Array(5_000));
    end.say(callOf(board.bootId, 1));
    // The oversized message is refused by its length until the sender gives up.
    await until(clock, () => end.broken.length > 0);
    expect(end.broken).toEqual(['the peer refused one message three times']);
    expect(board.session?.counters).toMatchObject({ 'bad.bad_seal': 1 });
    await peer.disconnectAsync();
    const again = await openBoard(peer, clock);
    again.say(WELCOME);
    again.say(callOf(board.bootId, 2));
    await until(clock, () => again.last('result'));
  });

  it('shows a new name while nobody is connected, and after the central has left', async () => {
    const { air, clock } = world();
    const { rename, controller } = boardOn(air, clock);
    const { peer } = await found(air, fork, clock);
    const end = await openBoard(peer, clock);
    await until(clock, () => end.last('hello'));
    rename('Balcony');
    await peer.disconnectAsync();
    const shown = (): string => Buffer.from(controller.advertised.scanResponse).toString();
    await until(clock, () => shown().includes('Balcony'));
    rename('Kitchen');
    await until(clock, () => shown().includes('Kitchen'));
  });
});

describe('a board over BLE', () => {
  it('shows that it is unpaired until it has been paired', async () => {
    const { air, clock } = world();
    const { controller } = boardOn(air, clock, { key: undefined });
    await until(clock, () => controller.advertising);
    const data = controller.advertised.data;
    expect(decodeBeacon(data.subarray(23))?.paired).toBe(false);
  });

  it('waits for an adapter that is off, and starts when it comes', async () => {
    const { air, clock } = world();
    const bleno = virtualBleno(air);
    cleanups.push(bleno.stop);
    bleno.controller.power(false);
    const troubles: string[] = [];
    const transport = bleTransport({
      peripheral: blenoPeripheral({ bleno: bleno.instance }),
      clock,
      random: () => 0.5,
      name: 'Air',
      onTrouble: (why) => void troubles.push(why),
    });
    const owner = { boardId: ID, bootId: 1, maxMessage: 1_024 };
    transport.start({
      ...owner,
      opened: () => undefined,
      received: () => undefined,
      closed: () => undefined,
    });
    cleanups.push(() => transport.stop());
    await vi.waitFor(() => expect(troubles[0]).toContain('off or absent'));
    bleno.controller.power(true);
    await until(clock, () => bleno.controller.advertising);
    await transport.stop();
    await until(clock, () => !bleno.controller.advertising);
  });
});
