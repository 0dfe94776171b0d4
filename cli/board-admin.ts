/** What `boards …` can ask, whether a process runs or not. */
import { z } from 'zod';
import {
  type BoardBook,
  BoardBookError,
  type BoardBookFault,
  type BoardEntry,
} from '../gateway/node/boards.js';
import { endpointSecret } from '../protocol/identity.js';
import { type BoardConfig, type BrokerPlace, boardConfig } from './board-config.js';
import { CliError, EXIT, type ExitCode } from './fault.js';

/** Bounded where it is read; the book says what is wrong with a name. */
const words = z.string().max(65_536);

export const adminRequest = z.discriminatedUnion('op', [
  z.object({ op: z.literal('list') }),
  z.object({
    op: z.literal('add'),
    name: words,
    host: z.string().max(255).optional(),
  }),
  z.object({ op: z.literal('remove'), board: words }),
  z.object({ op: z.literal('endpoint'), board: words }),
  z.object({ op: z.literal('rename'), board: words, name: words }),
]);
export type AdminRequest = z.infer<typeof adminRequest>;

export const boardShape = z.object({
  id: z.string(),
  name: z.string(),
  addedAt: z.number(),
  /** The link over which it was paired by its set-up code. */
  pairedVia: z.string().optional(),
});
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

/** What a hub elsewhere is told to call a board by; the URL is null where nothing serves it. */
export const endpointShape = z.object({
  id: z.string(),
  name: z.string(),
  url: z.string().nullable(),
  secret: z.string(),
});
export type BoardEndpoint = z.infer<typeof endpointShape>;

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
  /** Where the endpoint door serves, if it does. */
  endpointUrl?: string | undefined;
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
      case 'endpoint': {
        const board = shown(book.find(request.board));
        const secret = endpointSecret(board.id, keyOf(book, board.id));
        return { id: board.id, name: board.name, url: hooks.endpointUrl ?? null, secret };
      }
      case 'add': {
        const board = await book.add(request.name);
        const key = keyOf(book, board.boardId);
        const at = place();
        return boardConfig(shown(board), key, { ...at, host: request.host ?? at.host });
      }
    }
  };
  return {
    ask: (request) =>
      ask(request).catch((error) => {
        throw error instanceof BoardBookError ? bookFault(error) : error;
      }),
  };
}

export function bookFault({ code, message }: BoardBookError): CliError {
  return new CliError(code === 'unknown' ? 'unknown_board' : code, message, EXITS[code]);
}

function keyOf(book: BoardBook, boardId: string): Uint8Array {
  const key = book.key(boardId);
  if (key === undefined) throw new CliError('no_key', 'The board’s key was not kept; try again.');
  return key;
}

export const shown = ({ boardId, name, addedAt, pairedVia }: BoardEntry): BoardShown => ({
  id: boardId,
  name,
  addedAt,
  ...(pairedVia === undefined ? {} : { pairedVia }),
});
