/** What `boards …` can ask, whether a process runs or not. */
import { z } from 'zod';
import {
  type BoardBook,
  BoardBookError,
  type BoardBookFault,
  type BoardEntry,
} from '../gateway/node/boards.js';
import { type BoardConfig, type BrokerPlace, boardConfig } from './board-config.js';
import { CliError, EXIT, type ExitCode } from './fault.js';

export const adminRequest = z.discriminatedUnion('op', [
  z.object({ op: z.literal('list') }),
  z.object({
    op: z.literal('add'),
    name: z.string().max(256),
    host: z.string().max(255).optional(),
  }),
  z.object({ op: z.literal('remove'), board: z.string().max(256) }),
  z.object({ op: z.literal('rename'), board: z.string().max(256), name: z.string().max(256) }),
]);
export type AdminRequest = z.infer<typeof adminRequest>;

export const boardShape = z.object({ id: z.string(), name: z.string(), addedAt: z.number() });
export type BoardShown = z.infer<typeof boardShape>;
export const configShape = z.object({
  boardId: z.string(),
  name: z.string(),
  key: z.string(),
  mqtt: z.object({
    host: z.string(),
    port: z.number(),
    tls: z.boolean(),
    clientId: z.string(),
    username: z.string(),
    password: z.string(),
    topics: z.object({ up: z.string(), down: z.string(), state: z.string() }),
  }),
}) satisfies z.ZodType<BoardConfig>;

/** Answers `boards` to list, the configuration to add, the board to the rest. */
export interface BoardAdmin {
  ask(request: AdminRequest): Promise<unknown>;
}

/** What the words themselves are wrong about; a board that is not there is refused. */
const EXITS: Readonly<Record<BoardBookFault, ExitCode>> = {
  bad_name: EXIT.usage,
  ambiguous: EXIT.usage,
  name_taken: EXIT.refused,
  id_taken: EXIT.refused,
  unknown: EXIT.refused,
};

export interface AdminHooks {
  renamed?(boardId: string): void;
}

/** The admin over the book itself; `place` says where boards will find the broker. */
export function bookAdmin(
  book: BoardBook,
  place: () => BrokerPlace,
  hooks: AdminHooks = {},
): BoardAdmin {
  const ask = async (request: AdminRequest): Promise<unknown> => {
    switch (request.op) {
      case 'list':
        return book.list().map(shown);
      case 'remove':
        return shown(await book.remove(request.board));
      case 'rename': {
        const board = await book.rename(request.board, request.name);
        hooks.renamed?.(board.boardId);
        return shown(board);
      }
      case 'add': {
        const board = await book.add(request.name);
        const key = book.key(board.boardId);
        if (key === undefined) {
          throw new CliError('no_key', 'The new board’s key was not kept; try again.');
        }
        const at = place();
        return boardConfig(shown(board), key, { ...at, host: request.host ?? at.host });
      }
    }
  };
  return {
    ask: (request) =>
      ask(request).catch((error) => {
        if (!(error instanceof BoardBookError)) throw error;
        const code = error.code === 'unknown' ? 'unknown_board' : error.code;
        throw new CliError(code, error.message, EXITS[error.code]);
      }),
  };
}

const shown = ({ boardId, name, addedAt }: BoardEntry): BoardShown => ({
  id: boardId,
  name,
  addedAt,
});
