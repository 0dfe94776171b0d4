import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Journal } from '../gateway/core/journal.js';
import { memoryJournal } from '../gateway/core/memory-journal.js';
import { openJournal } from '../gateway/node/journal.js';
import { codeOf, KITCHEN, pairingWorld } from './support/pairing-world.js';

const folder = mkdtempSync(join(tmpdir(), 'mote-pairing-'));
afterAll(() => rmSync(folder, { recursive: true }));

class Killed extends Error {}

interface Crash {
  step: string;
  /** The board came back by itself; nobody had to pair it again. */
  alone: boolean;
}

/**
 * Pairs a board, with the gateway killed at its n-th step (a frame either way, a write before or
 * after it), or the board's power cut there; then lets it come back, or pairs it once more. Answers
 * the step, or undefined where there is no n-th.
 */
async function killedAt(
  n: number,
  kills: 'gateway' | 'board' | 'both',
  journal: Journal,
  reset: boolean,
): Promise<Crash | undefined> {
  let steps = Number.NEGATIVE_INFINITY;
  let killed: string | undefined;
  const world = pairingWorld({
    journal,
    happens: (what) => {
      if (++steps !== n) return;
      killed = what;
      if (kills !== 'gateway') world.clock.after(0, () => board.reboot());
      if (kills === 'board') return;
      world.clock.after(0, () => life.kill());
      throw new Killed();
    },
  });
  const life = world.start();
  const board = world.board();
  board.start();
  const wish = { code: codeOf(board), address: KITCHEN, name: 'Kitchen' };
  if (reset) {
    await world.end(life.pairer.pair(wish));
    board.factoryReset();
  }
  steps = 0;
  const over = life.pairer.pair(wish).then(
    () => true,
    () => true,
  );
  let ended = false;
  void over.then(() => {
    ended = true;
  });
  await world.until(() => ended || (killed !== undefined && kills !== 'board'));
  steps = Number.POSITIVE_INFINITY;
  await world.clock.advance(100);
  const next = kills === 'board' || killed === undefined ? life : world.start();
  const online = (): boolean => next.gateway.board(KITCHEN)?.presence.state === 'online';
  // Where the board knows its key it comes by itself; else the same again pairs it.
  const alone = await world.until(() => online() && board.pairing === 'paired', 10_000);
  if (!alone) {
    expect(board.pairing, `${killed}: nothing is left to pair it with`).not.toBe('paired');
    await world.end(next.pairer.pair(wish));
  }
  expect(await world.until(online)).toBe(true);
  expect(board.pairing).toBe('paired');
  const call = { boardId: KITCHEN, verb: 'status', args: {}, ttlMs: 5_000 };
  expect(await world.end(next.gateway.call(call))).toMatchObject({ kind: 'ok' });
  expect(await world.until(() => journal.list('pairing').length === 0)).toBe(true);
  expect(next.book.list()).toMatchObject([{ boardId: KITCHEN, name: 'Kitchen' }]);
  next.kill();
  await world.end(board.stop());
  return killed === undefined ? undefined : { step: killed, alone };
}

/** Every step there is; the journal is made anew for each. */
async function everywhere(
  kills: 'gateway' | 'board' | 'both',
  reset: boolean,
  journal: () => Promise<Journal> = async () => memoryJournal(),
): Promise<Crash[]> {
  const steps: Crash[] = [];
  for (let n = 1; ; n++) {
    const kept = await journal();
    const step = await killedAt(n, kills, kept, reset);
    await kept.close();
    if (step === undefined) return steps;
    steps.push(step);
  }
}

describe('a board can always be paired by doing the same again', () => {
  it('after kill -9 of the gateway at each step, the journal in memory', async () => {
    const crashes = await everywhere('gateway', false);
    const steps = crashes.map(({ step }) => step);
    // Once the board has its key the gateway knows it too, written into the book or not.
    const told = crashes.slice(steps.indexOf('up 2'));
    expect(told.filter(({ alone }) => !alone)).toEqual([]);
    // PROVISION (sealed with the set-up key, down) comes after its key is written.
    expect(steps.indexOf('after pairing')).toBeLessThan(steps.indexOf('down 2'));
    expect(steps.indexOf('down 2')).toBeLessThan(steps.indexOf('after key'));
    expect(new Set(steps)).toEqual(
      new Set([
        ...['up 0', 'down 0', 'up 1', 'down 1', 'up 2', 'down 2'],
        ...['before pairing', 'after pairing', 'before key', 'after key'],
        ...['before board', 'after board', 'before catalog', 'after catalog'],
      ]),
    );
  });

  it('after a power cut of the board at each step', async () => {
    expect((await everywhere('board', false)).length).toBeGreaterThan(15);
  });

  it('after both went down at once', async () => {
    expect((await everywhere('both', false)).length).toBeGreaterThan(15);
  });

  it('after kill -9 while a board that was reset is paired once more', async () => {
    expect((await everywhere('gateway', true)).length).toBeGreaterThan(12);
  });

  it('after kill -9 at each step, the journal on disk', async () => {
    let n = 0;
    const steps = await everywhere('gateway', false, () =>
      openJournal(join(folder, `journal-${n++}.db`)),
    );
    expect(steps.length).toBeGreaterThan(15);
  });
});
