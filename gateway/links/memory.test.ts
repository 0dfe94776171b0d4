import { expect, test } from 'vitest';
import { recorder } from './broker-fixture.js';
import { LinkClosed } from './link.js';
import { manualClock } from './manual-clock.js';
import { type Between, memoryBus } from './memory.js';

const ID = '00000000000000a1';

function setUp(between?: Between) {
  const clock = manualClock();
  const heard = recorder();
  const bus = memoryBus({ clock, listener: heard, ...(between ? { between } : {}) });
  const end = bus.connect(ID);
  const got: number[] = [];
  const reasons: string[] = [];
  end.onFrame((frame) => got.push(frame[0] ?? -1));
  end.onClose((reason) => reasons.push(reason));
  return { clock, heard, bus, end, got, reasons };
}

test('frames arrive in order, and never within the call that sent them', () => {
  const { clock, heard, end, got } = setUp();
  const frame = new Uint8Array([1]);
  end.send(frame);
  frame[0] = 99;
  end.send(new Uint8Array([2]));
  expect(heard.log).toEqual([]);
  clock.settle();
  expect(heard.log).toEqual([`opened ${ID}`, `received ${ID} 01`, `received ${ID} 02`]);
  heard.paths[0]?.send(new Uint8Array([3]));
  expect(got).toEqual([]);
  clock.settle();
  expect(got).toEqual([3]);
});

test('faults decide what becomes of a frame', () => {
  const between: Between = (frame) => {
    if (frame[0] === 0) return [];
    if (frame[0] === 1) return [{ frame, delayMs: 50 }];
    return [{ frame }, { frame, delayMs: 10 }];
  };
  const { clock, heard, end } = setUp(between);
  for (const byte of [0, 1, 2]) end.send(new Uint8Array([byte]));
  clock.settle();
  expect(heard.log).toEqual([`opened ${ID}`, `received ${ID} 02`]);
  clock.pass(10);
  expect(heard.log.at(-1)).toBe(`received ${ID} 02`);
  clock.pass(40);
  expect(heard.log).toHaveLength(4);
  expect(heard.log.at(-1)).toBe(`received ${ID} 01`);
});

test('either side can close; what is under way is lost, and sending says so', () => {
  const { clock, heard, bus, end, got, reasons } = setUp();
  clock.settle();
  const [path] = heard.paths;
  path?.send(new Uint8Array([1]));
  path?.close('enough');
  clock.settle();
  expect(got).toEqual([]);
  expect(reasons).toEqual(['enough']);
  expect(heard.log).toEqual([`opened ${ID}`, `closed ${ID} enough`]);
  expect(() => path?.send(new Uint8Array([1]))).toThrow(LinkClosed);
  end.send(new Uint8Array([1]));
  const again = bus.connect(ID);
  clock.settle();
  again.close();
  clock.settle();
  expect(heard.log.slice(2)).toEqual([
    `opened ${ID}`,
    `closed ${ID} the board closed the connection`,
  ]);
});

test('a second connection of one id takes the place of the first', async () => {
  const { clock, heard, bus, reasons } = setUp();
  clock.settle();
  bus.connect(ID);
  clock.settle();
  expect(reasons).toEqual(['the board connected again']);
  expect(heard.log).toEqual([
    `opened ${ID}`,
    `closed ${ID} the board connected again`,
    `opened ${ID}`,
  ]);
  await bus.close();
  clock.settle();
  expect(heard.log.at(-1)).toBe(`closed ${ID} the link is closing`);
  expect(bus.health()).toMatchObject({ state: 'down', paths: 0 });
  expect(() => bus.connect(ID)).toThrow(LinkClosed);
});

test('what is too large, or breaks the listener, is counted', () => {
  const clock = manualClock();
  const broken = () => {
    throw new Error('no');
  };
  const listener = { opened: () => {}, received: broken, closed: broken };
  const bus = memoryBus({ clock, listener });
  const end = bus.connect(ID);
  end.send(new Uint8Array(200_000));
  end.send(new Uint8Array(1));
  clock.settle();
  expect(bus.health().counters).toEqual({ too_large: 1, listener_error: 1 });
  expect(() => bus.connect('nobody')).toThrow(RangeError);
});
