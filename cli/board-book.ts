/**
 * Which boards this gateway speaks for: their names and keys, kept in the gateway's journal.
 * `boards …` works on it through a running `start`, or by itself when nothing runs.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Journal } from '../gateway/core/journal.js';
import { boardIdText } from '../protocol/identity.js';
import { CliError, EXIT } from './fault.js';
import { clean } from './text.js';

export interface BoardEntry {
  /** 16 hex digits. */
  id: string;
  name: string;
  /** Unix milliseconds. */
  addedAt: number;
}

/** Where keys are kept, encrypted. */
export interface KeyVault {
  get(boardId: string): Uint8Array | undefined;
  put(boardId: string, key: Uint8Array): Promise<void>;
  remove(boardId: string): Promise<void>;
}

export interface BoardBookHooks {
  /** After the board's key is gone: end its connection, take it off the hub. */
  removed?(board: BoardEntry): Promise<void>;
  renamed?(board: BoardEntry): Promise<void>;
}

const ROOM = 'board';
const storedSchema = z.object({ name: z.string(), addedAt: z.number() });

/** 1 to 64 characters that a terminal can show; not shaped like an id, so that none is mistaken. */
export function boardName(text: string): string {
  const name = text.trim();
  const refuse = (why: string): CliError =>
    new CliError('bad_name', `A board's name ${why}; choose another one.`, EXIT.usage);
  if (name === '') throw refuse('must not be empty');
  if ([...name].length > 64) throw refuse('has at most 64 characters');
  if (clean(name) !== name || /[\t\n]/.test(name)) throw refuse('must hold no control characters');
  if (/^([0-9a-f]{16}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i.test(name)) {
    throw refuse('must not look like an id');
  }
  return name;
}

export class BoardBook {
  constructor(
    private readonly journal: Journal,
    private readonly keys: KeyVault,
    private readonly hooks: BoardBookHooks = {},
    private readonly wall: () => number = Date.now,
  ) {}

  list(): BoardEntry[] {
    const boards: BoardEntry[] = [];
    for (const [id, text] of this.journal.list(ROOM)) {
      const board = parseEntry(id, text);
      if (board !== undefined) boards.push(board);
    }
    return boards.sort((a, b) => a.addedAt - b.addedAt || a.name.localeCompare(b.name));
  }

  key(id: string): Uint8Array | undefined {
    return this.keys.get(id);
  }

  /** A new identity. The key is kept before the name, so that no board stands without one. */
  async add(wanted: string): Promise<BoardEntry> {
    const name = boardName(wanted);
    this.mustBeFree(name);
    const board = { id: boardIdText(randomBytes(8)), name, addedAt: this.wall() };
    await this.keys.put(board.id, new Uint8Array(randomBytes(16)));
    await this.keep(board);
    return board;
  }

  async rename(which: string, wanted: string): Promise<BoardEntry> {
    const board = this.find(which);
    const name = boardName(wanted);
    if (name === board.name) return board;
    this.mustBeFree(name, board.id);
    const renamed = { ...board, name };
    await this.keep(renamed);
    await this.hooks.renamed?.(renamed);
    return renamed;
  }

  async remove(which: string): Promise<BoardEntry> {
    const board = this.find(which);
    await this.keys.remove(board.id);
    await this.journal.put(ROOM, board.id, undefined);
    await this.hooks.removed?.(board);
    return board;
  }

  /** By id or by name. Throws `unknown_board`. */
  find(which: string): BoardEntry {
    const board = this.list().find(({ id, name }) => id === which || name === which);
    if (board !== undefined) return board;
    throw new CliError(
      'unknown_board',
      `There is no board "${clean(which)}" here; \`motebridge boards list\` shows them.`,
      EXIT.refused,
    );
  }

  private mustBeFree(name: string, except?: string): void {
    const same = (other: string): boolean => other.toLowerCase() === name.toLowerCase();
    if (!this.list().some((board) => board.id !== except && same(board.name))) return;
    throw new CliError(
      'name_taken',
      `There is a board named "${name}" already; choose another name, or remove that one first.`,
      EXIT.refused,
    );
  }

  private keep({ id, name, addedAt }: BoardEntry): Promise<void> {
    return this.journal.put(ROOM, id, JSON.stringify({ name, addedAt }));
  }
}

function parseEntry(id: string, text: string): BoardEntry | undefined {
  try {
    return { id, ...storedSchema.parse(JSON.parse(text)) };
  } catch {
    return undefined;
  }
}
