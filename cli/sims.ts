/** The simulated boards of this process: real MQTT clients with identities that last. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createSimBoard, mqttTransport, type SimBoard } from '../device-sim/index.js';
import type { BoardId } from '../gateway/core/types.js';
import type { BoardBook } from '../gateway/node/boards.js';
import { nodeClock } from '../gateway/node/clock.js';
import { nodeCcm } from '../protocol/node-ccm.js';
import { CliError } from './fault.js';
import { fileStore } from './flash.js';
import type { OwnChoice } from './start-options.js';

export interface SimsInput {
  book: BoardBook;
  /** Where each keeps its few bytes of flash. */
  folder: string;
  choices: OwnChoice[];
  broker: { url: string; seal: boolean };
  log(what: string, about: Record<string, unknown>): void;
}

export interface Sims {
  readonly ids: BoardId[];
  /** Those that a person is to pair. */
  readonly codes?: readonly { name: string; code: string }[];
  /** Ends the board and wipes its flash: it was removed from the book. */
  remove(boardId: BoardId): Promise<void>;
  stop(): Promise<void>;
}

export async function startSims(input: SimsInput): Promise<Sims> {
  const { book, folder, broker, log } = input;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const clock = nodeClock();
  const boards = new Map<BoardId, SimBoard>();
  for (const choice of input.choices) {
    const { boardId, key } = await identity(book, folder, choice);
    const transport = mqttTransport({
      url: broker.url,
      key,
      clock,
      random: Math.random,
      onTrouble: (why) => log('a simulated board lost its broker', { board: choice.name, why }),
    });
    const board = createSimBoard({
      boardId,
      model: choice.kind,
      name: choice.name,
      key,
      transport,
      clock,
      store: fileStore(flash(folder, boardId)),
      random: Math.random,
      seal: broker.seal,
      ccm: nodeCcm,
    });
    boards.set(boardId, board);
  }
  for (const board of boards.values()) board.start();
  return {
    ids: [...boards.keys()],
    async remove(boardId) {
      await boards.get(boardId)?.stop();
      boards.delete(boardId);
      rmSync(flash(folder, boardId), { force: true });
    },
    async stop() {
      await Promise.all([...boards.values()].map((board) => board.stop()));
    },
  };
}

const flash = (folder: string, boardId: BoardId): string => join(folder, `${boardId}.json`);

/** The one of last time, by its name; a real board's is never played. */
async function identity(
  book: BoardBook,
  folder: string,
  { name }: OwnChoice,
): Promise<{ boardId: BoardId; key: Uint8Array }> {
  const known = book.list().find((board) => board.name === name);
  if (known === undefined) {
    const made = await book.add(name);
    return { boardId: made.boardId, key: new Uint8Array(Buffer.from(made.key, 'base64url')) };
  }
  const key = book.key(known.boardId);
  if (key === undefined || !existsSync(flash(folder, known.boardId))) {
    throw new CliError(
      'name_taken',
      `A board named "${name}" is there that is not simulated; rename it with \`motebridge boards rename\`, or choose other boards with --sim.`,
    );
  }
  return { boardId: known.boardId, key };
}
