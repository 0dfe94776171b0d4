/**
 * BLE boards of other makers that the owner has added (room `ble`): which profile speaks for each,
 * where it is heard, and the key of its broadcasts, sealed. Their names are the board book's. A
 * board that is not in here is nobody's: profiles leave it alone.
 */
import { base64url } from '../../protocol/identity.js';
import type { Secrets } from '../../store/secrets.js';
import type { Journal } from '../core/journal.js';
import type { BoardId } from '../core/types.js';
import type { KnownBoard, Sighting } from '../links/ble/profile.js';
import { plainAddress, spokenBoardId } from '../links/ble/spoken-board.js';
import type { BoardBook, BoardEntry } from './boards.js';

export type BleBookFault = 'needs_key' | 'bad_key' | 'bad_address' | 'key_not_used';

/** The board was not added; the message says what to do. */
export class BleBookError extends Error {
  override readonly name = 'BleBookError';
  constructor(
    readonly code: BleBookFault,
    message: string,
  ) {
    super(message);
  }
}

export interface BleEntry extends BoardEntry {
  readonly profile: string;
  readonly address: string;
  readonly encrypted: boolean;
  /** The key of its broadcasts does not open: it is heard by nobody until it is added anew. */
  readonly keyUnreadable: boolean;
}

export interface BleBook {
  /**
   * Adds a board that was heard. `bindKey` is what its maker's app shows, 32 hex digits. Rejects
   * with `BleBookError`, `BoardBookError` or `JournalUnavailable`; nothing is kept then.
   */
  add(
    name: string,
    seen: Pick<Sighting, 'profile' | 'address' | 'needs'>,
    bindKey?: string,
  ): Promise<BleEntry>;
  /** By name. */
  list(): BleEntry[];
  has(boardId: BoardId): boolean;
  /** For the link: those of the board book whose key can be read. */
  known(): KnownBoard[];
  /** Forgets what is kept of a board besides the board book; for one that is not here, nothing. */
  forget(boardId: BoardId): Promise<void>;
  /** What a profile has learned of its boards, kept across restarts. */
  readonly memory: {
    load(boardId: BoardId): string | undefined;
    save(boardId: BoardId, text: string): void;
  };
}

export interface BleBookOptions {
  journal: Journal;
  secrets: Secrets;
  book: BoardBook;
  /** The link must look at `known` again. */
  changed?(): void;
}

const ROOM = 'ble';
const LEARNED = 'ble-learned';
const KEY = /^[0-9a-f]{32}$/i;
const ADDRESS = /^[0-9a-f]{12}$/;

interface Kept {
  profile: string;
  address: string;
  /** Sealed base64url. */
  key?: string;
}

type Opened = BleEntry & { readonly bindKey?: Uint8Array };

export function openBleBook(options: BleBookOptions): BleBook {
  const { journal, secrets, book } = options;
  const place = (boardId: BoardId): string => `${ROOM}/${boardId}`;

  function entries(): Opened[] {
    const kept = new Map(journal.list(ROOM));
    return book.list().flatMap((entry): Opened[] => {
      const text = kept.get(entry.boardId);
      if (text === undefined) return [];
      const { profile, address, key } = JSON.parse(text) as Kept;
      const about = { ...entry, profile, address, encrypted: key !== undefined };
      if (key === undefined) return [{ ...about, keyUnreadable: false }];
      try {
        const opened = secrets.open(key, place(entry.boardId));
        const bindKey = new Uint8Array(Buffer.from(opened, 'base64url'));
        return [{ ...about, keyUnreadable: false, bindKey }];
      } catch {
        return [{ ...about, keyUnreadable: true }];
      }
    });
  }

  return {
    async add(name, { profile, address, needs }, bindKey) {
      const plain = plainAddress(address);
      if (!ADDRESS.test(plain)) {
        throw new BleBookError(
          'bad_address',
          'This adapter does not tell the addresses of devices, and this board is known by its own; it was not added.',
        );
      }
      const digits = bindKey?.replaceAll(/[\s:-]/g, '');
      if (needs === 'bind_key' && digits === undefined) {
        throw new BleBookError(
          'needs_key',
          'This sensor encrypts what it says; it was not added. Give its bind key, which its maker’s app shows.',
        );
      }
      if (needs !== 'bind_key' && digits !== undefined) {
        throw new BleBookError(
          'key_not_used',
          'This board does not encrypt what it says; it was not added. Leave the bind key out, or switch its encryption on first.',
        );
      }
      if (digits !== undefined && !KEY.test(digits)) {
        throw new BleBookError(
          'bad_key',
          'A bind key is 32 hex digits; the board was not added. Copy it once more.',
        );
      }
      const boardId = spokenBoardId(profile, plain);
      const kept: Kept = { profile, address: plain };
      if (digits !== undefined) {
        const text = base64url(new Uint8Array(Buffer.from(digits, 'hex')));
        kept.key = secrets.seal(text, place(boardId));
      }
      // The board book refuses a name or an id that is taken, before anything is kept here.
      const { name: called, addedAt } = await book.add(name, { boardId });
      try {
        await journal.put(LEARNED, boardId, undefined);
        await journal.put(ROOM, boardId, JSON.stringify(kept));
      } catch (error) {
        await book.remove(boardId).catch(() => {});
        throw error;
      }
      options.changed?.();
      const encrypted = digits !== undefined;
      const entry = { boardId, name: called, addedAt, profile, address: plain };
      return { ...entry, encrypted, keyUnreadable: false };
    },

    list: () => entries().map(({ bindKey: _, ...entry }) => entry),

    has: (boardId) => journal.get(ROOM, boardId) !== undefined,

    known: () =>
      entries()
        .filter((entry) => !entry.keyUnreadable)
        .map(({ boardId, profile, address, bindKey }) => ({
          boardId,
          profile,
          address,
          ...(bindKey ? { bindKey } : {}),
        })),

    async forget(boardId) {
      if (journal.get(ROOM, boardId) === undefined) return;
      await journal.put(ROOM, boardId, undefined);
      options.changed?.();
      await journal.put(LEARNED, boardId, undefined);
    },

    memory: {
      load: (boardId) => journal.get(LEARNED, boardId),
      save(boardId, text) {
        // A board that was removed leaves nothing behind; one that is not kept is learned anew.
        if (journal.get(ROOM, boardId) === undefined) return;
        journal.put(LEARNED, boardId, text).catch(() => {});
      },
    },
  };
}
