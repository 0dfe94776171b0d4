/**
 * Boards on their way to this gateway (room `handover`, keys sealed): each is durable from before
 * the book has it until the hub has moved its device, so that a crash leaves nothing half done.
 */
import { z } from 'zod';
import { base64url } from '../../protocol/identity.js';
import { type Secrets, SecretUnreadable } from '../../store/secrets.js';
import type { Journal } from '../core/journal.js';
import type { BoardId } from '../core/types.js';

export interface Adoption {
  boardId: BoardId;
  /** The hub's name of the handover. */
  handoverId: string;
  name: string;
  /** 16 bytes. */
  key: Uint8Array;
  /** The board has spoken here under this key: no other opens it any more. */
  proven: boolean;
}

export interface Adoptions {
  /** Rejects with `JournalUnavailable`. */
  keep(adoption: Adoption): Promise<void>;
  /** Undefined too for one that does not open any more. */
  find(boardId: BoardId): Adoption | undefined;
  list(): BoardId[];
  drop(boardId: BoardId): Promise<void>;
}

const ROOM = 'handover';

const stored = z.object({
  handoverId: z.string(),
  name: z.string(),
  key: z.string(),
  proven: z.boolean(),
});

export function openAdoptions({
  journal,
  secrets,
}: {
  journal: Journal;
  secrets: Secrets;
}): Adoptions {
  const place = (boardId: BoardId): string => `${ROOM}/${boardId}`;
  return {
    async keep({ boardId, key, ...plain }) {
      const sealed = secrets.seal(base64url(key), place(boardId));
      await journal.put(ROOM, boardId, JSON.stringify({ ...plain, key: sealed }));
    },
    find(boardId) {
      const text = journal.get(ROOM, boardId);
      if (text === undefined) return undefined;
      try {
        const { key, ...plain } = stored.parse(JSON.parse(text));
        const opened = Buffer.from(secrets.open(key, place(boardId)), 'base64url');
        return { boardId, ...plain, key: new Uint8Array(opened) };
      } catch (error) {
        if (error instanceof SecretUnreadable || error instanceof z.ZodError) return undefined;
        throw error;
      }
    },
    list: () => journal.list(ROOM).map(([boardId]) => boardId),
    drop: (boardId) => journal.put(ROOM, boardId, undefined),
  };
}
