/** A board's catalog in the gateway: gathered page by page, kept in the journal for this board. */
import { type BoardCatalog, buildCatalog } from '../../protocol/catalog.js';
import { decodeMessage } from '../../protocol/codec.js';
import { fromHex, toHex } from '../../protocol/identity.js';
import type { MessageOf } from '../../protocol/messages.js';
import type { Journal } from './journal.js';
import type { BoardId } from './types.js';

/** All pages of one catalog together, in bytes. */
const MAX_PAGES_BYTES = 256 * 1024;

interface Page {
  message: MessageOf<'caps'>;
  bytes: Uint8Array;
}

export class CapsBook {
  readonly #journal: Journal;
  readonly #boardId: BoardId;
  #pages = new Map<number, Page>();
  #bytes = 0;
  catalog: BoardCatalog | undefined;

  constructor(journal: Journal, boardId: BoardId) {
    this.#journal = journal;
    this.#boardId = boardId;
    this.catalog = this.#load();
  }

  /** Forgets pages of an earlier, unfinished list. */
  restart(): void {
    this.#pages = new Map();
    this.#bytes = 0;
  }

  /**
   * Takes a page; the catalog when it was the last one missing. Throws what `buildCatalog`
   * throws, and a `RangeError` when the pages together are too large.
   */
  take(message: MessageOf<'caps'>, bytes: Uint8Array): BoardCatalog | undefined {
    const before = this.#pages.get(message.page);
    this.#bytes += bytes.length - (before?.bytes.length ?? 0);
    if (this.#bytes > MAX_PAGES_BYTES) {
      this.restart();
      throw new RangeError(`the capabilities are larger than ${MAX_PAGES_BYTES} bytes`);
    }
    this.#pages.set(message.page, { message, bytes: bytes.slice() });
    for (const [page, held] of this.#pages) {
      if (held.message.pages !== message.pages || page >= message.pages) this.#pages.delete(page);
    }
    if (this.#pages.size < message.pages) return undefined;
    const pages = [...this.#pages.entries()].sort(([a], [b]) => a - b).map(([, page]) => page);
    this.restart();
    const catalog = buildCatalog(pages);
    this.catalog = catalog;
    const kept = JSON.stringify(pages.map((page) => toHex(page.bytes)));
    void this.#journal.put('catalog', this.#boardId, kept).catch(() => undefined);
    return catalog;
  }

  #load(): BoardCatalog | undefined {
    const kept = this.#journal.get('catalog', this.#boardId);
    if (!kept) return undefined;
    try {
      const pages = (JSON.parse(kept) as string[]).map(fromHex).map((bytes) => {
        const message = decodeMessage(bytes);
        if (message.type !== 'caps') throw new TypeError('not a CAPS page');
        return { message, bytes };
      });
      return buildCatalog(pages);
    } catch {
      return undefined;
    }
  }
}
