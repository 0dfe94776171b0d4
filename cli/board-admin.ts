/** What `boards …` can ask, whether a process runs or not. */
import { z } from 'zod';
import { type BoardBook, boardName } from './board-book.js';
import { type BoardConfig, type BrokerPlace, boardConfig } from './board-config.js';
import { CliError } from './fault.js';

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

/** The admin over the book itself; `place` says where boards will find the broker. */
export function bookAdmin(book: BoardBook, place: () => BrokerPlace): BoardAdmin {
  return {
    async ask(request) {
      switch (request.op) {
        case 'list':
          return book.list();
        case 'remove':
          return book.remove(request.board);
        case 'rename':
          return book.rename(request.board, boardName(request.name));
        case 'add': {
          const board = await book.add(request.name);
          const key = book.key(board.id);
          if (key === undefined) {
            throw new CliError('no_key', 'The new board’s key was not kept; try again.');
          }
          const at = place();
          return boardConfig(board, key, { ...at, host: request.host ?? at.host });
        }
      }
    },
  };
}
