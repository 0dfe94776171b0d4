import { afterEach, describe, expect, it } from 'vitest';
import { type BthomeSensorOptions, bthomeSensor } from '../../device-sim/models/bthome.js';
import { type NecklaceOptions, simNecklace } from '../../device-sim/models/necklace.js';
import type { NecklaceFlash } from '../../device-sim/models/necklace-identity.js';
import { blenoPeripheral } from '../../device-sim/radio/bleno-peripheral.js';
import { type NobleFork, virtualBleno } from '../../device-sim/radio/wire.js';
import { seededRandom } from '../../device-sim/testing/virtual-clock.js';
import { bthomeProfile } from '../../gateway/links/ble/profiles/bthome.js';
import { necklaceProfile } from '../../gateway/links/ble/profiles/necklace.js';
import { spokenBoardId } from '../../gateway/links/ble/spoken-board.js';
import { decodeNecklaceBeacon } from '../../protocol/necklace.js';
import { nodeCcm } from '../../protocol/node-ccm.js';
import { type BleWorld, bleWorld, FORKS } from './world.js';

const ADDRESS = 'c1:22:33:44:55:66';
const BIND_KEY = new Uint8Array(16).fill(5);
const MIN = 60_000;

let world: BleWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

function open(fork: NobleFork) {
  const w = bleWorld(fork, { profiles: [necklaceProfile(), bthomeProfile({ ccm: nodeCcm })] });
  world = w;
  const radio = (maxMtu = 517) => {
    const bleno = virtualBleno(w.air, { address: ADDRESS });
    w.closing(bleno.stop);
    const peripheral = blenoPeripheral({ bleno: bleno.instance, maxMtu });
    return { peripheral, controller: bleno.controller, off: bleno.stop };
  };
  const know = (profile: string, bindKey?: Uint8Array): string => {
    const boardId = spokenBoardId(profile, ADDRESS);
    w.known.push({ boardId, profile, address: ADDRESS, ...(bindKey ? { bindKey } : {}) });
    w.link.knownChanged();
    return boardId;
  };
  const values = (id: string) =>
    Object.fromEntries(
      Object.entries(w.gateway.board(id)?.readings ?? {}).map(([name, { value }]) => [name, value]),
    );
  const state = (id: string) => w.gateway.board(id)?.presence.state;
  return { ...w, radio, know, values, state };
}

type World = ReturnType<typeof open>;

async function necklace(w: World, more: Partial<NecklaceOptions> & { maxMtu?: number } = {}) {
  const { maxMtu, ...options } = more;
  const { peripheral, controller } = w.radio(maxMtu);
  let kept: ReturnType<NecklaceFlash['load']> = {};
  const store: NecklaceFlash = {
    load: () => kept,
    save: (fields) => {
      kept = fields;
    },
  };
  const common = { clock: w.clock, random: seededRandom(4), name: 'tiny', wakeS: 0, store };
  const sim = simNecklace({ ...common, peripheral, ...options });
  w.closing(() => sim.stop());
  await sim.start();
  const boardId = w.know('necklace');
  await w.online(boardId);
  return { sim, boardId, controller, identity: () => kept };
}

async function sensor(w: World, more: Partial<BthomeSensorOptions> = {}) {
  const { peripheral, off } = w.radio();
  const common = { clock: w.clock, random: seededRandom(7), name: 'ATC', peripheral };
  const sim = bthomeSensor({ ...common, ...more });
  w.closing(() => sim.stop());
  await sim.start();
  return Object.assign(sim, { off });
}

/** The counter's store of one sensor, from one run to the next. */
function lock(bindKey = BIND_KEY) {
  let kept = 0;
  const counter = {
    load: () => kept,
    save: (next: number) => {
      kept = next;
    },
  };
  return { bindKey, address: ADDRESS, counter, ccm: nodeCcm };
}

describe.each(FORKS)('a simulated necklace, heard by noble of %s', (fork) => {
  it.each([23, 517])('tells its words as events and its status (MTU %i)', async (maxMtu) => {
    const w = open(fork);
    const { sim, boardId } = await necklace(w, { maxMtu });
    await w.until(() => w.values(boardId).wakes === 0);
    sim.hear('hey ålexa');
    await w.until(() => w.events().length > 0);
    expect(w.events()).toEqual([
      expect.objectContaining({
        kind: 'nicla_wake',
        detail: { label: 'hey ålexa', wake: 1 },
      }),
    ]);
    await w.until(() => w.values(boardId).wakes === 1);
    expect(w.values(boardId)).toMatchObject({ last_label: 'hey ålexa', listening: true });
  });

  it('hears nothing while its microphone is off, and says so', async () => {
    const w = open(fork);
    const { sim, boardId } = await necklace(w);
    sim.microphone(false);
    await w.until(() => w.values(boardId).listening === false);
    sim.hear();
    await w.pass(5_000);
    expect(w.events()).toEqual([]);
    expect(w.values(boardId).wakes).toBe(0);
    sim.microphone(true);
    await w.until(() => w.values(boardId).listening === true);
  });

  it('hears its word now and then by itself', async () => {
    const w = open(fork);
    await necklace(w, { wakeS: 20 });
    await w.pass(5 * MIN, 500);
    expect(w.events().length).toBeGreaterThan(8);
    expect(w.events().length).toBeLessThan(30);
  });

  it('takes an identity, boots anew with it, and comes back', async () => {
    const w = open(fork);
    const { sim, boardId, controller, identity } = await necklace(w);
    sim.hear();
    const shown = () => {
      const data = Uint8Array.from(controller.advertised.data);
      return decodeNecklaceBeacon(data.subarray(data.length - 6));
    };
    expect(shown()).toEqual({ kind: 'voice', provisioned: false });
    const args = { device_id: 'dev_1', token: 't'.repeat(60), name: 'Küche' };
    const outcome = await w.settled(
      w.gateway.call({ boardId, verb: 'provision', args, ttlMs: 60_000, allowProtected: true }),
    );
    expect(outcome).toMatchObject({ kind: 'ok', value: { complete: true, missing: [] } });
    expect(identity()).toEqual(args);
    await w.until(() => w.state(boardId) !== 'online');
    await w.until(() => w.state(boardId) === 'online');
    expect(shown()).toEqual({ kind: 'voice', provisioned: true });
    expect(sim.provisioned).toBe(true);
    await w.until(() => w.values(boardId).wakes === 0);
    sim.factoryReset();
    await w.until(() => shown()?.provisioned === false);
    expect(identity()).toEqual({});
  });

  it('with a camera says what it lacks, and stays as it is', async () => {
    const w = open(fork);
    const { sim, boardId } = await necklace(w, { kind: 'vision' });
    const args = { device_id: 'dev_1', token: 'secret' };
    const outcome = await w.settled(
      w.gateway.call({ boardId, verb: 'provision', args, ttlMs: 60_000, allowProtected: true }),
    );
    expect(outcome).toMatchObject({ value: { complete: false, missing: ['ssid', 'key'] } });
    expect(sim.provisioned).toBe(false);
    await w.pass(5_000);
    expect(w.state(boardId)).toBe('online');
  });
});

describe.each(FORKS)('a simulated sensor that broadcasts, heard by noble of %s', (fork) => {
  const NAMES = ['battery', 'humidity', 'temperature'];

  it.each(['plain', 'encrypted'])('is a board with readings that change (%s)', async (form) => {
    const w = open(fork);
    const boardId = w.know('bthome', form === 'plain' ? undefined : BIND_KEY);
    await sensor(w, form === 'plain' ? {} : { lock: lock() });
    await w.until(() => w.state(boardId) === 'online');
    await w.until(() => Object.keys(w.values(boardId)).length === 3);
    expect(Object.keys(w.values(boardId)).sort()).toEqual(NAMES);
    expect(w.values(boardId).battery).toBe(97);
    const seen = new Set<unknown>();
    for (let i = 0; i < 6; i++) {
      const { temperature } = w.values(boardId);
      expect(temperature).toBeGreaterThan(16);
      expect(temperature).toBeLessThan(25);
      seen.add(temperature);
      await w.pass(5 * MIN, 1_000);
    }
    expect(seen.size).toBeGreaterThan(3);
    expect(w.state(boardId)).toBe('online');
  });

  it.each(['plain', 'encrypted'])('tells each press of its button once (%s)', async (form) => {
    const w = open(fork);
    const boardId = w.know('bthome', form === 'plain' ? undefined : BIND_KEY);
    const sim = await sensor(w, form === 'plain' ? {} : { lock: lock() });
    await w.until(() => w.state(boardId) === 'online');
    for (const how of ['press', 'press', 'long_press'] as const) {
      await sim.press(how);
      await w.pass(10_000);
    }
    expect(w.events()).toMatchObject(
      ['press', 'press', 'long_press'].map((event) => ({
        kind: 'button',
        detail: { event, button: 1 },
      })),
    );
  });

  it('is believed at once after it was started anew, since its counter goes on', async () => {
    const w = open(fork);
    const boardId = w.know('bthome', BIND_KEY);
    const kept = lock();
    const first = await sensor(w, { lock: kept });
    await w.until(() => w.state(boardId) === 'online');
    await w.pass(2 * MIN, 500);
    await first.stop();
    first.off();
    const before = w.values(boardId).temperature;
    await sensor(w, { lock: kept, random: seededRandom(99) });
    await w.until(() => w.values(boardId).temperature !== before, 20_000);
    expect(w.link.health().counters['bthome.replayed'] ?? 0).toBe(0);
  });

  it('is not heard under another key, and unreachable once it is silent', async () => {
    const w = open(fork);
    const boardId = w.know('bthome', BIND_KEY);
    const other = await sensor(w, { lock: lock(new Uint8Array(16).fill(6)) });
    await w.pass(10_000);
    expect(w.state(boardId)).not.toBe('online');
    await other.stop();
    other.off();
    const sim = await sensor(w, { lock: lock() });
    await w.until(() => w.state(boardId) === 'online');
    await sim.stop();
    await w.pass(6 * MIN, 1_000);
    expect(w.state(boardId)).toBe('unreachable');
  });
});
