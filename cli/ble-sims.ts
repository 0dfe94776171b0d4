/** The simulated boards on a virtual air of this process: peripherals with identities that last. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Air,
  type BoardClock,
  blenoPeripheral,
  bleTransport,
  createSimBoard,
  type ModelName,
  type Peripheral,
  type SimBoard,
  virtualBleno,
} from '../device-sim/index.js';
import { nodeCcm } from '../protocol/node-ccm.js';
import { foreignBoard } from './ble-foreign.js';
import {
  type BleSimKind,
  type ForeignKind,
  type Identity,
  isForeign,
  openIdentities,
} from './ble-identities.js';
import { fileStore } from './flash.js';

export interface BleSimsInput {
  air: Air;
  /** Where they keep who they are, and each its flash. */
  folder: string;
  choices: readonly { kind: BleSimKind; name: string }[];
  clock: BoardClock;
  log(what: string, about: Record<string, unknown>): void;
}

/** A board that speaks our protocol and is paired by its set-up code. */
export interface OwnSim {
  readonly kind: ModelName;
  readonly name: string;
  readonly boardId: string;
  readonly address: string;
  /** Secret; undefined while it is paired. */
  readonly setupCode: string | undefined;
  /** Some gateway has spoken under its key. */
  paired(): boolean;
  /** It forgets its key and boots anew; its set-up code stays what it was. */
  factoryReset(): void;
}

/** A board of another maker, for the owner to add. */
export interface ForeignSim {
  readonly profile: ForeignKind;
  readonly name: string;
  /** As the gateway derives it of the address. */
  readonly boardId: string;
  readonly address: string;
  /** What opens its broadcasts, 32 hex digits; undefined where they are plain. Secret. */
  readonly bindKey: string | undefined;
}

export interface BleSims {
  readonly own: readonly OwnSim[];
  readonly foreign: readonly ForeignSim[];
  /** Ends the board and wipes what it kept: next time another one comes in its place. */
  remove(boardId: string): Promise<void>;
  /** Ends them all; none leaves a timer. */
  stop(): Promise<void>;
}

interface Played {
  readonly is: Identity;
  /** Undefined for another maker's. */
  readonly own: OwnSim | undefined;
  end(): Promise<void>;
}

/**
 * Plays them; a board of the same kind and name is the one of last time, paired if it was. Rejects
 * with RadioUnavailable or CliError, with none of them left behind.
 */
export async function startBleSims(input: BleSimsInput): Promise<BleSims> {
  const { folder, choices } = input;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const identities = openIdentities(join(folder, 'ble.json'));
  const played: Played[] = [];
  try {
    for (const is of identities.of(choices)) played.push(await play(input, is));
  } catch (error) {
    await endAll(played);
    throw error;
  }
  return {
    own: played.flatMap(({ own }) => (own ? [own] : [])),
    foreign: played.flatMap(({ is: { kind, name, boardId, address, bindKey } }) =>
      isForeign(kind) ? [{ profile: kind, name, boardId, address, bindKey }] : [],
    ),
    async remove(boardId) {
      const at = played.findIndex(({ is }) => is.boardId === boardId);
      const [gone] = at < 0 ? [] : played.splice(at, 1);
      await gone?.end();
      identities.forget(boardId);
      rmSync(flash(folder, boardId), { force: true });
    },
    stop: () => endAll(played),
  };
}

const flash = (folder: string, boardId: string): string => join(folder, `${boardId}.json`);

async function play(input: BleSimsInput, is: Identity): Promise<Played> {
  const { kind, name, address } = is;
  const radio = virtualBleno(input.air, { name, address });
  const peripheral = blenoPeripheral({ bleno: radio.instance });
  try {
    const board = isForeign(kind)
      ? await playForeign(input, is, peripheral)
      : playOwn(input, is, kind, peripheral);
    return {
      is,
      own: board.own,
      async end() {
        await board.stop();
        radio.stop();
      },
    };
  } catch (error) {
    radio.stop();
    throw error;
  }
}

type Running = Pick<Played, 'own'> & { stop(): Promise<void> };

function playOwn(
  { folder, clock, log }: BleSimsInput,
  is: Identity,
  kind: ModelName,
  peripheral: Peripheral,
): Running {
  const { name, boardId } = is;
  const transport = bleTransport({
    peripheral,
    clock,
    random: Math.random,
    name,
    onTrouble: (why) => log('a simulated board lost its gateway', { board: name, why }),
  });
  const board = createSimBoard({
    boardId,
    model: kind,
    name,
    transport,
    clock,
    store: fileStore(flash(folder, boardId)),
    random: Math.random,
    ccm: nodeCcm,
    onPairing: ({ state }) => log('a simulated board’s pairing', { board: name, state }),
  });
  board.start();
  return { own: ownSim(is, kind, board), stop: () => board.stop() };
}

function ownSim({ name, boardId, address }: Identity, kind: ModelName, board: SimBoard): OwnSim {
  return {
    kind,
    name,
    boardId,
    address,
    get setupCode() {
      return board.setupCode;
    },
    paired: () => board.pairing === 'paired',
    factoryReset: () => board.factoryReset(),
  };
}

async function playForeign(
  { folder, clock, log }: BleSimsInput,
  is: Identity,
  peripheral: Peripheral,
): Promise<Running> {
  const board = foreignBoard({
    is,
    peripheral,
    clock,
    flash: flash(folder, is.boardId),
    onTrouble: (why) => log('a simulated board could not say something', { board: is.name, why }),
  });
  await board.start();
  return { own: undefined, stop: () => board.stop() };
}

async function endAll(played: Played[]): Promise<void> {
  await Promise.all(played.splice(0).map((each) => each.end()));
}
