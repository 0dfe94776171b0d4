/** Which board a bearer of the endpoint door speaks for. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { endpointSecret } from '../../protocol/identity.js';
import type { BoardId } from '../core/types.js';
import type { BoardBook } from './boards.js';

const SECRET = /^mote_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/;

/** Undefined for every bearer that is not exactly the one of a board in the book. */
export function boardOfSecret(book: Pick<BoardBook, 'key'>, bearer: string): BoardId | undefined {
  const boardId = SECRET.exec(bearer)?.[1];
  const key = boardId === undefined ? undefined : keyOf(book, boardId);
  if (boardId === undefined || key === undefined) return undefined;
  return timingSafeEqual(digest(bearer), digest(endpointSecret(boardId, key)))
    ? boardId
    : undefined;
}

/** A key that can't be read opens nothing, as if there was none. */
function keyOf(book: Pick<BoardBook, 'key'>, boardId: BoardId): Uint8Array | undefined {
  try {
    return book.key(boardId);
  } catch {
    return undefined;
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
