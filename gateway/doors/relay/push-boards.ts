/** The boards of this gateway at its own hub: registered, refreshed when their catalog changes. */
import type { z } from 'zod';
import { boardReply, type boardRequest } from '../../../protocol/gateway-api.js';
import { toJsonSchema } from '../../../protocol/signature.js';
import { cutText } from '../../../protocol/tiny.js';
import { Backoff } from '../../core/backoff.js';
import type { BoardId, BoardView, Timer } from '../../core/types.js';
import { HubRefused, isTransient } from './client.js';
import { deviceOf, type RelayDeps } from './deps.js';

/** Registrations under way at once. */
const AT_ONCE = 8;
/** A board that the hub refuses (another owner's) is offered again after this. */
const REFUSED_MS = 300_000;

export class PushBoards {
  readonly #deps: RelayDeps;
  readonly #token: string;
  readonly #registered: (board: BoardView, deviceId: string) => void;
  readonly #boardOf = new Map<string, BoardId>();
  /** What the hub was told last: name and catalog hash. */
  readonly #told = new Map<BoardId, string>();
  /** States that are being told now, or that the hub refused a while ago. */
  readonly #shut = new Map<BoardId, string>();
  readonly #queue = new Set<BoardId>();
  readonly #timers = new Set<Timer>();
  readonly #backoff: Backoff;
  #busy = 0;
  #waiting = false;
  #stopped = false;

  constructor(
    deps: RelayDeps,
    token: string,
    registered: (board: BoardView, deviceId: string) => void,
  ) {
    this.#deps = deps;
    this.#token = token;
    this.#registered = registered;
    this.#backoff = new Backoff(500, 60_000, deps.random);
    for (const [boardId, deviceId] of deps.journal.list('device')) {
      this.#boardOf.set(deviceId, boardId);
    }
  }

  get size(): number {
    return this.#told.size;
  }

  boardOf(deviceId: string): BoardId | undefined {
    return this.#boardOf.get(deviceId);
  }

  /** The hub's id of a board that it has confirmed since this start. */
  deviceOf(boardId: BoardId): string | undefined {
    return this.#told.has(boardId) ? deviceOf(this.#deps.journal, boardId) : undefined;
  }

  /** Registers the board unless the hub knows it just so. */
  refresh(board: BoardView): void {
    const state = stateOf(board);
    if (!board.catalog) return;
    // One that was handed over and has come back has lost its device here.
    const known = deviceOf(this.#deps.journal, board.id) !== undefined;
    if (known && this.#told.get(board.id) === state) return;
    if (this.#shut.get(board.id) === state) return;
    this.#queue.add(board.id);
    this.#next();
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    this.#queue.clear();
  }

  #next(): void {
    while (!this.#stopped && !this.#waiting && this.#busy < AT_ONCE) {
      const [boardId] = this.#queue;
      if (boardId === undefined) return;
      this.#queue.delete(boardId);
      this.#busy++;
      void this.#register(boardId).finally(() => {
        this.#busy--;
        this.#next();
      });
    }
  }

  async #register(boardId: BoardId): Promise<void> {
    const { client, journal, switchboard, log, counters } = this.#deps;
    const board = switchboard.board(boardId);
    if (!board?.catalog) return;
    const state = stateOf(board);
    this.#shut.set(boardId, state);
    try {
      const { device_id } = await client.ask({
        method: 'POST',
        path: '/api/gateway/v1/boards',
        token: this.#token,
        body: registration(board),
        answer: boardReply,
      });
      const before = deviceOf(journal, boardId);
      if (before !== device_id) await journal.put('device', boardId, device_id);
      if (before !== undefined && before !== device_id) this.#boardOf.delete(before);
      this.#boardOf.set(device_id, boardId);
      this.#told.set(boardId, state);
      this.#shut.delete(boardId);
      this.#backoff.reset();
      // It may have come online, or gone, while the hub was asked.
      this.#registered(switchboard.board(boardId) ?? board, device_id);
    } catch (error) {
      if (this.#stopped) return;
      counters.count('boards.refused');
      if (error instanceof HubRefused && !isTransient(error)) {
        log('the hub does not take a board', { board: boardId, error: error.error });
        this.#later(REFUSED_MS, () => {
          this.#shut.delete(boardId);
          this.#queue.add(boardId);
        });
        return;
      }
      this.#shut.delete(boardId);
      this.#queue.add(boardId);
      if (this.#waiting) return;
      // One wait for all: what hinders one board (no hub, no login, no journal) hinders each.
      this.#waiting = true;
      const wait = this.#backoff.next();
      log('a board is not registered yet', { board: boardId, wait, error: String(error) });
      this.#later(wait, () => {
        this.#waiting = false;
      });
    }
  }

  #later(ms: number, run: () => void): void {
    const timer = this.#deps.clock.after(ms, () => {
      this.#timers.delete(timer);
      run();
      this.#next();
    });
    this.#timers.add(timer);
  }
}

function stateOf(board: BoardView): string {
  return `${board.catalog?.hash} ${board.name}`;
}

export function registration(board: BoardView): z.input<typeof boardRequest> {
  const verbs = board.catalog?.verbs ?? [];
  return {
    boardId: board.id,
    name: cutText(board.name.trim(), 64) || board.id,
    platform: cutText(board.catalog?.platform ?? '', 32),
    capabilities: verbs.map(({ name }) => name),
    catalog: {
      firmware: board.catalog?.firmware ?? '',
      verbs: verbs.map((verb) => ({
        name: verb.name,
        description: verb.description,
        signature: verb.signature.text,
        parameters: { ...toJsonSchema(verb.signature) },
        protected: verb.protected,
        idempotent: verb.idempotent,
        readOnly: verb.readOnly,
      })),
      readings: (board.catalog?.readings ?? []).map(({ name, unit }) => ({ name, unit })),
    },
  };
}
