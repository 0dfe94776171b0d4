/** The board book: which boards there are, by name, and the key of each (room `key`, sealed). */
import { randomBytes } from 'node:crypto';
import { base64url, boardIdText, mqttPassword } from '../../protocol/identity.js';
import type { Secrets } from '../../store/secrets.js';
import type { Journal } from '../core/journal.js';
import type { BoardId } from '../core/types.js';

export type BoardBookFault = 'bad_name' | 'name_taken' | 'id_taken' | 'unknown' | 'ambiguous';

/** What was asked of the book can't be; nothing was changed. The message says what to do. */
export class BoardBookError extends Error {
  override readonly name = 'BoardBookError';
  constructor(
    readonly code: BoardBookFault,
    message: string,
  ) {
    super(message);
  }
}

export interface BoardEntry {
  boardId: BoardId;
  name: string;
  /** Unix milliseconds. */
  addedAt: number;
  /** The link over which it was paired by its set-up code; absent for a board that was added. */
  pairedVia?: string;
}

/** Everything a board needs; shown once, when it is added. */
export interface BoardIdentity extends BoardEntry {
  /** 16 bytes as base64url. */
  key: string;
  mqtt: { username: string; password: string };
}

export interface BoardBook {
  /**
   * Adds a board, with an id and a key of its own unless given. Rejects with `BoardBookError` or
   * `JournalUnavailable`.
   */
  add(name: string, given?: { boardId?: BoardId; key?: Uint8Array }): Promise<BoardIdentity>;
  /**
   * A board that was paired by its code: a new entry, or a new key for one that is there, which
   * keeps its name unless another is wanted. A name that is taken is told from it by a number.
   * Rejects with `JournalUnavailable`.
   */
  adopt(board: {
    boardId: BoardId;
    key: Uint8Array;
    name: string;
    via: string;
  }): Promise<BoardEntry>;
  /** The name in the form in which it would be kept. Throws `BoardBookError`. */
  checkName(name: string, except?: BoardId): string;
  /** By name. */
  list(): BoardEntry[];
  /** By id, exact name, or a name that differs in case only. Throws `BoardBookError`. */
  find(idOrName: string): BoardEntry;
  rename(idOrName: string, name: string): Promise<BoardEntry>;
  /** Forgets board and key, and what the embedded broker remembers of it. */
  remove(idOrName: string): Promise<BoardEntry>;
  /** Undefined for a board that is not in the book. Throws `SecretUnreadable`. */
  key(boardId: BoardId): Uint8Array | undefined;
  /** For the embedded broker: as `key`, but a key that can't be read is as none. */
  password(boardId: BoardId): string | undefined;
}

export interface BoardBookOptions {
  journal: Journal;
  secrets: Secrets;
  /** Unix milliseconds. */
  wall?: () => number;
  /** The embedded broker's `forget`, where there is one. */
  forget?: (boardId: BoardId) => Promise<void>;
}

const MAX_NAME = 64;
/** What a name may not hold: controls, and marks that turn the direction of what follows. */
const BAD_IN_NAME = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const LIKE_AN_ID = /^[0-9a-f]{16}$/i;

export function openBoardBook(options: BoardBookOptions): BoardBook {
  const { journal, secrets } = options;
  const wall = options.wall ?? Date.now;
  // The journal's own, read once: this process alone holds it, and with each addition looking
  // through all of it thousands of boards would take minutes.
  const entries = new Map<BoardId, BoardEntry>();
  const ids = new Map<string, BoardId>();
  for (const [boardId, text] of journal.list('board')) {
    const kept = JSON.parse(text) as Omit<BoardEntry, 'boardId'>;
    entries.set(boardId, { boardId, ...kept });
    ids.set(kept.name, boardId);
  }
  const keys = new Map<BoardId, Uint8Array>();
  const passwords = new Map<BoardId, string>();
  let turn: Promise<unknown> = Promise.resolve();

  /** One change after the other, so that two can't take one name. */
  function inTurn<T>(run: () => Promise<T>): Promise<T> {
    const next = turn.then(run, run);
    turn = next.catch(() => {});
    return next;
  }

  function list(): BoardEntry[] {
    return [...entries.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  function find(idOrName: string): BoardEntry {
    const wanted = idOrName.normalize('NFC');
    const exact = entries.get(wanted) ?? entries.get(ids.get(wanted) ?? '');
    if (exact) return exact;
    const alike = list().filter((board) => fold(board.name) === fold(wanted));
    const [only] = alike;
    if (only && alike.length === 1) return only;
    const shown = JSON.stringify(wanted.slice(0, MAX_NAME));
    if (only) {
      const names = alike.map((board) => board.name).join(', ');
      throw new BoardBookError('ambiguous', `${shown} could be ${names}: write it exactly.`);
    }
    throw new BoardBookError(
      'unknown',
      `There is no board ${shown}: \`motebridge boards list\` lists them.`,
    );
  }

  function freeName(name: string, except?: BoardId): string {
    const tidy = name.normalize('NFC').trim();
    const length = [...tidy].length;
    if (length < 1 || length > MAX_NAME || BAD_IN_NAME.test(tidy) || LIKE_AN_ID.test(tidy)) {
      const why = `a name has 1 to ${MAX_NAME} characters, no control characters, and is not like an id`;
      throw new BoardBookError('bad_name', `This name can’t be taken: ${why}.`);
    }
    const holder = ids.get(tidy);
    if (holder !== undefined && holder !== except) {
      throw new BoardBookError(
        'name_taken',
        `There is a board "${tidy}" already: choose another name.`,
      );
    }
    return tidy;
  }

  async function write(entry: BoardEntry): Promise<void> {
    const { boardId, ...kept } = entry;
    await journal.put('board', boardId, JSON.stringify(kept));
    forgetName(boardId);
    entries.set(boardId, entry);
    ids.set(entry.name, boardId);
  }

  function forgetName(boardId: BoardId): void {
    const name = entries.get(boardId)?.name;
    if (name !== undefined) ids.delete(name);
  }

  /** `name`, or the first of `name-2`, `name-3` … that is free. */
  function nextFree(name: string, except: BoardId): string {
    const taken = (wanted: string): boolean => (ids.get(wanted) ?? except) !== except;
    let free = name;
    for (let n = 2; taken(free); n++) {
      const end = `-${n}`;
      free = [...name].slice(0, MAX_NAME - end.length).join('') + end;
    }
    return free;
  }

  /** The key first: an entry without its key could never connect. */
  async function writeWithKey(entry: BoardEntry, key: Uint8Array): Promise<void> {
    const { boardId } = entry;
    await journal.put('key', boardId, secrets.seal(base64url(key), `key/${boardId}`));
    keys.delete(boardId);
    passwords.delete(boardId);
    await write(entry);
  }

  function key(boardId: BoardId): Uint8Array | undefined {
    const known = keys.get(boardId);
    if (known) return known;
    const sealed = journal.get('key', boardId);
    if (sealed === undefined) return undefined;
    const bytes = new Uint8Array(Buffer.from(secrets.open(sealed, `key/${boardId}`), 'base64url'));
    keys.set(boardId, bytes);
    return bytes;
  }

  return {
    add: (name, given = {}) =>
      inTurn(async () => {
        const tidy = freeName(name);
        const boardId = given.boardId ?? boardIdText(randomBytes(8));
        const bytes = given.key ?? new Uint8Array(randomBytes(16));
        if (!/^[0-9a-f]{16}$/.test(boardId) || bytes.length !== 16) {
          throw new RangeError('A board id is 16 lower-case hex digits, a key 16 bytes.');
        }
        if (entries.has(boardId)) {
          throw new BoardBookError('id_taken', `Board ${boardId} is in the book already.`);
        }
        const entry = { boardId, name: tidy, addedAt: wall() };
        await writeWithKey(entry, bytes);
        const mqtt = { username: boardId, password: mqttPassword(bytes) };
        return { ...entry, key: base64url(bytes), mqtt };
      }),
    adopt: ({ boardId, key, name, via }) =>
      inTurn(async () => {
        const before = entries.get(boardId);
        const entry: BoardEntry = {
          boardId,
          name: nextFree(name, boardId),
          addedAt: before?.addedAt ?? wall(),
          pairedVia: via,
        };
        await writeWithKey(entry, key);
        return entry;
      }),
    checkName: freeName,
    list,
    find,
    rename: (idOrName, name) =>
      inTurn(async () => {
        const before = find(idOrName);
        const entry = { ...before, name: freeName(name, before.boardId) };
        await write(entry);
        return entry;
      }),
    remove: (idOrName) =>
      inTurn(async () => {
        const entry = find(idOrName);
        // The key first: after a crash between the two the entry is there to be removed again.
        await journal.put('key', entry.boardId, undefined);
        keys.delete(entry.boardId);
        passwords.delete(entry.boardId);
        await journal.put('board', entry.boardId, undefined);
        forgetName(entry.boardId);
        entries.delete(entry.boardId);
        await options.forget?.(entry.boardId);
        return entry;
      }),
    key,
    password(boardId) {
      const known = passwords.get(boardId);
      if (known !== undefined) return known;
      let bytes: Uint8Array | undefined;
      try {
        bytes = key(boardId);
      } catch {
        return undefined;
      }
      if (!bytes) return undefined;
      const password = mqttPassword(bytes);
      passwords.set(boardId, password);
      return password;
    },
  };
}

function fold(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}
