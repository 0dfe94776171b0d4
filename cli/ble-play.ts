/** Simulated boards on the virtual air, added and paired as a person would do it. */
import type { Air } from '../device-sim/radio/air.js';
import { PairingError } from '../gateway/core/pairing-error.js';
import type { BoardId, Clock } from '../gateway/core/types.js';
import type { BleBook } from '../gateway/node/ble-book.js';
import type { BoardBook } from '../gateway/node/boards.js';
import type { Pairer } from '../gateway/node/pairer.js';
import { parseSetupCode } from '../protocol/setup-code.js';
import { type ForeignSim, type OwnSim, startBleSims } from './ble-sims.js';
import { CliError } from './fault.js';
import type { Sims } from './sims.js';
import type { BoardChoice } from './start-options.js';

export interface PlayInput {
  air: Air;
  pairer: Pairer;
  foreign: BleBook;
  book: BoardBook;
  folder: string;
  choices: BoardChoice[];
  /** They wait for a person. */
  unpaired: boolean;
  clock: Clock;
  log(what: string, about: Record<string, unknown>): void;
}

/** Resolves when they show themselves; those that need a code are paired behind that. */
export async function playOnAir(input: PlayInput): Promise<Sims> {
  const { air, folder, choices, clock, log, unpaired } = input;
  const sims = await startBleSims({ air, folder, choices, clock, log });
  const ids = new Map<BoardId, string>();
  try {
    if (!unpaired) {
      for (const sim of sims.foreign) ids.set(await adopted(input, sim), sim.name);
      for (const sim of sims.own) {
        ids.set(sim.boardId, sim.name);
        assertFree(input.book, sim);
      }
    }
  } catch (error) {
    await sims.stop();
    throw error;
  }
  const pairing = unpaired ? Promise.resolve() : pairAll(input, sims.own);
  let stopping = false;
  void pairing.catch((error) => {
    if (!stopping) log('a simulated board was not paired', { error: String(error) });
  });
  return {
    ids: [...ids.keys()],
    codes: unpaired
      ? sims.own.flatMap(({ name, setupCode }) => (setupCode ? [{ name, code: setupCode }] : []))
      : [],
    async remove(boardId) {
      // One that was told to forget its key shows itself again, as a real one would.
      const sim = sims.own.find((each) => each.boardId === boardId);
      if (sim?.paired() !== false) await sims.remove(boardId);
    },
    async stop() {
      stopping = true;
      await sims.stop();
    },
  };
}

/** One after the other: an adapter connects to one at a time anyhow. */
async function pairAll({ book, pairer, log }: PlayInput, sims: readonly OwnSim[]): Promise<void> {
  for (const sim of sims) {
    const known = book.key(sim.boardId) !== undefined;
    if (known && sim.paired()) continue;
    // Its gateway's folder was emptied: nobody has its key any more.
    if (sim.paired()) sim.factoryReset();
    const { setupCode } = sim;
    if (setupCode === undefined) continue;
    try {
      const code = parseSetupCode(setupCode);
      await pairer.pair({ code, name: sim.name });
    } catch (error) {
      if (!(error instanceof PairingError)) throw error;
      log('a simulated board was not paired', { board: sim.name, error: error.message });
    }
  }
}

function assertFree(book: BoardBook, sim: OwnSim): void {
  const holder = book.list().find(({ name }) => name === sim.name);
  if (holder !== undefined && holder.boardId !== sim.boardId) throw taken(sim.name);
}

/** What a person would add with `pair --address`. */
async function adopted({ book, foreign }: PlayInput, sim: ForeignSim): Promise<BoardId> {
  const { profile, address, bindKey, boardId, name } = sim;
  if (foreign.has(boardId)) return boardId;
  if (book.list().some((board) => board.name === name)) throw taken(name);
  const needs = bindKey === undefined ? 'none' : 'bind_key';
  await foreign.add(name, { profile, address, needs }, bindKey);
  return boardId;
}

function taken(name: string): CliError {
  return new CliError(
    'name_taken',
    `A board named "${name}" is there that is not this simulated one; rename it with \`motebridge boards rename\`, or choose other boards with --sim.`,
  );
}
