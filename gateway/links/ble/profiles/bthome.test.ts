import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bthomeInfo, sealBthome } from '../../../../protocol/bthome.js';
import { fromHex } from '../../../../protocol/identity.js';
import { nodeCcm } from '../../../../protocol/node-ccm.js';
import { memoryJournal } from '../../../core/memory-journal.js';
import { advertisement, world } from '../profile.fixture.js';
import type { KnownBoard } from '../profile.js';
import { spokenBoardId } from '../spoken-board.js';
import { type BthomeMemory, bthomeProfile } from './bthome.js';

const ADDRESS = '54:48:e6:8f:80:a5';
const ID = spokenBoardId('bthome', ADDRESS);
const PLAIN: KnownBoard = { boardId: ID, profile: 'bthome', address: ADDRESS };
const KEY = fromHex('231d39c1d7cc1ab1aee224cd096db932');
const LOCKED: KnownBoard = { ...PLAIN, bindKey: KEY };
const MAC = fromHex('5448e68f80a5');
const MIN = 60_000;

const air = (data: Uint8Array | string, more = {}) =>
  advertisement({
    serviceData: [{ uuid: 'fcd2', data: typeof data === 'string' ? fromHex(data) : data }],
    ...more,
  });

function setUp(
  board: KnownBoard = PLAIN,
  options: { memory?: BthomeMemory } & Parameters<typeof world>[0] = {},
) {
  const w = world(options);
  const { memory } = options;
  const profile = bthomeProfile({ ccm: nodeCcm, ...(memory ? { memory } : {}) });
  const say = (data: Uint8Array | string, of = board) => profile.heard?.(air(data), of, w.context);
  /** Encrypted objects, under any key. */
  const tell = async (counter: number, objects: string, key = KEY) => {
    say(await sealBthome(await nodeCcm(key, 4), MAC, counter, fromHex(objects)));
    await w.clock.advance(0);
  };
  const view = () => w.gateway.board(ID);
  const values = () =>
    Object.fromEntries(Object.entries(view()?.readings ?? {}).map(([k, v]) => [k, v.value]));
  const call = () => w.gateway.call({ boardId: ID, verb: 'status', args: {}, ttlMs: 5_000 });
  return { ...w, profile, say, tell, view, values, call };
}

function remembering() {
  const kept = new Map<string, string>();
  const memory: BthomeMemory = {
    load: (id) => kept.get(id),
    save: (id, text) => void kept.set(id, text),
  };
  return { kept, memory };
}

describe('in the air', () => {
  test('a sensor is seen, and says whether it needs a key', () => {
    const { profile } = setUp();
    expect(profile.sight(air('4002ca09', { name: 'DIY\u0007sensor' }))).toEqual({
      profile: 'bthome',
      address: ADDRESS,
      rssi: -60,
      name: 'DIY sensor',
      boardId: ID,
      paired: false,
      needs: 'none',
    });
    expect(profile.sight(air('41e445f3c9962b332211006c7c4519'))?.needs).toBe('bind_key');
    const long = { uuid: '0000FCD2-0000-1000-8000-00805F9B34FB', data: fromHex('4001') };
    expect(profile.sight(advertisement({ serviceData: [long] }))).toBeDefined();
    expect(profile.sight(air('2002ca09'))).toBeUndefined();
    expect(profile.sight(advertisement({ name: 'BTHome' }))).toBeUndefined();
    expect(
      profile.sight(advertisement({ serviceData: [{ uuid: '181c', data: fromHex('40') }] })),
    ).toBeUndefined();
  });

  test('only one that is in the book is recognised', () => {
    const { profile } = setUp();
    expect(profile.recognise(air('4002ca09'), [])).toBeUndefined();
    expect(profile.recognise(air('4002ca09'), [{ ...PLAIN, profile: 'necklace' }])).toBeUndefined();
    const other = { ...PLAIN, address: '54:48:e6:8f:80:a6' };
    expect(profile.recognise(air('4002ca09'), [other, PLAIN])).toBe(PLAIN);
    expect(profile.recognise(advertisement(), [PLAIN])).toBeUndefined();
    expect(profile.open).toBeUndefined();
  });
});

describe('readings', () => {
  test('a sensor becomes a read-only board with its readings and battery', async () => {
    const { say, clock, view, values, call } = setUp();
    say('4000090161' + '02ca0903bf13');
    await clock.advance(6_000);
    expect(view()).toMatchObject({ via: 'ble', battery: 97, presence: { state: 'online' } });
    expect(values()).toEqual({ battery: 97, temperature: 25.06, humidity: 50.55 });
    expect(view()?.catalog?.readings).toMatchObject([
      { name: 'battery', unit: '%' },
      { name: 'temperature', unit: '°C' },
      { name: 'humidity', unit: '%' },
    ]);
    expect(view()?.catalog?.verbs).toMatchObject([{ name: 'status', readOnly: true }]);
    await clock.advance(4_000);
    const outcome = call();
    await clock.advance(10);
    expect(await outcome).toMatchObject({
      kind: 'ok',
      value: { temperature: 25.06, heard_s_ago: 10, rssi: -60 },
    });
  });

  test('several of one name are numbered from the second on', async () => {
    const { say, clock, values } = setUp();
    say('4002ca0902cf09');
    await clock.advance(6_000);
    say('4002d00902d109');
    await clock.advance(2_000);
    expect(values()).toEqual({ temperature: 25.12, temperature_2: 25.13 });
  });

  test('a sensor that takes turns with its objects is one catalog, and keeps it', async () => {
    const { say, clock, catalogs, values } = setUp();
    for (let i = 0; i < 20; i++) {
      say('4002ca09');
      await clock.advance(1_000);
      say('40016103bf13');
      await clock.advance(1_000);
    }
    expect(catalogs).toHaveLength(1);
    expect(Object.keys(values()).sort()).toEqual(['battery', 'humidity', 'temperature']);
    say('40015f1a01');
    await clock.advance(6_000);
    expect(catalogs).toHaveLength(2);
    expect(values()).toMatchObject({ door_open: true, battery: 95 });
  });

  test('a packet heard a hundred times a second is told twice a minute', async () => {
    const { say, clock, gateway } = setUp();
    const told: unknown[] = [];
    gateway.on('readings', (_, values) => told.push(values));
    for (let i = 0; i < 1_200; i++) {
      say('4002ca09');
      await clock.advance(50);
    }
    expect(told.length).toBeGreaterThanOrEqual(2);
    expect(told.length).toBeLessThanOrEqual(3);
  });

  test('of a packet with an unknown object or a lost end the start is taken', async () => {
    const { say, clock, counters, values } = setUp();
    say('40015dfe5d0903b718');
    say('40015d02ca');
    say('4053025fff0161');
    await clock.advance(6_000);
    expect(values()).toEqual({ battery: 97 });
    expect(counters).toEqual({
      'bthome.unknown_object': 1,
      'bthome.truncated': 1,
      'bthome.bad_text': 1,
    });
  });

  test('firmware and kind of device are told, a battery of more than all is not', async () => {
    const { say, clock, view, call } = setUp();
    say('4001fff00100f100010204');
    await clock.advance(6_000);
    expect(view()?.catalog?.firmware).toBe('4.2.1.0');
    expect(view()?.battery).toBeUndefined();
    const outcome = call();
    await clock.advance(10);
    expect(await outcome).toMatchObject({ value: { device_type: 1, battery: 255 } });
  });
});

describe('events', () => {
  test('a press is one event, however often the air repeats it', async () => {
    const { say, clock, events } = setUp();
    for (let i = 0; i < 30; i++) {
      say('4400013a01');
      await clock.advance(300);
    }
    say('4400023a01');
    say('4400023a01');
    say('4400033a003a043c0203');
    await clock.advance(10);
    expect(events()).toEqual([
      { kind: 'button', detail: { event: 'press', button: 1 } },
      { kind: 'button', detail: { event: 'press', button: 1 } },
      { kind: 'button', detail: { event: 'long_press', button: 2 } },
      { kind: 'dimmer', detail: { event: 'rotate_right', dimmer: 1, steps: 3 } },
    ]);
  });

  test('a storm of presses is cut', async () => {
    const { say, clock, events, counters } = setUp();
    for (let i = 0; i < 200; i++) say(`4400${(i & 0xff).toString(16).padStart(2, '0')}3a01`);
    await clock.advance(6_000);
    expect(events()).toHaveLength(20);
    expect(counters['shed.events']).toBe(180);
  });
});

describe('presence', () => {
  test('is being heard: after silence it is unreachable, and back when it is heard again', async () => {
    const { say, clock, states } = setUp();
    for (let i = 0; i < 10; i++) {
      say(`4002${(i + 16).toString(16)}09`);
      await clock.advance(MIN);
    }
    await clock.advance(3.9 * MIN);
    expect(states).toEqual(['online']);
    await clock.advance(0.2 * MIN);
    expect(states).toEqual(['online', 'unreachable']);
    say('4002ca09');
    await clock.advance(10);
    expect(states).toEqual(['online', 'unreachable', 'online']);
  });

  test('one that is heard each quarter of an hour stays online between', async () => {
    const { say, clock, states } = setUp();
    for (let i = 0; i < 8; i++) {
      say(`4002${(i + 16).toString(16)}09`);
      await clock.advance(15 * MIN);
    }
    expect(states).toEqual(['online', 'unreachable', 'online']);
  });

  test('one that repeats itself is heard as well', async () => {
    const { say, clock, states } = setUp();
    for (let i = 0; i < 60; i++) {
      say('40000102ca09');
      await clock.advance(MIN);
    }
    expect(states).toEqual(['online']);
  });

  test('the adapter going and the owner’s removal end it', async () => {
    const { say, clock, profile, states } = setUp();
    say('4002ca09');
    await clock.advance(6_000);
    profile.closed?.('no adapter');
    await clock.advance(10);
    expect(states).toEqual(['online', 'unreachable']);
    say('4002cb09');
    await clock.advance(6_000);
    profile.forget?.(ID);
    await clock.advance(10 * MIN);
    expect(states).toEqual(['online', 'unreachable', 'online', 'unreachable']);
    expect(clock.waiting).toBe(0);
  });
});

describe('encrypted', () => {
  test('is opened with its key; the published packet gives the published values', async () => {
    const { say, clock, values, tell, events } = setUp(LOCKED);
    say('41e445f3c9962b332211006c7c4519');
    await clock.advance(6_000);
    expect(values()).toEqual({ temperature: 25.06, humidity: 50.55 });
    await tell(0x00112234, '3a02');
    expect(events()).toEqual([{ kind: 'button', detail: { event: 'double_press', button: 1 } }]);
  });

  test('a replay is refused, a repetition is silently no news', async () => {
    const { tell, events, counters } = setUp(LOCKED);
    await tell(10, '3a01');
    await tell(10, '3a01');
    await tell(11, '3a02');
    await tell(10, '3a01');
    await tell(9, '3a04');
    expect(events().map((body) => (body.detail as { event: string }).event)).toEqual([
      'press',
      'double_press',
    ]);
    expect(counters).toEqual({ 'bthome.replayed': 2 });
  });

  test('replays do not keep it online', async () => {
    const { tell, clock, states } = setUp(LOCKED);
    await tell(10, '02ca09');
    await clock.advance(6_000);
    for (let i = 0; i < 6; i++) {
      await tell(10, '02ca09');
      await tell(9 - i, '02ca09');
      await clock.advance(MIN);
    }
    expect(states).toEqual(['online', 'unreachable']);
  });

  test('a sensor that lost its counter is believed again, and what came before that is not', async () => {
    const { tell, clock, events, counters, values } = setUp(LOCKED);
    await tell(5_000, '0164');
    await clock.advance(6 * MIN);
    for (let i = 1; i <= 4; i++) {
      await tell(i, `0150${'3a01'}`);
      await clock.advance(15_000);
    }
    expect(counters).toEqual({ 'bthome.unproven': 2, 'bthome.restarted': 1 });
    expect(events()).toHaveLength(2);
    expect(values()).toEqual({ battery: 80 });
  });

  test('plain packets of a sensor with a key, sealed ones of another key: refused and counted', async () => {
    const { say, tell, counters, view } = setUp(LOCKED);
    say('4002ca09');
    await tell(10, '02ca09', fromHex('00'.repeat(16)));
    say('41');
    for (let i = 0; i < 5; i++) await tell(11 + i, '');
    expect(counters).toEqual({
      'bthome.plain_refused': 1,
      'bthome.bad_mic': 1,
      'bthome.bad_packet': 1,
    });
    expect(view()?.readings ?? {}).toEqual({});
    const without = setUp(PLAIN);
    await without.tell(1, '02ca09');
    expect(without.counters).toEqual({ 'bthome.no_bind_key': 1 });
    const odd = setUp({ ...LOCKED, bindKey: new Uint8Array(5) });
    await odd.tell(1, '02ca09');
    expect(odd.counters).toEqual({ 'bthome.bad_bind_key': 1 });
    const nameless = setUp({ ...LOCKED, address: 'hidden' });
    await nameless.tell(1, '02ca09');
    expect(nameless.counters).toEqual({ 'bthome.no_address': 1 });
  });

  test('packets that come faster than they can be verified are shed', async () => {
    const { say, clock, counters } = setUp(LOCKED);
    const ccm = await nodeCcm(KEY, 4);
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) => sealBthome(ccm, MAC, i, fromHex('0150'))),
    );
    for (const data of all) say(data);
    await clock.advance(0);
    expect(counters).toEqual({ 'bthome.shed': 12 });
    expect(bthomeInfo({ encrypted: true })).toBe(all[0]?.[0]);
  });
});

describe('across restarts of the gateway', () => {
  test('the catalog is known at once, and does not change', async () => {
    const { memory } = remembering();
    const journal = memoryJournal();
    const first = setUp(PLAIN, { memory, journal });
    first.say('4002ca09f2000106');
    await first.clock.advance(1_000);
    first.say('4001610300ff');
    await first.clock.advance(10_000);
    const second = setUp(PLAIN, { memory, journal });
    second.say('40016103bf13');
    await second.clock.advance(10);
    expect(second.states).toEqual(['online']);
    expect(second.catalogs).toEqual([]);
    expect(second.values()).toEqual({ battery: 97, humidity: 50.55 });
    expect(second.view()?.catalog?.readings).toHaveLength(3);
    expect(second.view()?.catalog?.firmware).toBe('6.1.0');
  });

  test('the counter is kept: what was heard before is a replay', async () => {
    const { memory } = remembering();
    const first = setUp(LOCKED, { memory });
    await first.tell(100, '3a01');
    await first.tell(101, '3a01');
    first.profile.closed?.('the link is closing');
    const second = setUp(LOCKED, { memory });
    await second.tell(101, '3a01');
    await second.tell(100, '3a01');
    await second.tell(102, '3a04');
    expect(second.events()).toHaveLength(1);
    expect(second.counters).toEqual({ 'bthome.replayed': 1 });
  });

  test('while it runs, the counter is kept now and then', async () => {
    const { memory, kept } = remembering();
    const { tell, clock } = setUp(LOCKED, { memory });
    for (let i = 0; i < 25; i++) {
      await tell(100 + i, '0150');
      await clock.advance(MIN);
    }
    expect(JSON.parse(kept.get(ID) ?? '{}').counter).toBe(120);
  });

  test('another key begins with another counter, and a removed sensor leaves nothing behind', async () => {
    const { memory, kept } = remembering();
    const { tell, say, profile, clock, counters } = setUp(LOCKED, { memory });
    await tell(1_000, '0150');
    const key = fromHex('11'.repeat(16));
    const data = await sealBthome(await nodeCcm(key, 4), MAC, 5, fromHex('0151'));
    say(data, { ...LOCKED, bindKey: key });
    await clock.advance(0);
    profile.closed?.('the link is closing');
    expect(JSON.parse(kept.get(ID) ?? '{}').counter).toBe(5);
    expect(counters).toEqual({});
    kept.clear();
    profile.forget?.(ID);
    expect(kept.size).toBe(0);
  });

  test('a memory that can’t be read is none', async () => {
    for (const text of [
      '',
      '7',
      '{"readings":[["a b",""]]}',
      '{"readings":[[]]}',
      '{"readings":1}',
    ]) {
      const { say, clock, counters, values } = setUp(PLAIN, {
        memory: { load: () => text, save: () => {} },
      });
      say('400150');
      await clock.advance(6_000);
      expect(counters).toEqual({ 'bthome.bad_memory': 1 });
      expect(values()).toEqual({ battery: 80 });
    }
  });
});

test('no service data makes it throw, and its catalog stays bounded', async () => {
  const { profile, context, clock, view } = setUp();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 255 }), fc.boolean(), (bytes, marked) => {
      const data = marked ? Uint8Array.of(0x40, ...bytes) : bytes;
      const seen = air(data);
      profile.sight(seen);
      const board = profile.recognise(seen, [PLAIN]);
      if (board) profile.heard?.(seen, board, context);
    }),
    { numRuns: 1_000 },
  );
  await clock.advance(MIN);
  expect(view()?.catalog?.readings.length).toBeLessThanOrEqual(64);
  expect(view()?.presence.state).toBe('online');
});
