/** Boards on a radio: sealed from end to end, and what one without the key can do there. */
import { type AddressInfo, createServer } from 'node:net';
import { Aedes } from 'aedes';
import { expect, test, vi } from 'vitest';
import type { SimBoard } from '../device-sim/board.js';
import { mqttTransport } from '../device-sim/transports/mqtt.js';
import type { BoardSpec } from '../device-sim/types.js';
import type { Outcome } from '../gateway/core/types.js';
import type { BoardEnd } from '../gateway/links/memory.js';
import { mqttLink } from '../gateway/links/mqtt.js';
import { nodeClock } from '../gateway/node/clock.js';
import { decodeMessage as decode } from '../protocol/codec.js';
import { plainFrame, readFrame, SEAL } from '../protocol/frame.js';
import { boardIdBytes } from '../protocol/identity.js';
import type { Message, MessageOf } from '../protocol/messages.js';
import {
  type Heard,
  type SealedWorld,
  sealedWorld,
  sealedWorldOn,
} from './support/sealed-world.js';

async function started(world: SealedWorld, n = 1, model: 'env' | 'camera' | 'eink' = 'env') {
  const board = world.board(n, model);
  board.start();
  await world.clock.advance(100);
  return board;
}

async function call(world: SealedWorld, board: SimBoard, verb = 'status'): Promise<Outcome> {
  let outcome: Outcome | undefined;
  void world.gateway.call({ boardId: board.boardId, verb, args: {}, ttlMs: 5_000 }).then((came) => {
    outcome = came;
  });
  // No time passes on the radio; what a hash takes on a busy machine does.
  const end = performance.now() + 10_000;
  while (!outcome && performance.now() < end) await world.clock.advance(0);
  if (!outcome) throw new Error('no outcome came');
  return outcome;
}

type AnyWorld = Pick<SealedWorld, 'gateway'>;

const count = (world: AnyWorld, board: SimBoard, name: string): number =>
  world.gateway.guard(board.boardId)?.counters[name] ?? 0;

const sealedUp = (world: SealedWorld, board: SimBoard): Heard[] =>
  world.air.filter(
    (h) =>
      h.boardId === board.boardId && h.direction === 'up' && readFrame(h.frame).seal === SEAL.board,
  );

const presence = (world: AnyWorld, board: SimBoard): string | undefined =>
  world.gateway.board(board.boardId)?.presence.state;

/** Somebody on the air who has no key; what the gateway told him. */
function stranger(end: BoardEnd) {
  const told: Message[] = [];
  const ends: string[] = [];
  end.onFrame((frame) => {
    const { seal, body } = readFrame(frame);
    if (seal === SEAL.plain) told.push(decode(body));
  });
  end.onClose((why) => ends.push(why));
  return { told, ends, say: (message: Message) => end.send(plainFrame(message)), end };
}

test('greeting, catalog, call and result are sealed; in plain go HELLO and WELCOME alone', async () => {
  const world = sealedWorld();
  const board = await started(world);
  expect(presence(world, board)).toBe('online');
  expect(world.gateway.board(board.boardId)?.catalog?.verbs.map((v) => v.name)).toContain('status');
  expect(await call(world, board)).toMatchObject({ kind: 'ok', value: { battery: 97 } });
  expect(world.plain('up', board.boardId).map((m) => m.type)).toEqual(['hello']);
  expect(world.plain('down', board.boardId).map((m) => m.type)).toEqual(['welcome']);
  expect(sealedUp(world, board).length).toBeGreaterThan(3);
});

test('a board that has nothing to say greets once: the gateway proves itself unasked', async () => {
  const world = sealedWorld();
  const board = await started(world);
  cut(world, board);
  await world.clock.advance(10 * 60_000);
  expect(presence(world, board)).toBe('online');
  expect(world.plain('up', board.boardId).filter((m) => m.type === 'hello')).toHaveLength(2);
  expect(board.session?.gatewayTime()).toBeDefined();
});

test('a picture comes whole and can’t be seen on the way', async () => {
  const world = sealedWorld();
  const board = await started(world, 1, 'camera');
  const outcome = await call(world, board, 'snapshot');
  if (outcome.kind !== 'ok') throw new Error(outcome.kind);
  const [blob] = outcome.blobs;
  const bytes = Buffer.from((await world.blobs.read(blob?.key ?? '')) ?? []);
  expect(bytes.subarray(0, 3).toString('hex')).toBe('ffd8ff');
  expect(bytes).toHaveLength(blob?.size ?? -1);
  const part = bytes.subarray(0, 32);
  expect(world.air.some((h) => Buffer.from(h.frame).includes(part))).toBe(false);
});

test('an event is kept once, and the board hears so, though the radio says everything twice', async () => {
  const world = sealedWorld();
  world.faults.between = (frame) => [{ frame }, { frame, delayMs: 3 }];
  let say: (text: string) => void = () => undefined;
  const board = world.board(1, (host): BoardSpec => {
    say = (text) => void host.event('said', { text });
    return { name: 'Bell', platform: 'test', firmware: '1', verbs: [] };
  });
  board.start();
  await world.clock.advance(100);
  say('ding');
  await world.clock.advance(100);
  expect(board.session?.outbox.size).toBe(0);
  expect(world.journal.pending(10).map((kept) => kept.item.body)).toEqual([
    { kind: 'said', detail: { text: 'ding' } },
  ]);
});

test('each connection has keys of its own: nothing of the last one opens in the next', async () => {
  const world = sealedWorld();
  const board = await started(world);
  const before = sealedUp(world, board).map((h) => h.frame);
  cut(world, board);
  await world.clock.advance(2_000);
  expect(await call(world, board)).toMatchObject({ kind: 'ok' });
  const hellos = world.plain('up', board.boardId) as MessageOf<'hello'>[];
  const welcomes = world.plain('down', board.boardId) as MessageOf<'welcome'>[];
  for (const nonces of [hellos.map((h) => h.nonce), welcomes.map((w) => w.nonce)]) {
    expect(new Set(nonces.map(String)).size).toBe(2);
  }
  const bad = count(world, board, 'bad.bad_seal');
  inject(world, board, before);
  await call(world, board);
  expect(count(world, board, 'bad.bad_seal')).toBe(bad + before.length);
  expect(board.executions).toBe(2);
});

test('an earlier session that is played back on another path gets no further than WELCOME', async () => {
  const world = sealedWorld();
  const board = await started(world);
  await call(world, board);
  const recorded = world.air.filter((h) => h.direction === 'up').map((h) => h.frame);
  const thief = stranger(world.otherRadio().connect(board.boardId));
  for (const frame of recorded) thief.end.send(frame);
  await world.clock.advance(100);
  expect(thief.told.map((m) => m.type)).toEqual(['welcome', 'error']);
  expect(thief.told[1]).toMatchObject({ code: 'bad_seal' });
  expect(world.gateway.board(board.boardId)?.via).toBe('memory');
  expect(await call(world, board)).toMatchObject({ kind: 'ok' });
  expect(board.executions).toBe(2);
  expect(world.plain('up', board.boardId).filter((m) => m.type === 'hello')).toHaveLength(2);
});

test('a recorded HELLO on the board’s own path does not end the session that stands', async () => {
  const world = sealedWorld();
  const board = await started(world);
  const hello = world.air.find((h) => h.direction === 'up')?.frame ?? new Uint8Array();
  for (let i = 0; i < 4; i++) {
    inject(world, board, [hello]);
    for (let n = 0; n < 4; n++) expect(await call(world, board)).toMatchObject({ kind: 'ok' });
    await world.clock.advance(10_000);
  }
  expect(board.executions).toBe(16);
  expect(world.log.filter((line) => line.what === 'a path ended')).toEqual([]);
  expect(count(world, board, 'bad.bad_seal')).toBe(0);
});

test('nobody can go back to plain: neither with messages nor with a HELLO that can’t seal', async () => {
  const world = sealedWorld();
  const board = await started(world);
  const kept = () => world.journal.pending(10).length;
  inject(world, board, [
    plainFrame({ type: 'event', bootId: 0, seq: 9, kind: 'forged', detail: null }),
    plainFrame({ type: 'result', callId: 1, status: 0, value: 'forged' }),
    plainFrame(plainHello(board, 99)),
    plainFrame({ type: 'event', bootId: 0, seq: 10, kind: 'forged', detail: null }),
  ]);
  expect(await call(world, board)).toMatchObject({ kind: 'ok', value: { battery: 97 } });
  expect(kept()).toBe(0);
  expect(count(world, board, 'ignored.plain')).toBe(3);
  expect(count(world, board, 'refused.sealing_required')).toBe(1);
  // And on a path of his own.
  const thief = stranger(world.otherRadio().connect(board.boardId));
  thief.say(plainHello(board, 99));
  thief.say({ type: 'event', bootId: 0, seq: 11, kind: 'forged', detail: null });
  await world.clock.advance(100);
  expect(thief.told).toMatchObject([
    { type: 'error', code: 'sealing_required' },
    { type: 'error', code: 'hello_first' },
  ]);
  expect(kept()).toBe(0);
  expect(await call(world, board)).toMatchObject({ kind: 'ok' });
});

test('a sealed session is not given up for a plain one on a link that others can’t reach either', async () => {
  const world = sealedWorld({ mustSeal: false });
  const board = await started(world);
  inject(world, board, [plainFrame(plainHello(board, 99))]);
  expect(await call(world, board)).toMatchObject({ kind: 'ok' });
  expect(count(world, board, 'refused.sealing_required')).toBe(1);
});

test('ten bad seals end that connection; the neighbour keeps its own, and the board comes back', async () => {
  const world = sealedWorld();
  const board = await started(world, 1);
  const neighbour = await started(world, 2);
  const garbage = Array.from({ length: 10 }, (_, i) =>
    Uint8Array.of(SEAL.board, 0, 50 + i, ...new Uint8Array(24).fill(i)),
  );
  inject(world, board, garbage.slice(0, 9));
  await call(world, board);
  const ended = () => world.log.filter((line) => line.what === 'a path ended');
  expect(ended()).toEqual([]);
  inject(world, board, garbage.slice(9));
  void board.session?.sendReadings();
  await world.clock.advance(50);
  expect(ended().map((line) => line.about.board)).toEqual([board.boardId]);
  await world.clock.advance(2_000);
  expect(await call(world, board)).toMatchObject({ kind: 'ok' });
  expect(await call(world, neighbour)).toMatchObject({ kind: 'ok' });
  const hellos = (of: SimBoard) =>
    world.plain('up', of.boardId).filter((m) => m.type === 'hello').length;
  expect([hellos(board), hellos(neighbour)]).toEqual([2, 1]);
});

test('a board with another key never counts as there, and both sides are told why', async () => {
  const world = sealedWorld();
  const board = world.board(1, 'env', { key: new Uint8Array(16).fill(99) });
  board.start();
  await world.clock.advance(60_000);
  expect(presence(world, board)).toBe('unreachable');
  expect(world.gateway.board(board.boardId)?.catalog).toBeUndefined();
  expect(await call(world, board)).toMatchObject({ kind: 'unreachable' });
  const errors = world.plain('down', board.boardId).filter((m) => m.type === 'error');
  expect(errors[0]).toMatchObject({
    code: 'bad_seal',
    message: expect.stringContaining('not the key'),
  });
  const said = world.log.filter((line) => line.about.board === board.boardId);
  expect(said[0]).toMatchObject({
    what: 'a board’s seal does not verify',
    about: { why: expect.stringContaining('not the key') },
  });
  // Once in a while, not for each frame.
  expect(said.length).toBeLessThan(8);
  expect(JSON.stringify(world.log)).not.toContain('63'.repeat(8));
});

test('a board that no key is known for is told that it must seal', async () => {
  const world = sealedWorld();
  const board = world.board(1, 'env');
  world.keys.delete(board.boardId);
  board.start();
  await world.clock.advance(5_000);
  expect(world.plain('down', board.boardId)[0]).toMatchObject({ code: 'sealing_required' });
  expect(presence(world, board)).toBe('unreachable');
});

test('a greeting whose path ended meanwhile brings no board online', async () => {
  const world = sealedWorld({ mustSeal: false });
  const board = await started(world, 1);
  await board.stop();
  await world.clock.advance(10);
  world.keys.delete(board.boardId);
  let answer: () => void = () => undefined;
  world.faults.keyOf = () =>
    new Promise((resolve) => {
      answer = () => resolve(undefined);
    });
  board.start();
  await world.clock.advance(10);
  await board.stop();
  await world.clock.advance(10);
  answer();
  await world.clock.advance(10);
  expect(presence(world, board)).toBe('unreachable');
});

test.skipIf(process.platform === 'win32')(
  'over somebody’s broker a board that seals is called, and one that does not is told to',
  async () => {
    const far = await Aedes.createBroker();
    const server = createServer((socket) => far.handle(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const seen: Buffer[] = [];
    far.on('publish', ({ topic, payload }) => {
      if (topic.endsWith('/up')) seen.push(Buffer.from(payload as Buffer));
    });
    const world = sealedWorldOn(nodeClock());
    // The address that is not loopback by name: such a broker is nobody's but the network's.
    const link = mqttLink({
      url: `mqtt://0.0.0.0:${port}`,
      clock: nodeClock(),
      listener: world.gateway,
    });
    await link.ready;
    const overMqtt = (n: number, seal: boolean): SimBoard => {
      const key = new Uint8Array(16).fill(n);
      const url = `mqtt://127.0.0.1:${port}`;
      const transport = mqttTransport({ url, key, clock: nodeClock(), random: Math.random });
      const board = world.board(n, 'camera', { key, seal, transport, clock: nodeClock() });
      board.start();
      return board;
    };
    const [sealed, open] = [overMqtt(1, true), overMqtt(2, false)];
    try {
      const is = (state: string) => () => presence(world, sealed) === state;
      await vi.waitUntil(is('online'), { timeout: 10_000 });
      const outcome = await world.gateway.call({
        boardId: sealed.boardId,
        verb: 'snapshot',
        args: {},
        ttlMs: 10_000,
      });
      expect(outcome).toMatchObject({ kind: 'ok', blobs: [{ mediaType: 'image/jpeg' }] });
      const plain = seen.filter((frame) => frame[0] === SEAL.plain);
      expect(plain.map((frame) => decode(readFrame(frame).body).type)).toEqual(
        plain.map(() => 'hello'),
      );
      await vi.waitUntil(() => count(world, open, 'refused.sealing_required') > 0, {
        timeout: 10_000,
      });
      expect(presence(world, open)).toBe('unreachable');
      expect(open.executions).toBe(0);
    } finally {
      await Promise.all([sealed.stop(), open.stop()]);
      await link.close();
      await new Promise<void>((resolve) => far.close(() => resolve()));
      server.close();
      world.gateway.stop();
    }
  },
  30_000,
);

function plainHello(board: SimBoard, bootId: number): Message {
  return {
    type: 'hello',
    version: 1,
    boardId: boardIdBytes(board.boardId),
    bootId,
    nonce: null,
  };
}

/** The radio fails: the board must connect anew. */
function cut(world: SealedWorld, board: SimBoard): void {
  world.bus.connect(board.boardId).close();
}

/** Frames that reach the gateway on the board's own path, behind the next one of the board. */
function inject(world: SealedWorld, board: SimBoard, frames: Uint8Array[]): void {
  const before = world.faults.between;
  world.faults.between = (frame, direction, boardId) => {
    if (direction !== 'up' || boardId !== board.boardId) return [{ frame }];
    world.faults.between = before;
    return [{ frame }, ...frames.map((each) => ({ frame: each }))];
  };
}
