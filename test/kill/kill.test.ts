/**
 * kill -9 of hub and gateway, together and apart, while fifty calls are under way: at each named
 * point of the way of a call, and at random times. The boards live outside and count what they
 * run (amendment 29).
 */
import { afterAll, describe, expect, it } from 'vitest';
import { bundleChild } from '../../gateway/node/child-fixture.js';
import { POINTS, type Point } from './points.fixture.js';
import { type Kill, randomOf, type Side, World } from './world.fixture.js';

const SEED = Number(process.env.KILL_TEST_SEED ?? 20_260_101);
/**
 * Whether hub and gateway are two processes; each world passes through each named point. All
 * eight take minutes, so one runs by default and `.ci/run` asks for all …
 */
const WORLDS = [false, true, false, true, false, true, false, false].slice(
  0,
  Number(process.env.KILL_TEST_WORLDS ?? 1),
);
/** … and is killed so often at random times. */
const RANDOM = 3;
/** At least; 200 in all eight. */
const KILLS = 25 * WORLDS.length;
/** `failed` is none of them: the verb never fails, and a full board is the gateway's to mind. */
const NOT_RUN = /^(unreachable|expired)$/;
const LATE = /did not answer within/;
/** A board is rebooted at one kill of so many. */
const REBOOT = 4;

const worlds: World[] = [];
afterAll(async () => {
  for (const world of worlds) await world.end();
  for (const world of worlds) world.remove();
});

/** Each point once, in a seeded order. */
function plan(apart: boolean, random: () => number): Kill[] {
  const named = (Object.keys(POINTS) as Point[]).map((point) => {
    const side: Side = POINTS[point].side;
    return { point, side };
  });
  const timed = Array.from({ length: RANDOM }, (_, i) => ({
    point: 'random' as const,
    side: (i % 2 === 0 ? 'hub' : 'gateway') as Side,
  }));
  const kills = [...named, ...timed]
    .map((kill) => ({ kill, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ kill }, i) => ({ ...kill, reboots: i % REBOOT === REBOOT - 1 }));
  return apart ? interleaved(kills) : kills;
}

/** The hub's kills spread among the gateway's, as one alone would be the only one to come up. */
function interleaved(kills: Kill[]): Kill[] {
  const hub = kills.filter((kill) => kill.side === 'hub');
  const rest = kills.filter((kill) => kill.side === 'gateway');
  const before = (i: number): number => Math.floor((i * hub.length) / rest.length);
  return rest.flatMap((kill, i) => [kill, ...hub.slice(before(i), before(i + 1))]);
}

/** What the sender, the boards and the files say of a world that has settled. */
async function judge(world: World): Promise<Record<string, number>> {
  const { accepted, replies, runs, boardOf } = world.owner;
  const unanswered = [...accepted.keys()].filter((n) => !replies.has(n));
  expect(unanswered, 'accepted and never answered').toEqual([]);
  await world.end();
  const twice = [...runs].filter(([, times]) => times > 1);
  expect(twice, 'ran twice').toEqual([]);

  const outcomes: Record<string, number> = {};
  const rows = await world.envelopes();
  expect(rows.length).toBeGreaterThanOrEqual(accepted.size);
  for (const row of rows) {
    const n = Number(/mark (\d+)/.exec(row.asked)?.[1]);
    expect([n, row.replies], 'replies in the hub’s file').toEqual([n, 1]);
    if (replies.has(n)) expect(row.answer, 'the reply changed').toBe(replies.get(n)?.payload);
    const { outcome, result, error } = JSON.parse(row.answer ?? '{}');
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    const times = runs.get(n) ?? 0;
    if (outcome === 'ok') expect([n, times, result]).toEqual([n, 1, n]);
    else if (outcome === 'outcome_unknown') {
      // A board that never restarted can only have been too late.
      if (boardOf.get(n) === 'steady')
        expect([n, error.message]).toEqual([n, expect.stringMatching(LATE)]);
    } else {
      const why = `the outcome of call ${n}: ${error?.message}`;
      expect([n, outcome, times], why).toEqual([n, expect.stringMatching(NOT_RUN), 0]);
    }
  }
  const asked = new Set(rows.map((row) => Number(/mark (\d+)/.exec(row.asked)?.[1])));
  expect(
    [...runs.keys()].filter((n) => !asked.has(n)),
    'ran and not stored',
  ).toEqual([]);

  expect(await world.unsettled(), 'without an outcome in the journal').toEqual([]);
  return outcomes;
}

describe('kill -9 while fifty calls are under way', () => {
  it('ends every call in exactly one outcome and runs none twice', {
    timeout: 600_000,
  }, async () => {
    const program = await bundleChild(new URL('./stack-child.ts', import.meta.url), {
      whole: true,
    });
    const run = async (apart: boolean, i: number) => {
      const seed = SEED + i;
      const world = new World(program, apart, seed);
      worlds.push(world);
      try {
        await world.start();
        for (const kill of plan(apart, randomOf(seed))) await world.kill(kill);
        await world.settle(90_000);
        return await judge(world);
      } catch (error) {
        const where = `KILL_TEST_SEED=${SEED}, world ${i}, kill ${world.kills.length + 1}`;
        throw new Error(`${where}: ${(error as Error).message}`, { cause: error });
      }
    };
    const ended = await Promise.allSettled(WORLDS.map(run));
    const faults = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason.message] : []));
    expect(faults).toEqual([]);
    const outcomes = ended.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));

    const counts: Record<string, number> = {};
    for (const { point } of worlds.flatMap((world) => world.kills)) {
      counts[point] = (counts[point] ?? 0) + 1;
    }
    const kills = Object.values(counts).reduce((sum, n) => sum + n, 0);
    const calls = worlds.reduce((sum, world) => sum + world.owner.accepted.size, 0);
    console.log(`${kills} kills, ${calls} calls: ${JSON.stringify({ outcomes, counts })}`);
    expect(kills).toBeGreaterThanOrEqual(KILLS);
    for (const point of Object.keys(POINTS)) {
      expect([point, counts[point]]).toEqual([point, WORLDS.length]);
    }
    for (const each of outcomes) expect(each.ok ?? 0).toBeGreaterThan(0);
  });
});
