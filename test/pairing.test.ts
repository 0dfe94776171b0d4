import { describe, expect, it } from 'vitest';
import { seededRandom } from '../device-sim/testing/virtual-clock.js';
import { PairingError } from '../gateway/core/pairing-error.js';
import { decodeMessage, encodeMessage } from '../protocol/codec.js';
import { plainFrame, SEAL } from '../protocol/frame.js';
import { boardIdBytes, toHex } from '../protocol/identity.js';
import {
  codeOf,
  type GatewayLife,
  KITCHEN,
  type PairingWorld,
  pairingWorld,
} from './support/pairing-world.js';

async function pair(
  world: PairingWorld,
  life: GatewayLife,
  board: ReturnType<PairingWorld['board']>,
) {
  const wish = { code: codeOf(board), address: KITCHEN, name: 'Kitchen' };
  return world.end(life.pairer.pair(wish));
}

async function faultOf(work: Promise<unknown>): Promise<PairingError> {
  const error = await work.then(
    () => undefined,
    (rejected: unknown) => rejected,
  );
  if (error instanceof PairingError) return error;
  throw error ?? new Error('it did not fail');
}

async function paired() {
  const world = pairingWorld();
  const life = world.start();
  const board = world.board();
  board.start();
  const code = codeOf(board);
  const entry = await pair(world, life, board);
  return { world, life, board, code, entry };
}

const online = (life: GatewayLife): boolean =>
  life.gateway.board(KITCHEN)?.presence.state === 'online';

const status = (life: GatewayLife) =>
  life.gateway.call({ boardId: KITCHEN, verb: 'status', args: {}, ttlMs: 5_000 });

describe('pairing by a set-up code', () => {
  it('cuts a name of many bytes for the board, and keeps it whole here', async () => {
    const world = pairingWorld();
    const life = world.start();
    const board = world.board();
    board.start();
    const name = 'ü'.repeat(64);
    const wish = { code: codeOf(board), address: KITCHEN, name };
    expect(await world.end(life.pairer.pair(wish))).toMatchObject({ name, online: true });
  });

  it('gives the board a key that the gateway keeps sealed, and it answers calls under it', async () => {
    const { world, life, board, entry } = await paired();
    expect(entry).toMatchObject({
      boardId: KITCHEN,
      name: 'Kitchen',
      pairedVia: 'memory',
      online: true,
    });
    expect(board.pairing).toBe('paired');
    expect(await world.end(status(life))).toMatchObject({ kind: 'ok' });
    const key = toHex(life.book.key(KITCHEN) ?? new Uint8Array());
    expect(key).toHaveLength(32);
    expect(
      JSON.stringify([world.journal.list('key'), world.journal.list('pairing')]),
    ).not.toContain(key);
    expect(world.journal.list('pairing')).toEqual([]);
    // Nothing but greetings and errors crossed the air in plain (amendment 1).
    const plain = world.air
      .filter(({ frame }) => frame[0] === SEAL.plain)
      .map(({ frame }) => decodeMessage(frame.subarray(1)).type);
    expect(new Set(plain)).toEqual(new Set(['hello', 'welcome']));
  });

  it('says its steps in their order', async () => {
    const world = pairingWorld();
    const life = world.start();
    const board = world.board();
    board.start();
    const steps: string[] = [];
    const wish = { code: codeOf(board), address: KITCHEN };
    await world.end(life.pairer.pair(wish, (step) => steps.push(step)));
    expect(steps).toEqual(['looking', 'connecting', 'provisioning', 'storing', 'greeting']);
    expect(life.book.find(KITCHEN).name).toBe(`board-${KITCHEN.slice(0, 8)}`);
  });

  it('goes on while frames are lost, and when they come twice', async () => {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const world = pairingWorld();
      const life = world.start();
      const board = world.board();
      board.start();
      const random = seededRandom(seed);
      world.state.between = (frame) => {
        const fate = random();
        if (fate < 0.25) return [];
        return fate < 0.5 ? [{ frame }, { frame }] : [{ frame }];
      };
      // On such a link a try may end; the same again goes on.
      for (let tries = 0; life.book.list().length === 0; tries++) {
        expect(tries).toBeLessThan(4);
        await pair(world, life, board).catch((error: unknown) => {
          expect(error).toBeInstanceOf(PairingError);
        });
      }
      world.state.between = undefined;
      expect(await world.until(() => online(life))).toBe(true);
      expect(board.pairing).toBe('paired');
      expect(await world.end(status(life))).toMatchObject({ kind: 'ok' });
    }
  });

  it('is refused without the code: nothing stays behind, and twenty tries change nothing', async () => {
    const world = pairingWorld();
    const life = world.start();
    const board = world.board();
    board.start();
    const code = codeOf(board);
    const wrong = { ...code, secret: code.secret.map((byte) => byte ^ 1) };
    const faults: (string | number)[] = [];
    for (let i = 0; i < 20; i++) {
      const fault = await faultOf(world.end(life.pairer.pair({ code: wrong, address: KITCHEN })));
      faults.push(fault.code);
      if (fault.seconds !== undefined) await world.clock.advance(fault.seconds * 1_000);
    }
    expect(new Set(faults)).toEqual(new Set(['wrong_code', 'locked_out']));
    expect(faults.slice(0, 3)).toEqual(['wrong_code', 'wrong_code', 'locked_out']);
    expect(board.pairing).toBe('unpaired');
    expect(world.journal.list('pairing')).toEqual([]);
    expect(life.book.list()).toEqual([]);
    board.pressButton();
    await pair(world, life, board);
    expect(board.pairing).toBe('paired');
  });

  it('is refused by a board that is paired, which goes on as it was', async () => {
    const { world, life, board, code } = await paired();
    const before = life.book.key(KITCHEN);
    const fault = await faultOf(world.end(life.pairer.pair({ code, address: KITCHEN })));
    expect(fault.code).toBe('already_paired');
    expect(world.journal.list('pairing')).toEqual([]);
    expect(life.book.key(KITCHEN)).toEqual(before);
    expect(await world.until(() => board.online)).toBe(true);
    expect(await world.end(status(life))).toMatchObject({ kind: 'ok' });
  });

  it('goes to no other board than the code’s', async () => {
    const world = pairingWorld();
    const life = world.start();
    const board = world.board();
    const other = world.board({ boardId: '00112233445566bb' });
    other.start();
    const wish = { code: codeOf(board), address: '00112233445566bb' };
    expect((await faultOf(world.end(life.pairer.pair(wish)))).code).toBe('wrong_board');
    expect(other.pairing).toBe('unpaired');
    expect(world.journal.list('pairing')).toEqual([]);
  });

  it('ends in time when nothing is heard, when the board falls silent, and when it is lost', async () => {
    const world = pairingWorld();
    const life = world.start();
    const board = world.board();
    const code = codeOf(board);
    expect((await faultOf(world.end(life.pairer.pair({ code })))).code).toBe('not_found');
    board.start();
    world.state.between = (frame, way) => (way === 'up' ? [] : [{ frame }]);
    const silent = await faultOf(world.end(life.pairer.pair({ code, address: KITCHEN })));
    expect(silent.code).toBe('silent');
    let cuts = 1;
    world.state.between = (frame, way) => {
      if (way === 'down' && cuts-- > 0) world.clock.after(0, () => board.reboot());
      return [{ frame }];
    };
    const lost = await faultOf(world.end(life.pairer.pair({ code, address: KITCHEN })));
    expect(lost.code).toBe('lost');
    expect(world.journal.list('pairing')).toEqual([]);
  });

  it('finds the board by its id among what is heard, and says so where it is paired', async () => {
    const world = pairingWorld();
    const life = world.start();
    const board = world.board();
    board.start();
    const heard = (address: string, more: object = {}) => ({
      profile: 'mote',
      address,
      rssi: -50,
      name: 'Lamp\u001b[2J',
      idPrefix: KITCHEN.slice(0, 8),
      paired: false,
      needs: 'code' as const,
      ...more,
    });
    world.state.sightings = [
      heard('x', { idPrefix: 'ffffffff' }),
      heard('y', { needs: 'none' }),
      heard(KITCHEN, { paired: true }),
    ];
    const code = codeOf(board);
    expect((await faultOf(world.end(life.pairer.pair({ code })))).code).toBe('already_paired');
    world.state.sightings.push(heard(KITCHEN));
    const entry = await world.end(life.pairer.pair({ code }));
    // A name of the air that is none is not taken.
    expect(entry.name).toBe(`board-${KITCHEN.slice(0, 8)}`);
  });

  it('of one board happens once at a time', async () => {
    const world = pairingWorld();
    const life = world.start();
    const board = world.board();
    board.start();
    const wish = { code: codeOf(board), address: KITCHEN };
    const first = life.pairer.pair(wish);
    expect((await faultOf(life.pairer.pair(wish))).code).toBe('busy');
    expect((await world.end(first)).online).toBe(true);
  });

  it('keeps nothing that can’t be durable, and the same again succeeds', async () => {
    for (const room of ['pairing', 'key', 'board']) {
      const world = pairingWorld();
      const { put } = world.journal;
      let full = true;
      world.journal.put = async (to, key, value) => {
        if (full && to === room && value !== undefined) throw new Error('the disk is full');
        return put(to, key, value);
      };
      const life = world.start();
      const board = world.board();
      board.start();
      const code = codeOf(board);
      const wish = { code, address: KITCHEN, name: 'Kitchen' };
      expect((await faultOf(world.end(life.pairer.pair(wish)))).code).toBe('not_kept');
      if (room === 'pairing') expect(board.pairing).toBe('unpaired');
      full = false;
      if (board.pairing !== 'paired') await world.end(life.pairer.pair(wish));
      expect(await world.until(() => board.pairing === 'paired')).toBe(true);
      expect(await world.until(() => world.journal.list('pairing').length === 0)).toBe(true);
      expect(life.book.list()).toHaveLength(1);
    }
  });
});

describe('after a factory reset', () => {
  it('the board is given a new key, and keeps its entry and name', async () => {
    const { world, life, board } = await paired();
    const before = life.book.key(KITCHEN);
    board.factoryReset();
    const wish = { code: codeOf(board), address: KITCHEN };
    const entry = await world.end(life.pairer.pair(wish));
    expect(entry).toMatchObject({ name: 'Kitchen', online: true });
    expect(life.book.key(KITCHEN)).not.toEqual(before);
    expect(life.book.list()).toHaveLength(1);
    expect(await world.end(status(life))).toMatchObject({ kind: 'ok' });
  });

  it('the key that was stays until the board has another', async () => {
    const { world, life, board, code } = await paired();
    const before = life.book.key(KITCHEN);
    board.factoryReset();
    const wrong = { ...code, secret: code.secret.map((byte) => byte ^ 1) };
    await faultOf(world.end(life.pairer.pair({ code: wrong, address: KITCHEN })));
    expect(life.book.key(KITCHEN)).toEqual(before);
  });
});

describe('an attacker on the radio', () => {
  it('gets nothing by playing an earlier pairing again to the board', async () => {
    const { world, life, board } = await paired();
    const down = world.air
      .filter(({ direction }) => direction === 'down')
      .map(({ frame }) => frame);
    life.kill();
    board.factoryReset();
    // The board greets; somebody answers with what the gateway said the last time.
    let path: { send(frame: Uint8Array): void } | undefined;
    world.listen({
      opened: (opened) => {
        path = opened;
      },
      received: () => undefined,
      closed: () => undefined,
    });
    board.reboot();
    expect(await world.until(() => path !== undefined)).toBe(true);
    for (const frame of down) path?.send(frame);
    await world.clock.advance(200);
    expect(board.pairing).toBe('unpaired');
    expect(board.online).toBe(false);
    expect(board.session?.counters).toMatchObject({ wrong_code: 1 });
  });

  it('gets nothing from the gateway by playing what the board said, or by speaking plain', async () => {
    const { world, life, board } = await paired();
    const up = world.air.filter(({ direction }) => direction === 'up').map(({ frame }) => frame);
    await world.end(board.stop());
    const state = () => life.gateway.board(KITCHEN)?.presence.state;
    expect(await world.until(() => state() === 'unreachable')).toBe(true);
    const impostor = world.bus.connect(KITCHEN);
    const answers: Uint8Array[] = [];
    impostor.onFrame((frame) => answers.push(frame));
    for (const frame of up) impostor.send(frame);
    const boardId = boardIdBytes(KITCHEN);
    impostor.send(plainFrame({ type: 'provisioned', boardId }));
    impostor.send(plainFrame({ type: 'event', bootId: 0, seq: 1, kind: 'x', detail: null }));
    impostor.send(
      Uint8Array.of(
        SEAL.setup,
        0,
        1,
        ...encodeMessage({ type: 'provisioned', boardId }),
        ...new Uint8Array(8),
      ),
    );
    await world.until(() => false, 1_000);
    expect(state()).toBe('unreachable');
    expect(world.journal.pending(10).filter(({ item }) => item.kind === 'event')).toEqual([]);
    expect(answers.every((frame) => frame[0] === SEAL.plain)).toBe(true);
  });

  it('can’t make a paired board take another key, nor a board without one run a call', async () => {
    const { world, life, board } = await paired();
    const key = life.book.key(KITCHEN);
    const boardId = boardIdBytes(KITCHEN);
    const frames = [
      plainFrame({ type: 'provision', boardId, key: new Uint8Array(16), name: 'x' }),
      plainFrame({ type: 'unpair', boardId }),
      Uint8Array.of(SEAL.setup, 0, 9, ...new Uint8Array(40)),
    ];
    world.state.between = (frame, direction) =>
      direction === 'down' ? [...frames.map((each) => ({ frame: each })), { frame }] : [{ frame }];
    for (let i = 0; i < 3; i++) expect(await world.end(status(life))).toMatchObject({ kind: 'ok' });
    expect(board.pairing).toBe('paired');
    expect(life.book.key(KITCHEN)).toEqual(key);
  });
});

describe('letting a board go', () => {
  it('makes it forget its key, over its sealed link, and it can be paired again', async () => {
    const { world, life, board } = await paired();
    await world.end(life.gateway.unpair(KITCHEN));
    await world.end(life.book.remove(KITCHEN));
    expect(board.pairing).toBe('unpaired');
    expect(life.gateway.board(KITCHEN)).toBeUndefined();
    await pair(world, life, board);
    expect(board.pairing).toBe('paired');
    expect(await world.end(status(life))).toMatchObject({ kind: 'ok' });
  });

  it('is refused while it is away, and said to be open when its answer is lost', async () => {
    const { world, life, board } = await paired();
    world.state.between = (frame, direction) => (direction === 'up' ? [] : [{ frame }]);
    await expect(world.end(life.gateway.unpair(KITCHEN))).rejects.toMatchObject({
      code: 'unconfirmed',
    });
    expect(board.pairing).toBe('unpaired');
    world.state.between = undefined;
    await world.end(board.stop());
    await expect(world.end(life.gateway.unpair(KITCHEN))).rejects.toMatchObject({
      code: 'offline',
    });
    expect(life.book.find(KITCHEN).name).toBe('Kitchen');
  });

  it('is not for a board whose key was given to it', async () => {
    const world = pairingWorld();
    const life = world.start();
    const { key } = await life.book.add('given', { boardId: KITCHEN });
    const bytes = new Uint8Array(Buffer.from(key, 'base64url'));
    const board = world.board({ key: bytes, seal: true });
    board.start();
    expect(await world.until(() => life.gateway.board(KITCHEN)?.presence.state === 'online')).toBe(
      true,
    );
    await expect(world.end(life.gateway.unpair(KITCHEN))).rejects.toMatchObject({
      code: 'not_by_code',
    });
    expect(await world.end(status(life))).toMatchObject({ kind: 'ok' });
  });
});
