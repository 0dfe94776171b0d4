/**
 * Which key a board speaks under: that of the book, or while it is being paired the one that it
 * may hold already. A key that a board has proven becomes the book's.
 */
import type { BoardId } from '../core/types.js';
import type { BoardBook, BoardEntry } from './boards.js';
import type { PendingKeys } from './pending-keys.js';

export class BoardKeys {
  readonly #book: BoardBook;
  readonly #pending: PendingKeys;

  constructor(book: BoardBook, pending: PendingKeys) {
    this.#book = book;
    this.#pending = pending;
  }

  /** Throws `SecretUnreadable`. */
  keyOf(boardId: BoardId): Uint8Array | undefined {
    return this.#book.key(boardId) ?? this.#pending.find(boardId)?.key;
  }

  /** The board holds its pending key; undefined where it has none. */
  async promote(boardId: BoardId): Promise<BoardEntry | undefined> {
    const kept = this.#pending.find(boardId);
    if (!kept) return undefined;
    const entry = await this.#book.adopt(kept);
    await this.#pending.drop(boardId);
    return entry;
  }

  /** A sealed frame of the board has verified under the key that `keyOf` gave. */
  async verified(boardId: BoardId): Promise<void> {
    const kept = this.#pending.find(boardId);
    if (!kept) return;
    const known = this.#book.key(boardId);
    // It speaks under the key that it had: the try to give it another came to nothing.
    if (known && !known.every((byte, i) => byte === kept.key[i])) {
      await this.#pending.drop(boardId);
    } else await this.promote(boardId);
  }
}
