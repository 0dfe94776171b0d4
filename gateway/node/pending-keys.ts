/**
 * Keys of boards that are being paired (room `pairing`, sealed): each is durable before its board
 * hears of it, and the same board is given the same key again until one of them is known to have
 * it. A crash at any point leaves a board that can be paired by doing the same again.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { base64url } from '../../protocol/identity.js';
import { type Secrets, SecretUnreadable } from '../../store/secrets.js';
import type { Journal } from '../core/journal.js';
import type { BoardId } from '../core/types.js';

export interface PendingKey {
  boardId: BoardId;
  name: string;
  /** Over which link it is being paired. */
  via: string;
  /** 16 bytes. */
  key: Uint8Array;
}

export interface PendingKeys {
  /** `fresh`: there was none before. Rejects with `JournalUnavailable`. */
  begin(boardId: BoardId, name: string, via: string): Promise<PendingKey & { fresh: boolean }>;
  /** Undefined too for one that does not open any more. */
  find(boardId: BoardId): PendingKey | undefined;
  drop(boardId: BoardId): Promise<void>;
  /** The boards with a pending key over this link. */
  over(via: string): BoardId[];
}

const ROOM = 'pairing';
/** Tries that came to nothing, kept for their boards to come back; the oldest goes for one more. */
const MOST = 64;

const stored = z.object({
  name: z.string(),
  via: z.string(),
  key: z.string(),
  /** Unix milliseconds. */
  at: z.number(),
});

export function openPendingKeys(options: {
  journal: Journal;
  secrets: Secrets;
  wall?: () => number;
}): PendingKeys {
  const { journal, secrets, wall = Date.now } = options;

  function find(boardId: BoardId): PendingKey | undefined {
    const text = journal.get(ROOM, boardId);
    if (text === undefined) return undefined;
    try {
      const { name, via, key } = stored.parse(JSON.parse(text));
      const opened = Buffer.from(secrets.open(key, `${ROOM}/${boardId}`), 'base64url');
      return { boardId, name, via, key: new Uint8Array(opened) };
    } catch (error) {
      if (error instanceof SecretUnreadable || error instanceof z.ZodError) return undefined;
      throw error;
    }
  }

  async function makeRoom(): Promise<void> {
    const all = journal.list(ROOM);
    const oldest = all
      .map(([id, text]) => ({ id, at: stored.safeParse(JSON.parse(text)).data?.at ?? 0 }))
      .sort((a, b) => a.at - b.at);
    // A board that holds such a key still takes another: its set-up code is not burnt.
    for (const { id } of oldest.slice(0, Math.max(0, all.length - MOST + 1))) {
      await journal.put(ROOM, id, undefined);
    }
  }

  return {
    async begin(boardId, name, via) {
      const before = find(boardId);
      if (!before) await makeRoom();
      const key = before?.key ?? new Uint8Array(randomBytes(16));
      const sealed = secrets.seal(base64url(key), `${ROOM}/${boardId}`);
      await journal.put(ROOM, boardId, JSON.stringify({ name, via, key: sealed, at: wall() }));
      return { boardId, name, via, key, fresh: !before };
    },
    find,
    drop: (boardId) => journal.put(ROOM, boardId, undefined),
    over: (via) =>
      journal
        .list(ROOM)
        .map(([boardId]) => boardId)
        .filter((boardId) => find(boardId)?.via === via),
  };
}
