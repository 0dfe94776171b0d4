import { describe, expect, it } from 'vitest';
import { DEVICE, HandoverWorld, LAMP, type Side } from './support/handover-world.js';

class Killed extends Error {}

/**
 * The hall adopts the kitchen's board, with one of the two killed at its n-th step; that one comes
 * back, and where the board has not come to the hall by then it is adopted once more. Answers the
 * step, or undefined where there is no n-th.
 */
async function killedAt(n: number, kills: Side, hubDown = false): Promise<string | undefined> {
  const world = new HandoverWorld();
  await world.paired('kitchen');
  const hall = world.start('hall');
  world.board.start();
  expect(await world.until(() => world.lives.kitchen?.online() === true)).toBe(true);

  let steps = 0;
  let killed: string | undefined;
  world.happens = (side, what) => {
    if (side !== kills || ++steps !== n) return;
    killed = what;
    const { clock, lives } = world;
    clock.after(0, () => lives[kills]?.kill());
    throw new Killed();
  };
  let over = false;
  const done = (): void => {
    over = true;
  };
  hall.handover.adopt(DEVICE).then(done, done);
  await world.until(() => over || killed !== undefined);
  await world.clock.advance(100);
  world.happens = undefined;
  if (killed !== undefined) {
    world.hubDown = hubDown;
    if (!world.lives[kills]) world.start(kills);
    world.resume(kills);
    // The hub waits for the other gateway, and only then says no.
    await world.clock.advance(31_000);
    world.hubDown = false;
  }
  const at = `${kills} killed at step ${n}, ${killed}`;
  const where = (): Side[] =>
    (['kitchen', 'hall'] as const).filter((side) => world.lives[side]?.online());
  expect(await world.until(() => where().length === 1), `${at}: the board is lost`).toBe(true);
  if (await world.until(() => where()[0] !== world.holder, 5_000)) {
    expect(await world.until(() => where()[0] === world.holder), `${at}: and stays apart`).toBe(
      true,
    );
  }
  if (world.holder !== 'hall') {
    expect(where(), at).toEqual(['kitchen']);
    await world.end(world.lives.hall?.handover.adopt(DEVICE) ?? Promise.reject(new Error(at)));
  }
  const there = (): boolean => where().length === 1 && where()[0] === 'hall';
  expect(await world.until(there), `${at}: it does not come to the hall`).toBe(true);

  const { kitchen, hall: now } = world.lives;
  expect(await world.until(() => kitchen?.book.list().length === 0), at).toBe(true);
  expect(now?.book.list(), at).toMatchObject([{ boardId: LAMP, name: 'Lamp', pairedVia: 'ble' }]);
  const call = { boardId: LAMP, verb: 'status', args: {}, ttlMs: 5_000 };
  const outcome = now && (await world.end(now.gateway.call(call)));
  expect(outcome, at).toMatchObject({ kind: 'ok' });
  for (const [side, rooms] of [
    ['kitchen', ['handover', 'given', 'pairing', 'key', 'board', 'device', 'catalog']],
    ['hall', ['handover', 'given', 'pairing']],
  ] as const) {
    const left = () => rooms.filter((room) => world.journal(side).list(room).length > 0);
    const clean = await world.until(() => left().length === 0);
    expect(clean, `${at}: ${side} keeps ${left()}`).toBe(true);
  }
  expect(world.handovers, at).toMatchObject([{ from: 'kitchen', to: 'hall', gone: true }]);
  for (const life of Object.values(world.lives)) life.kill();
  await world.end(world.board.stop());
  return killed;
}

async function everywhere(kills: Side, hubDown = false): Promise<string[]> {
  const steps: string[] = [];
  for (let n = 1; ; n++) {
    const step = await killedAt(n, kills, hubDown);
    if (step === undefined) return steps;
    steps.push(step);
  }
}

describe('a board that changes its gateway is never lost, and doing the same again ends it', () => {
  it('after kill -9 of the gateway that adopts, at each step', async () => {
    const steps = await everywhere('hall');
    expect(steps.indexOf('after handover')).toBeLessThan(steps.indexOf('before stored'));
    expect(steps.indexOf('after key')).toBeLessThan(steps.indexOf('before stored'));
    expect(steps).toEqual(expect.arrayContaining(['before ask', 'after ask', 'after stored']));
  });

  it('after kill -9 of it while the hub is away when it comes back', async () => {
    expect((await everywhere('hall', true)).length).toBeGreaterThan(8);
  });

  it('after kill -9 of the gateway that gives, at each step', async () => {
    const steps = await everywhere('kitchen');
    expect(steps.indexOf('after given')).toBeLessThan(steps.indexOf('down 1'));
    expect(steps).toEqual(expect.arrayContaining(['before gone', 'after gone', 'after key']));
  });
});
