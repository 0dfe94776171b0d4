import { describe, expect, test } from 'vitest';
import { JournalUnavailable } from '../../core/journal.js';
import { memoryJournal } from '../../core/memory-journal.js';
import { world } from './profile.fixture.js';
import { SpokenBoard, type SpokenOptions, spokenBoardId } from './spoken-board.js';
import { SpokenFailure } from './spoken-calls.js';

const ID = spokenBoardId('test', '54:48:E6:8F:80:A5');

function setUp(more: Partial<SpokenOptions> = {}, options: Parameters<typeof world>[0] = {}) {
  const w = world(options);
  const runs: unknown[] = [];
  const ended: string[] = [];
  const board = new SpokenBoard({
    boardId: ID,
    name: 'Test',
    platform: 'test',
    readings: [{ name: 'temperature', unit: '°C' }],
    verbs: [
      {
        name: 'status',
        signature: 'n?:i0..9',
        description: 'counts',
        idempotent: true,
        readOnly: true,
        run: (args) => {
          runs.push(args);
          return { runs: runs.length };
        },
      },
      {
        name: 'fail',
        signature: '',
        description: 'fails',
        run: () => {
          throw new SpokenFailure('out_of_reach', 'it is too far away');
        },
      },
    ],
    context: w.context,
    ended: (reason) => ended.push(reason),
    ...more,
  });
  const call = (verb: string, args: Record<string, unknown> = {}) =>
    w.gateway.call({ boardId: ID, verb, args, ttlMs: 10_000 });
  return { ...w, board, runs, ended, call, view: () => w.gateway.board(ID) };
}

test('a board’s id is of its profile and address, however the address is written', () => {
  expect(ID).toMatch(/^[0-9a-f]{16}$/);
  expect(spokenBoardId('test', '5448e68f80a5')).toBe(ID);
  expect(spokenBoardId('test', '54-48-e6-8f-80-a5')).toBe(ID);
  expect(spokenBoardId('other', '54:48:e6:8f:80:a5')).not.toBe(ID);
  expect(spokenBoardId('test', '54:48:e6:8f:80:a6')).not.toBe(ID);
});

describe('greeting', () => {
  test('it is a board with a catalog, and online, for hours on its beats alone', async () => {
    const { board, clock, view, states } = setUp();
    board.battery = 81;
    board.open();
    await clock.advance(10);
    expect(view()).toMatchObject({
      name: 'Test',
      via: 'ble',
      battery: 81,
      presence: { state: 'online' },
      catalog: { platform: 'test', readings: [{ name: 'temperature', unit: '°C' }] },
    });
    await clock.advance(3_600_000);
    expect(states).toEqual(['online']);
    board.battery = 80;
    await clock.advance(30_000);
    expect(view()?.battery).toBe(80);
  });

  test('presence follows open and close, and comes back', async () => {
    const { board, clock, states } = setUp();
    board.open();
    board.open();
    await clock.advance(10);
    board.close('the link was lost');
    await clock.advance(10);
    expect(board.isOpen).toBe(false);
    board.open();
    await clock.advance(10);
    expect(states).toEqual(['online', 'unreachable', 'online']);
  });

  test('a path that the gateway ends is told, and opens again when asked', async () => {
    const { board, clock, gateway, ended, view } = setUp();
    board.open();
    await clock.advance(10);
    gateway.stop();
    await clock.advance(10);
    expect(ended).toEqual(['the gateway stops']);
    expect(board.isOpen).toBe(false);
    board.open();
    await clock.advance(10);
    expect(view()?.presence.state).toBe('online');
  });

  test('a gateway that does not answer is greeted again, ever less often', async () => {
    const w = world();
    const hellos: number[] = [];
    const deaf = {
      opened: () => {},
      received: () => void hellos.push(w.clock.now()),
      closed: () => {},
    };
    const { board } = setUp({ context: { ...w.context, listener: deaf } });
    board.open();
    await w.clock.advance(80_000);
    expect(hellos).toEqual([0, 5_000, 15_000, 35_000, 75_000]);
  });

  test('a listener that throws takes nothing down', async () => {
    const w = world();
    const broken = (): never => {
      throw new Error('broken');
    };
    const listener = { opened: broken, received: broken, closed: broken };
    const { board } = setUp({ context: { ...w.context, listener } });
    board.open();
    board.close('enough');
    await w.clock.advance(10);
    expect(w.counters.listener_error).toBe(3);
  });

  test('what can’t be read from the gateway’s side is counted', async () => {
    const paths: { send(frame: Uint8Array): void }[] = [];
    const w = world();
    const listener = {
      opened: (path: { send(frame: Uint8Array): void }) => void paths.push(path),
      received: () => {},
      closed: () => {},
    };
    const { board } = setUp({ context: { ...w.context, listener } });
    board.open();
    for (const frame of [[], [0], [0, 0xff], [1, 1, 2], [9, 9]]) {
      paths[0]?.send(Uint8Array.from(frame));
    }
    for (let i = 0; i < 300; i++) paths[0]?.send(Uint8Array.of(1, 1));
    await w.clock.advance(10);
    expect(w.counters).toMatchObject({ 'bad.down': 4, 'ignored.sealed': 252, 'shed.down': 49 });
  });
});

describe('readings', () => {
  test('come by name; many in a second come together, the newest of each', async () => {
    const { board, clock, gateway, view } = setUp();
    const seen: unknown[] = [];
    gateway.on('readings', (_, values) => seen.push(values));
    board.readings.put({ temperature: 1, unknown: 5 });
    board.open();
    await clock.advance(10);
    for (let i = 0; i < 50; i++) {
      board.readings.put({ temperature: 20 + i });
      await clock.advance(10);
    }
    await clock.advance(1_000);
    expect(seen).toEqual([{ temperature: 1 }, { temperature: 69 }]);
    expect(view()?.readings.temperature?.value).toBe(69);
  });

  test('new ones are told together once nothing was added for a while', async () => {
    const { board, clock, catalogs, view, states } = setUp();
    board.open();
    await clock.advance(10);
    for (const name of ['humidity', 'pressure', 'light']) {
      board.readings.declare([{ name, unit: '%' }]);
      board.readings.put({ [name]: 5 });
      await clock.advance(4_000);
    }
    expect(catalogs).toHaveLength(1);
    await clock.advance(2_000);
    expect(catalogs).toHaveLength(2);
    expect(Object.keys(view()?.readings ?? {})).toEqual(['humidity', 'pressure', 'light']);
    expect(states).toEqual(['online']);
  });

  test('a board that is opened while new ones come greets once, with all of them', async () => {
    const { board, clock, catalogs, view } = setUp();
    board.readings.declare([{ name: 'humidity', unit: '%' }]);
    board.readings.put({ humidity: 4 });
    board.open();
    await clock.advance(2_000);
    expect(view()?.presence.state).toBe('unreachable');
    board.readings.declare([{ name: 'pressure', unit: 'hPa' }]);
    await clock.advance(10_000);
    expect(catalogs).toHaveLength(1);
    expect(view()?.catalog?.readings).toHaveLength(3);
    expect(view()?.readings.humidity?.value).toBe(4);
  });

  test('a board that adds ever more is told after half a minute, and has 64 at most', async () => {
    const { board, clock, catalogs, counters, view } = setUp();
    board.open();
    await clock.advance(10);
    const told: number[] = [];
    for (let i = 0; i < 100; i++) {
      board.readings.declare([{ name: `r${i}`, unit: '' }]);
      await clock.advance(1_000);
      told.push(catalogs.length);
    }
    expect([told[28], told[31], told[58], told[62]]).toEqual([1, 2, 2, 3]);
    await clock.advance(30_000);
    expect(view()?.catalog?.readings).toHaveLength(64);
    expect(counters['shed.reading']).toBe(37);
  });

  test('taken before the greeting keep their time', async () => {
    const { board, clock, view } = setUp();
    const at = clock.wall();
    board.readings.put({ temperature: 4 });
    await clock.advance(60_000);
    board.open();
    await clock.advance(10);
    expect(view()?.readings.temperature).toEqual({ value: 4, at });
  });
});

describe('events', () => {
  test('are kept while there is no path and arrive once, in order, at their time', async () => {
    const { board, clock, journal, events } = setUp();
    const at = clock.wall();
    board.event('press', { n: 1 });
    board.event('press', { n: 2 });
    await clock.advance(10_000);
    board.open();
    await clock.advance(10);
    board.close('lost');
    board.open();
    await clock.advance(120_000);
    expect(events()).toEqual([
      { kind: 'press', detail: { n: 1 } },
      { kind: 'press', detail: { n: 2 } },
    ]);
    expect(journal.pending(1)[0]?.item.at).toBe(at);
  });

  test('are said again until the journal takes them', async () => {
    const journal = memoryJournal();
    const { board, clock, events } = setUp({}, { journal });
    const keep = journal.keep.bind(journal);
    journal.keep = () => Promise.reject(new JournalUnavailable('full'));
    board.open();
    await clock.advance(10);
    board.event('press', null);
    await clock.advance(20_000);
    expect(events()).toEqual([]);
    journal.keep = keep;
    await clock.advance(60_000);
    expect(events()).toHaveLength(1);
  });

  test('of two runs of the gateway are told apart, although both count from one', async () => {
    const first = setUp();
    first.board.open();
    first.board.event('press', { run: 1 });
    await first.clock.advance(100);
    const { journal, clock } = first;
    const second = setUp({}, { journal, clock });
    second.board.open();
    second.board.event('press', { run: 2 });
    await clock.advance(100);
    expect(second.events().map((body) => body.detail)).toEqual([{ run: 1 }, { run: 2 }]);
  });

  test('are bounded: the oldest go, and are counted', async () => {
    const { board, clock, events, counters } = setUp();
    for (let n = 0; n < 70; n++) board.event('press', { n });
    expect(counters['shed.events']).toBe(6);
    board.open();
    await clock.advance(100);
    expect(events()[0]?.detail).toEqual({ n: 6 });
    expect(events()).toHaveLength(64);
  });
});

describe('calls', () => {
  test('run and are answered; errors have their code', async () => {
    const { board, clock, call, runs } = setUp();
    board.open();
    await clock.advance(10);
    const first = call('status', { n: 4 });
    await clock.advance(10);
    expect(await first).toEqual({ kind: 'ok', value: { runs: 1 }, blobs: [] });
    expect(runs).toEqual([{ n: 4 }]);
    const failed = call('fail');
    await clock.advance(10);
    expect(await failed).toEqual({
      kind: 'failed',
      code: 'out_of_reach',
      message: 'it is too far away',
    });
  });

  test('one that ran is answered from memory after the path was lost, and never run again', async () => {
    let finish: (value: string) => void = () => {};
    let begun = 0;
    const { board, clock, call } = setUp({
      verbs: [
        {
          name: 'once',
          signature: '',
          description: 'must not run twice',
          run: () => {
            begun += 1;
            return new Promise<string>((resolve) => {
              finish = resolve;
            });
          },
        },
      ],
    });
    board.open();
    await clock.advance(10);
    const outcome = call('once');
    await clock.advance(10);
    board.close('lost');
    await clock.advance(1_000);
    finish('done');
    await clock.advance(1_000);
    board.open();
    await clock.advance(10);
    expect(await outcome).toMatchObject({ kind: 'ok', value: 'done' });
    expect(begun).toBe(1);
  });

  test('four run at once; the gateway holds the others back', async () => {
    const ends: (() => void)[] = [];
    const { board, clock, call } = setUp({
      verbs: [
        {
          name: 'wait',
          signature: '',
          description: 'waits',
          run: () => new Promise<null>((resolve) => ends.push(() => resolve(null))),
        },
      ],
    });
    board.open();
    await clock.advance(10);
    const all = Array.from({ length: 6 }, () => call('wait'));
    await clock.advance(10);
    expect(ends).toHaveLength(4);
    for (let i = 0; i < 6; i++) {
      ends[i]?.();
      await clock.advance(10);
    }
    expect((await Promise.all(all)).every((each) => each.kind === 'ok')).toBe(true);
  });
});
