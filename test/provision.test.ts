/** The key of the gateway that comes next, given to a board inside its own sealed session. */
import { describe, expect, it } from 'vitest';
import { KeyAsks } from '../gateway/core/key-asks.js';
import type { Session } from '../gateway/core/session.js';
import { FakeClock } from './support/clock.js';
import { codeOf, KITCHEN, pairingWorld } from './support/pairing-world.js';

const NEXT = Uint8Array.from({ length: 16 }, (_, i) => i + 1);

async function paired() {
  const world = pairingWorld();
  const life = world.start();
  const board = world.board();
  board.start();
  await world.end(life.pairer.pair({ code: codeOf(board), address: KITCHEN, name: 'Kitchen' }));
  const online = (): boolean => life.gateway.board(KITCHEN)?.presence.state === 'online';
  expect(await world.until(online)).toBe(true);
  /** Off, until the gateway has noticed. */
  async function off(): Promise<void> {
    await world.end(board.stop());
    expect(await world.until(() => !online())).toBe(true);
  }
  return { world, life, board, online, off };
}

type World = Awaited<ReturnType<typeof paired>>;
const status = ({ world, life }: World) =>
  world.end(life.gateway.call({ boardId: KITCHEN, verb: 'status', args: {}, ttlMs: 5_000 }));
const provision = ({ world, life }: World, name = 'Kitchen') =>
  world.end(life.gateway.provision(KITCHEN, NEXT, name));

describe('a board is given the key of its next gateway', () => {
  it('keeps it, and its own counts until a frame under that one verifies', async () => {
    const all = await paired();
    const { world, life, board, online, off } = all;
    await provision(all);
    expect(await status(all)).toMatchObject({ kind: 'ok' });
    await off();
    board.start();
    expect(await world.until(online)).toBe(true);
    const own = life.book.key(KITCHEN);
    await life.book.adopt({ boardId: KITCHEN, key: NEXT, name: 'Kitchen', via: 'memory' });
    await off();
    board.start();
    expect(await world.until(online)).toBe(true);
    expect(await status(all)).toMatchObject({ kind: 'ok' });
    await life.book.adopt({ boardId: KITCHEN, key: own ?? NEXT, name: 'Kitchen', via: 'memory' });
    await off();
    board.start();
    expect(await world.until(online, 20_000)).toBe(false);
  });

  it('takes a name that is longer than PROVISION has room for', async () => {
    await provision(await paired(), 'ä'.repeat(64));
  });

  it('and one that is away is given nothing', async () => {
    const all = await paired();
    await all.off();
    await expect(provision(all)).rejects.toMatchObject({ name: 'ProvisionError', code: 'offline' });
    await expect(
      all.world.end(all.life.gateway.provision('00000000000000ff', NEXT, 'x')),
    ).rejects.toMatchObject({ code: 'offline' });
  });

  it('an answer that is lost is said to be so, and a late one confirms no other key', async () => {
    const all = await paired();
    const { world, life, online } = all;
    const late: (() => void)[] = [];
    world.state.between = (frame, way) => {
      if (way === 'down') return [{ frame }];
      // The radio holds what the board says for longer than the gateway waits.
      return late.length === 0 ? [{ frame, delayMs: 5_500 }] : [{ frame }];
    };
    const first = provision(all);
    await expect(first).rejects.toMatchObject({ code: 'unconfirmed' });
    late.push(() => undefined);
    const second = life.gateway.provision(KITCHEN, NEXT.slice().reverse(), 'Kitchen');
    await expect(world.end(second)).rejects.toMatchObject({ code: 'offline' });
    expect(await world.until(online)).toBe(true);
    await provision(all);
  });

  it('a link that ends meanwhile is an answer that did not come', async () => {
    const all = await paired();
    let cuts = 1;
    all.world.state.between = (frame, way) => {
      if (way === 'up' && cuts-- > 0) all.world.clock.after(0, () => all.board.reboot());
      return way === 'up' && cuts >= 0 ? [] : [{ frame }];
    };
    const before = all.world.clock.now();
    await expect(provision(all)).rejects.toMatchObject({ code: 'unconfirmed' });
    expect(all.world.clock.now() - before).toBeLessThan(5_000);
  });

  it('one key at a time', async () => {
    const all = await paired();
    const first = provision(all);
    await expect(all.life.gateway.provision(KITCHEN, NEXT, 'x')).rejects.toMatchObject({
      code: 'busy',
    });
    await expect(all.life.gateway.unpair(KITCHEN)).rejects.toMatchObject({ code: 'busy' });
    await first;
    await all.world.end(all.life.gateway.unpair(KITCHEN));
    expect(all.board.pairing).toBe('unpaired');
  });

  it('is not for a board whose key was given to it with its configuration', async () => {
    const world = pairingWorld();
    const life = world.start();
    const { key } = await life.book.add('given', { boardId: KITCHEN });
    const bytes = new Uint8Array(Buffer.from(key, 'base64url'));
    world.board({ key: bytes, seal: true }).start();
    const online = (): boolean => life.gateway.board(KITCHEN)?.presence.state === 'online';
    expect(await world.until(online)).toBe(true);
    await expect(world.end(life.gateway.provision(KITCHEN, NEXT, 'Kitchen'))).rejects.toMatchObject(
      { code: 'not_by_code' },
    );
  });

  it('never leaves on a link that does not seal', async () => {
    const said: unknown[] = [];
    const plain = { seal: undefined, send: (message: unknown) => said.push(message) };
    const asks = new KeyAsks(new FakeClock(), KITCHEN);
    const given = asks.provision(plain as unknown as Session, NEXT, 'Kitchen');
    await expect(given).rejects.toMatchObject({ code: 'not_by_code' });
    expect(said).toEqual([]);
  });
});
