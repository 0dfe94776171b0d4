/** What is refused when a board is to change its gateway, and that nothing is lost by it. */
import { describe, expect, it } from 'vitest';
import { HubUnreachable } from '../gateway/doors/relay/index.js';
import { handoverKeys, sealHandover } from '../protocol/handover.js';
import { nodeCcm } from '../protocol/node-ccm.js';
import { DEVICE, HandoverWorld, LAMP } from './support/handover-world.js';

/** The board is online in the kitchen, and the hall runs. */
async function twoGateways() {
  const world = new HandoverWorld();
  await world.paired('kitchen');
  const kitchen = world.lives.kitchen as NonNullable<typeof world.lives.kitchen>;
  const hall = world.start('hall');
  world.board.start();
  expect(await world.until(kitchen.online)).toBe(true);
  /** The call goes through at that gateway, and nothing of a handover is left at the other. */
  const answersAt = async (life: typeof kitchen): Promise<void> => {
    expect(await world.until(life.online)).toBe(true);
    const call = { boardId: LAMP, verb: 'status', args: {}, ttlMs: 5_000 };
    expect(await world.end(life.gateway.call(call))).toMatchObject({ kind: 'ok' });
  };
  const code = (work: Promise<unknown>): Promise<unknown> =>
    world.end(
      work.then(
        () => 'done',
        (error) => error.code ?? error.error,
      ),
    );
  return { world, kitchen, hall, answersAt, code };
}

describe('adopting', () => {
  it('says that there is no hub, and asks nobody', async () => {
    const { world, kitchen, hall, answersAt, code } = await twoGateways();
    world.hubDown = true;
    expect(await code(hall.handover.adopt(DEVICE))).toBe('no_hub');
    await answersAt(kitchen);
  });

  it('goes on by itself where the hub went away once the key was stored', async () => {
    const { world, hall, answersAt, code } = await twoGateways();
    world.answers.stored = () => {
      throw new HubUnreachable('down');
    };
    expect(await code(hall.handover.adopt(DEVICE))).toBe('unfinished');
    expect(await code(hall.handover.adopt('another'))).toMatch(/no such board/);
    await world.clock.advance(10_000);
    expect(world.holder).toBe('kitchen');
    world.answers = {};
    expect(await world.until(() => world.holder === 'hall')).toBe(true);
    await answersAt(hall);
    expect(world.journal('hall').list('handover')).toEqual([]);
  });

  it('refuses a key that was sealed to somebody else, and the board stays where it was', async () => {
    const { world, kitchen, hall, answersAt, code } = await twoGateways();
    const foreign = await sealHandover(nodeCcm, handoverKeys().publicKey, LAMP, new Uint8Array(16));
    for (const sealedKey of [foreign, new Uint8Array(0), new Uint8Array(56)]) {
      world.answers.ask = (given) => ({ ...given, sealedKey });
      expect(await code(hall.handover.adopt(DEVICE))).toBe('bad_seal');
    }
    expect(hall.book.list()).toEqual([]);
    await answersAt(kitchen);
  });

  it('changes nothing where the hub has it wrong, and the board is here', async () => {
    const { hall, kitchen, world, code } = await twoGateways();
    expect(await code(hall.handover.adopt(DEVICE))).toBe('done');
    expect(await world.until(hall.online)).toBe(true);
    // A hub that has it wrong asks the kitchen once more.
    world.holder = 'kitchen';
    world.handovers = [];
    expect(await code(hall.handover.adopt(DEVICE))).toMatch(/does not know it any more/);
    expect(await world.until(() => kitchen.book.list().length === 0)).toBe(true);
  });

  it('takes one wish at a time', async () => {
    const { hall, world, answersAt, code } = await twoGateways();
    const first = hall.handover.adopt(DEVICE);
    expect(await code(hall.handover.adopt(DEVICE))).toBe('busy');
    expect(await code(first)).toBe('done');
    expect(world.handovers).toHaveLength(1);
    await answersAt(hall);
  });

  it('forgets the board again where the hub gave it to somebody else meanwhile', async () => {
    const { world, kitchen, hall, answersAt, code } = await twoGateways();
    world.answers.stored = () => {
      world.handovers = [];
    };
    expect(await code(hall.handover.adopt(DEVICE))).toBe('taken_back');
    expect([hall.book.list(), world.journal('hall').list('handover')]).toEqual([[], []]);
    await answersAt(kitchen);
    world.answers = {};
    expect(await code(hall.handover.adopt(DEVICE))).toBe('done');
    await answersAt(hall);
  });

  it.each([
    ['Lamp', 'Lamp-2'],
    ['  Lamp ', 'Lamp-2'],
    ['Desk', 'Desk'],
    ['', `board-${LAMP.slice(0, 8)}`],
    ['a\u001b[31mb', `board-${LAMP.slice(0, 8)}`],
    ['x'.repeat(65), `board-${LAMP.slice(0, 8)}`],
    ['00112233445566cc', `board-${LAMP.slice(0, 8)}`],
  ])(
    'a board that the hub calls %j is %j here, where there is a Lamp already',
    async (name, is) => {
      const { world, hall, code } = await twoGateways();
      await hall.book.add('Lamp');
      world.answers.ask = (given) => ({ ...given, name });
      expect(await code(hall.handover.adopt(DEVICE))).toBe('done');
      expect(hall.book.find(LAMP).name).toBe(is);
    },
  );
});

describe('giving', () => {
  const PUBLIC = handoverKeys().publicKey;

  it('refuses what it does not have, what is away, and what BLE did not pair', async () => {
    const { world, kitchen, answersAt, code } = await twoGateways();
    expect(await code(kitchen.handover.give('00000000000000cc', PUBLIC, 'hall'))).toBe('unknown');
    const added = await kitchen.book.add('wired');
    expect(await code(kitchen.handover.give(added.boardId, PUBLIC, 'hall'))).toBe('not_ble');
    await answersAt(kitchen);
    await world.end(world.board.stop());
    expect(await world.until(() => !kitchen.online(), 300_000)).toBe(true);
    expect(await code(kitchen.handover.give(LAMP, PUBLIC, 'hall'))).toBe('offline');
    expect(world.journal('kitchen').list('given')).toEqual([]);
  });

  it('tells the board nothing for a public key that is none', async () => {
    const { world, kitchen, answersAt, code } = await twoGateways();
    for (const key of [new Uint8Array(0), new Uint8Array(32), new Uint8Array(33)]) {
      expect(await code(kitchen.handover.give(LAMP, key, 'hall'))).toBe('bad_field');
    }
    expect(world.journal('kitchen').list('given')).toEqual([]);
    await answersAt(kitchen);
  });

  it('forgets nothing that it gave to nobody, whatever the hub says', async () => {
    const { kitchen, answersAt, code } = await twoGateways();
    expect(await code(kitchen.handover.gone(LAMP))).toBe('not_given');
    await answersAt(kitchen);
  });

  it('keeps a board that was paired here anew after its key was given', async () => {
    const { world, kitchen, code } = await twoGateways();
    expect(await code(kitchen.handover.give(LAMP, PUBLIC, 'hall'))).toBe('done');
    const key = new Uint8Array(16).fill(9);
    await kitchen.book.adopt({ boardId: LAMP, key, name: 'Lamp', via: 'ble' });
    expect(await code(kitchen.handover.gone(LAMP))).toBe('done');
    expect(kitchen.book.key(LAMP)).toEqual(key);
    expect(world.journal('kitchen').list('given')).toEqual([]);
    expect(await code(kitchen.handover.gone(LAMP))).toBe('not_given');
  });

  it('goes on speaking with a board whose new gateway never stored the key', async () => {
    const { world, kitchen, answersAt, code } = await twoGateways();
    expect(await code(kitchen.handover.give(LAMP, PUBLIC, 'hall'))).toBe('done');
    await answersAt(kitchen);
    world.board.reboot();
    await world.clock.advance(1_000);
    await answersAt(kitchen);
  });
});
