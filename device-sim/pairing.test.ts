import { describe, expect, it } from 'vitest';
import { SEAL } from '../protocol/frame.js';
import { boardIdBytes } from '../protocol/identity.js';
import type { Message } from '../protocol/messages.js';
import { nodeCcm } from '../protocol/node-ccm.js';
import { setupKey } from '../protocol/sealing.js';
import { parseSetupCode } from '../protocol/setup-code.js';
import type { PairingEvent } from './board.js';
import { createSimBoard, type SimBoardInput } from './create.js';
import { memoryStore } from './stores.js';
import { BOARD_ID, Peer } from './testing/peer.js';
import { sealedGateway, turns } from './testing/sealed-gateway.js';
import { seededRandom, VirtualClock } from './testing/virtual-clock.js';
import type { BoardFlash, BoardStore } from './types.js';

const KEY = Uint8Array.from({ length: 16 }, (_, i) => i + 1);
const OTHER = new Uint8Array(16).fill(99);

function unpaired(more: Partial<SimBoardInput> = {}) {
  const clock = new VirtualClock();
  const peer = new Peer();
  const store = memoryStore();
  const events: PairingEvent[] = [];
  const board = createSimBoard({
    model: 'env',
    name: 'Air',
    boardId: BOARD_ID,
    ccm: nodeCcm,
    transport: peer,
    clock,
    store,
    random: seededRandom(3),
    onPairing: (event) => events.push(event),
    readingsS: 0,
    ...more,
  });
  board.start();
  const secret = parseSetupCode(board.setupCode ?? '').secret;
  const setup = (key = setupKey(secret)) => sealedGateway(peer, { key, seal: SEAL.setup });
  return { board, peer, clock, store, events, secret, setup };
}

const provision = (key = KEY, boardId = BOARD_ID): Message => ({
  type: 'provision',
  boardId: boardIdBytes(boardId),
  key,
  name: 'Kitchen',
});

type World = ReturnType<typeof unpaired>;

async function paired(world: World) {
  const setup = await world.setup();
  await setup.say(provision());
  const own = await sealedGateway(world.peer, { key: KEY, welcome: { session: 6 } });
  await own.say({ type: 'settled', callId: 1 });
  return { setup, own };
}

const errors = (peer: Peer): string[] => peer.take('error').map((error) => error.code);

describe('a board without a key', () => {
  it('greets with a nonce, says nothing more, and runs nothing', async () => {
    const world = unpaired();
    const setup = await world.setup();
    expect(setup.hello.nonce).toHaveLength(8);
    expect(world.peer.frames).toEqual([]);
    world.peer.call(10, 0);
    await turns();
    expect(world.board.executions).toBe(0);
    expect(world.board.online).toBe(false);
    expect(world.board.pairing).toBe('unpaired');
  });

  it('takes its key under the code, says so under it, and greets anew', async () => {
    const world = unpaired();
    const setup = await world.setup();
    await setup.say(provision());
    expect(world.store.load()).toMatchObject({ key: KEY, burnt: false });
    expect(world.peer.frames).toHaveLength(2);
    expect(world.peer.take('hello')).toHaveLength(1);
    expect(await setup.heard()).toEqual([{ type: 'provisioned', boardId: boardIdBytes(BOARD_ID) }]);
    expect(world.board.pairing).toBe('provisioned');
  });

  it('can be given its key again until one has spoken under it, and not after', async () => {
    const world = unpaired();
    await (await world.setup()).say(provision(OTHER));
    const again = await world.setup();
    await again.say(provision());
    expect((await again.heard()).map((m) => m.type)).toEqual(['provisioned']);
    expect(world.store.load().key).toEqual(KEY);
    const own = await sealedGateway(world.peer, { key: KEY });
    expect(world.board.pairing).toBe('provisioned');
    await own.say({ type: 'settled', callId: 1 });
    expect(world.board.pairing).toBe('paired');
    expect(world.board.setupCode).toBeUndefined();
    expect(world.store.load().burnt).toBe(true);
    world.peer.cut();
    world.peer.connect();
    await (await world.setup()).say(provision(OTHER));
    expect(errors(world.peer)).toEqual(['already_paired']);
    expect(world.store.load().key).toEqual(KEY);
  });

  it('takes no key in plain, none for another board, and none of a frame played again', async () => {
    const world = unpaired();
    const setup = await world.setup();
    world.peer.say(provision());
    await turns();
    await setup.say(provision(KEY, '00112233445566fe'));
    expect(errors(world.peer)).toEqual(['wrong_board']);
    expect(world.board.pairing).toBe('unpaired');
    const frame = await setup.say(provision());
    world.board.factoryReset();
    await world.setup();
    world.peer.raw(frame);
    await turns();
    expect(world.board.pairing).toBe('unpaired');
  });

  it('keeps secret and key over reboots, and what it told before is told again', async () => {
    const world = unpaired();
    const code = world.board.setupCode;
    world.board.reboot();
    expect(world.board.setupCode).toBe(code);
    await paired(world);
    world.board.reboot();
    expect(world.board.pairing).toBe('paired');
    const own = await sealedGateway(world.peer, { key: KEY });
    expect((await own.heard()).map((m) => m.type)).toContain('beat');
    expect(world.events.map((e) => [e.state, e.code === code])).toEqual([
      ['unpaired', true],
      ['provisioned', true],
      ['paired', false],
    ]);
  });

  it('is not paired by a frame that its flash could not remember', async () => {
    const store = memoryStore();
    let broken = false;
    const fragile: BoardStore = {
      load: () => store.load(),
      save: (flash: BoardFlash) => {
        if (broken) throw new Error('worn out');
        store.save(flash);
      },
    };
    const world = unpaired({ store: fragile });
    const setup = await world.setup();
    broken = true;
    await setup.say(provision());
    expect(await setup.heard()).toEqual([]);
    expect(world.board.pairing).toBe('unpaired');
    broken = false;
    await setup.say(provision());
    const own = await sealedGateway(world.peer, { key: KEY, welcome: { session: 6 } });
    broken = true;
    await own.say({ type: 'settled', callId: 1 });
    expect(world.peer.closed).toEqual(['the flash could not be written']);
    expect(world.board.pairing).toBe('provisioned');
  });
});

describe('wrong codes', () => {
  async function guess(world: World): Promise<string[]> {
    const impostor = await world.setup(OTHER);
    await impostor.say(provision());
    const said = errors(world.peer);
    await world.clock.pass(400);
    return said;
  }

  function reconnect({ peer }: World): void {
    peer.cut();
    peer.connect();
  }

  it('are answered, and each third locks out for twice as long, a minute at most', async () => {
    const world = unpaired();
    const seconds: (number | undefined)[] = [];
    for (let i = 1; i <= 27; i++) {
      const impostor = await world.setup(OTHER);
      await impostor.say(provision());
      const [error] = world.peer.take('error');
      expect(error?.code).toBe(i % 3 === 0 ? 'locked_out' : 'wrong_code');
      if (i % 3 === 0) {
        seconds.push(error?.id);
        await world.clock.pass((error?.id ?? 0) * 1000);
      }
      reconnect(world);
    }
    expect(seconds).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(world.peer.closed).toHaveLength(9);
    expect(world.board.pairing).toBe('unpaired');
  });

  it('lock the right one out too, until the time is over or the button is pressed', async () => {
    const world = unpaired();
    for (let i = 0; i < 3; i++) {
      await guess(world);
      reconnect(world);
    }
    expect(errors(world.peer)).toEqual(['locked_out']);
    expect(world.peer.take('hello')).toEqual([]);
    await world.clock.pass(400);
    expect(world.peer.closed.at(-1)).toMatch(/locked out/);
    world.peer.connect();
    world.board.pressButton();
    reconnect(world);
    await paired(world);
    expect(world.board.pairing).toBe('paired');
  });

  it('do not lock out the gateway that has the key', async () => {
    const world = unpaired();
    await (await world.setup()).say(provision());
    for (let i = 0; i < 3; i++) {
      world.peer.take('hello');
      reconnect(world);
      expect(await guess(world)).toEqual([i < 2 ? 'wrong_code' : 'locked_out']);
    }
    world.peer.take('hello');
    world.peer.connect();
    const own = await sealedGateway(world.peer, { key: KEY });
    await own.say({ type: 'settled', callId: 1 });
    expect(world.board.pairing).toBe('paired');
  });

  it('cost a paired board nothing, however many come', async () => {
    const world = unpaired();
    await paired(world);
    for (let i = 0; i < 20; i++) {
      reconnect(world);
      world.peer.raw(Uint8Array.of(2, 0, 1, ...new Uint8Array(20).fill(i)));
      await turns();
    }
    expect(new Set(errors(world.peer))).toEqual(new Set(['already_paired']));
    expect(world.peer.closed).toEqual([]);
    const own = await sealedGateway(world.peer, { key: KEY });
    expect((await own.heard()).map((m) => m.type)).toContain('beat');
  });
});

describe('a paired board', () => {
  it('forgets its key when told under it, says so, and opens its code in a new boot', async () => {
    const world = unpaired();
    const { own } = await paired(world);
    const { bootId } = world.board;
    await own.say({ type: 'unpair', boardId: boardIdBytes(BOARD_ID) });
    expect((await own.heard()).at(-1)).toEqual({
      type: 'unpaired',
      boardId: boardIdBytes(BOARD_ID),
    });
    expect(world.store.load().key).toBeUndefined();
    world.peer.take('hello');
    await world.clock.pass(400);
    expect(world.board.bootId).toBe(bootId + 1);
    expect(world.board.setupCode).toBeDefined();
    await paired(world);
    expect(world.board.pairing).toBe('paired');
  });

  it('stays paired when told in plain, under the set-up key, or for another board', async () => {
    const world = unpaired();
    const { own, setup } = await paired(world);
    const unpair: Message = { type: 'unpair', boardId: boardIdBytes(BOARD_ID) };
    world.peer.say(unpair);
    await setup.say(unpair);
    await own.say({ type: 'unpair', boardId: boardIdBytes('00112233445566fe') });
    await world.clock.pass(400);
    expect(world.board.pairing).toBe('paired');
  });

  it('runs no more calls once it has said that it is let go', async () => {
    const world = unpaired();
    const { own } = await paired(world);
    await own.say({ type: 'unpair', boardId: boardIdBytes(BOARD_ID) });
    const { bootId } = world.board;
    await own.say({ type: 'call', callId: 10, bootId, verb: 0, args: new Map(), ttlMs: 5_000 });
    expect(world.board.executions).toBe(0);
  });

  it('forgets its key in a factory reset, which a board with a given key has none of', async () => {
    const world = unpaired();
    const { own } = await paired(world);
    world.peer.take('hello');
    world.board.factoryReset();
    expect(world.board.pairing).toBe('unpaired');
    await own.say({ type: 'settled', callId: 2 });
    expect(world.board.online).toBe(false);
    const given = unpaired();
    const fixed = createSimBoard({
      model: 'env',
      name: 'Air',
      boardId: BOARD_ID,
      key: KEY,
      transport: new Peer(),
      clock: given.clock,
      store: memoryStore(),
      random: seededRandom(1),
    });
    expect(fixed.pairing).toBe('paired');
    expect(fixed.setupCode).toBeUndefined();
    expect(() => fixed.factoryReset()).toThrow(/given/);
  });
});

describe('a display', () => {
  it('shows its set-up code until it is paired, over a reboot too, and never after', async () => {
    const world = unpaired({ model: 'eink' });
    const panel = () => world.board.display?.panel();
    const texts = () =>
      panel()
        ?.shown?.picture.texts.map((t) => t.text)
        .join('') ?? '';
    await world.clock.pass(2_000);
    expect(texts()).toContain(BOARD_ID.toUpperCase());
    world.board.reboot();
    await world.clock.pass(2_000);
    expect(panel()?.shown?.cardId).toBe('setup');
    const code = world.board.setupCode ?? '';
    await paired(world);
    await world.clock.pass(2_000);
    expect(panel()?.shown?.cardId).toBe('idle');
    expect(texts()).not.toContain(code.slice(-10));
    world.board.factoryReset();
    await world.clock.pass(2_000);
    expect(panel()?.shown?.cardId).toBe('setup');
  });
});

describe('a board that is handed over', () => {
  const NEXT = new Uint8Array(16).fill(42);
  const under = (world: World, key: Uint8Array, session: number) =>
    sealedGateway(world.peer, { key, welcome: { session } });

  /** Whether the board runs what this gateway asks for. */
  async function serves(world: World, key: Uint8Array, session: number): Promise<boolean> {
    const before = world.board.executions;
    const gateway = await under(world, key, session);
    const { bootId } = world.board;
    await gateway.say({
      type: 'call',
      callId: session + 100,
      bootId,
      verb: 0,
      args: new Map(),
      ttlMs: 9_000,
    });
    return world.board.executions > before;
  }

  async function given(more: Partial<SimBoardInput> = {}) {
    const world = unpaired(more);
    const { own } = await paired(world);
    world.peer.frames = [];
    await own.say(provision(NEXT));
    return { ...world, own };
  }

  it('stores the next gateway’s key, says so, and goes on with the present one', async () => {
    const world = await given();
    expect(await world.own.heard()).toEqual([
      { type: 'provisioned', boardId: boardIdBytes(BOARD_ID) },
    ]);
    expect(world.store.load()).toMatchObject({ key: KEY, burnt: true, next: NEXT });
    world.peer.frames = [];
    await world.own.say({
      type: 'call',
      callId: 11,
      bootId: 1,
      verb: 0,
      args: new Map(),
      ttlMs: 9_000,
    });
    expect((await world.own.heard()).map(({ type }) => type)).toContain('result');
  });

  it('knows the next gateway at its first greeting, and the older one opens nothing then', async () => {
    const world = await given();
    world.peer.cut();
    world.peer.connect();
    expect(await serves(world, NEXT, 8)).toBe(true);
    expect(world.store.load()).toMatchObject({ key: NEXT, burnt: true });
    expect(world.store.load().next).toBeUndefined();
    world.peer.cut();
    world.peer.connect();
    for (let n = 0; n < 3; n++) {
      expect(await serves(world, KEY, 9 + n)).toBe(false);
      await world.clock.pass(20_000);
    }
  });

  it('comes back to the older one at its second greeting, where the next never took it', async () => {
    const world = await given();
    world.board.reboot();
    expect(await serves(world, KEY, 8)).toBe(false);
    await world.clock.pass(5_000);
    expect(await serves(world, KEY, 9)).toBe(true);
    // The next one is still let in: its gateway may only be late.
    expect(world.store.load()).toMatchObject({ key: KEY, next: NEXT });
  });

  it('keeps what it has where the key can’t be stored, or is meant for another board', async () => {
    const broken = { fail: false };
    const inner = memoryStore();
    const store: BoardStore = {
      load: () => inner.load(),
      save(flash: BoardFlash) {
        if (broken.fail) throw new Error('the flash is worn out');
        inner.save(flash);
      },
    };
    const world = unpaired({ store });
    const { own } = await paired(world);
    world.peer.frames = [];
    await own.say(provision(NEXT, 'ffffffffffffffff'));
    broken.fail = true;
    await own.say(provision(NEXT));
    expect((await own.heard()).map(({ type }) => type)).toEqual(['error', 'error']);
    expect(inner.load().next).toBeUndefined();
  });

  it('a factory reset and a new pairing forget the next key too', async () => {
    const world = await given();
    world.board.factoryReset();
    expect(world.store.load()).not.toHaveProperty('next');
  });
});
