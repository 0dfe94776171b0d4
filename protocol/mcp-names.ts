/**
 * Names of MCP tools: 1 to 64 of `A-Za-z0-9_-`, one for each verb of each board. A name is
 * `board-verb` where that is short, plain and nobody else's; otherwise both are cut and a hash
 * of the board's id and the verb follows, so that a name never comes to mean another board.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { toHex } from './identity.js';

export const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** What a name stands for. `board` is the name that people gave it, `boardId` is unique. */
export interface Named {
  readonly boardId: string;
  readonly board: string;
  readonly verb: string;
}

const MAX = 64;
const HASH_BYTES = 5;
const BOARD_MAX = 24;
const VERB_MAX = MAX - BOARD_MAX - 2 * HASH_BYTES - 2;
/** No plain name may look so: then the two kinds can't meet. */
const HASHED = /-[0-9a-f]{10}$/;

/**
 * A name for each; they are unique for as long as (board id, verb) are. The answer doesn't
 * depend on the order, and a newcomer changes no name but the plain one that it shares.
 */
export function toolNames(all: readonly Named[]): Map<string, Named> {
  const sharing = new Map<string, Named[]>();
  const hashed: Named[] = [];
  for (const named of all) {
    const name = plainName(named);
    if (name === undefined) hashed.push(named);
    else sharing.set(name, [...(sharing.get(name) ?? []), named]);
  }
  const names = new Map<string, Named>();
  for (const [name, group] of sharing) {
    const [only] = group;
    if (only && group.length === 1) names.set(name, only);
    else hashed.push(...group);
  }
  const inOrder = hashed.sort((a, b) => compare(a.boardId, b.boardId) || compare(a.verb, b.verb));
  for (const named of inOrder) {
    let attempt = 0;
    while (names.has(hashedName(named, attempt))) attempt += 1;
    names.set(hashedName(named, attempt), named);
  }
  return names;
}

/** Undefined where the board's name loses its meaning, or the whole is too long. */
function plainName({ board, verb }: Named): string | undefined {
  if (!/^[ -~]+$/.test(board)) return undefined;
  const name = `${word(board)}-${word(verb)}`;
  return name.length <= MAX && !HASHED.test(name) ? name : undefined;
}

function hashedName({ boardId, board, verb }: Named, attempt: number): string {
  const bytes = new TextEncoder().encode(JSON.stringify([boardId, verb, attempt]));
  const hash = toHex(sha256(bytes).slice(0, HASH_BYTES));
  // `ü` is better read as `u` than as a gap.
  const bare = board.normalize('NFKD').replace(/\p{M}/gu, '');
  const front = word(bare).replace(/_+/g, '_').replace(/^_|_$/g, '').slice(0, BOARD_MAX);
  return `${front === '' ? 'board' : front}-${word(verb).slice(0, VERB_MAX)}-${hash}`;
}

const word = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, '_');

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
