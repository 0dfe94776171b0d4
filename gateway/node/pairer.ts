/**
 * Pairs boards by their set-up codes over a link, and keeps what a crash must not lose. A key is
 * `pending` from before PROVISION leaves until the board has said that it holds it, or has
 * spoken under it; then it is the board's in the book. Doors enrol a board at the hub once it has
 * greeted under that key, so a pairing that fails has enrolled nothing.
 */
import type { CcmMaker } from '../../protocol/sealing.js';
import type { SetupCode } from '../../protocol/setup-code.js';
import type { Journal } from '../core/journal.js';
import { LIMITS } from '../core/limits.js';
import { Pairing } from '../core/pairing.js';
import { PairingError, type PairingFault } from '../core/pairing-error.js';
import type { BoardId, Clock, PathListener, Timer } from '../core/types.js';
import { BleError } from '../links/ble/port.js';
import type { Sighting } from '../links/ble/profile.js';
import type { BoardKeys } from './board-keys.js';
import type { BoardBook, BoardEntry } from './boards.js';
import type { PendingKeys } from './pending-keys.js';

/** What pairing needs of a link. */
export interface PairingLink {
  /** As `Path.via`. */
  readonly via: string;
  /** Boards heard lately, strongest first. */
  sightings(): Sighting[];
  /** Looks for boards until the answer is called. */
  watch(run: (sighting: Sighting) => void): () => void;
  /**
   * Connects and gives `listener` the path, in place of the link's own; with `handOver` the link
   * tells its own from then on. Rejects if it can't.
   */
  openFor(
    at: { address: string; boardId: BoardId },
    listener: PathListener,
  ): Promise<{ handOver(): void }>;
}

export type PairStep = 'looking' | 'connecting' | 'provisioning' | 'storing' | 'greeting';

export interface PairWish {
  code: SetupCode;
  /** Where the link has the board; found by its id otherwise. */
  address?: string | undefined;
  name?: string | undefined;
}

export interface Paired extends BoardEntry {
  /** It has spoken under its key already; otherwise it will when it comes back. */
  online: boolean;
}

export interface PairerOptions {
  book: BoardBook;
  pending: PendingKeys;
  keys: BoardKeys;
  link: PairingLink;
  /** The gateway: takes the connection over. */
  next: PathListener;
  journal: Journal;
  clock: Clock;
  ccm: CcmMaker;
  random?: (length: number) => Uint8Array;
  /** Whether the board speaks with this gateway now, under the key that it has. */
  online?(boardId: BoardId): boolean;
  /** Other boards are known than before: the link must look. */
  changed?(): void;
}

/** How long a board is looked for, and waited for once it has its key. */
const LOOK_MS = 20_000;
const ONLINE_MS = 20_000;
/** After these the board holds no key of this pairing, whoever said so. */
const CLEAN: readonly PairingFault[] = [
  'wrong_code',
  'locked_out',
  'already_paired',
  'wrong_board',
  'cannot_pair',
];

export class Pairer {
  readonly #options: PairerOptions;
  readonly #busy = new Set<BoardId>();
  readonly #waiting = new Map<BoardId, () => void>();

  constructor(options: PairerOptions) {
    this.#options = options;
  }

  /** Those heard in the next `ms`, and lately; strongest first. */
  async scan(ms: number): Promise<Sighting[]> {
    const { link, clock } = this.#options;
    const stop = link.watch(() => undefined);
    await new Promise<void>((done) => clock.after(ms, done));
    stop();
    return link.sightings();
  }

  /** Rejects with `PairingError`, or `BoardBookError` for a name that can't be taken. */
  async pair(wish: PairWish, onStep: (step: PairStep) => void = () => undefined): Promise<Paired> {
    const { boardId } = wish.code;
    if (this.#busy.has(boardId)) throw new PairingError('busy');
    if (this.#options.online?.(boardId) === true) throw new PairingError('already_paired');
    this.#busy.add(boardId);
    try {
      return await this.#pair(wish, onStep);
    } finally {
      this.#busy.delete(boardId);
      this.#waiting.delete(boardId);
      this.#options.changed?.();
    }
  }

  /** A sealed frame of the board has verified under the key that `keyOf` gave. */
  async verified(boardId: BoardId): Promise<void> {
    this.#waiting.get(boardId)?.();
    if (this.#busy.has(boardId)) return;
    await this.#options.keys.verified(boardId);
  }

  async #pair(
    { code, address, name }: PairWish,
    onStep: (step: PairStep) => void,
  ): Promise<Paired> {
    const { boardId } = code;
    const { book, keys, link, clock, pending } = this.#options;
    const wanted = name === undefined ? undefined : book.checkName(name, boardId);
    onStep('looking');
    const sighting =
      address === undefined
        ? await this.#look(boardId)
        : link.sightings().find((seen) => seen.address === address);
    const called = wanted ?? this.#nameFor(boardId, sighting?.name);
    onStep('connecting');
    let fresh = false;
    let entry: BoardEntry | undefined;
    const verified = new Promise<boolean>((done) => {
      this.#waiting.set(boardId, () => done(true));
    });
    const pairing = new Pairing(
      {
        ...this.#greeting(),
        keep: async () => {
          const kept = await pending.begin(boardId, called, link.via);
          fresh = kept.fresh;
          return kept;
        },
        confirm: async () => {
          entry = await keys.promote(boardId);
          if (!entry) throw new Error('the key that was kept is not there any more');
        },
        step: (step) => {
          if (step === 'provisioning' || step === 'storing') onStep(step);
        },
      },
      code,
    );
    try {
      await this.#connect({ address: address ?? (sighting as Sighting).address, boardId }, pairing);
    } catch (error) {
      const known = error instanceof PairingError ? error.code : undefined;
      // What did not leave, or did not arrive, leaves nothing behind.
      const clean = !pairing.sent || (known !== undefined && CLEAN.includes(known));
      if (fresh && clean) await pending.drop(boardId);
      throw error;
    }
    // From here on a link that breaks is to be made again.
    this.#options.changed?.();
    onStep('greeting');
    let timer: Timer | undefined;
    const late = new Promise<boolean>((done) => {
      timer = clock.after(ONLINE_MS, () => done(false));
    });
    const online = await Promise.race([verified, late]);
    timer?.cancel();
    return { ...(entry as BoardEntry), online };
  }

  async #connect(at: { address: string; boardId: BoardId }, pairing: Pairing): Promise<void> {
    const opened = this.#options.link.openFor(at, pairing);
    // A link that can't connect says why; one that can has given the path by then.
    opened.catch((cause: unknown) => {
      // A radio's own words say more than ours.
      const message = cause instanceof BleError ? { message: cause.message } : {};
      pairing.cancel('lost', { cause, ...message });
    });
    await pairing.done;
    (await opened).handOver();
  }

  #greeting() {
    const { journal, clock, ccm, next } = this.#options;
    const random =
      this.#options.random ?? ((n: number) => globalThis.crypto.getRandomValues(new Uint8Array(n)));
    return { journal, clock, ccm, next, random, limits: LIMITS };
  }

  /** The board with this id, as soon as it is heard and can be paired. */
  async #look(boardId: BoardId): Promise<Sighting> {
    const { link, clock } = this.#options;
    const is = (s: Sighting): boolean =>
      s.needs === 'code' && (s.boardId ?? `${s.idPrefix}`) === boardId.slice(0, s.boardId ? 16 : 8);
    let paired = false;
    const found = link.sightings().find((s) => is(s) && !s.paired);
    if (found) return found;
    return new Promise((resolve, reject) => {
      const stop = link.watch((sighting) => {
        if (!is(sighting)) return;
        paired = sighting.paired;
        if (!paired) end(() => resolve(sighting));
      });
      const timer = clock.after(LOOK_MS, () =>
        end(() => reject(new PairingError(paired ? 'already_paired' : 'not_found'))),
      );
      function end(then: () => void): void {
        stop();
        timer.cancel();
        then();
      }
    });
  }

  /** What it was called before, what it calls itself if that can be a name, or its id's start. */
  #nameFor(boardId: BoardId, own: string | undefined): string {
    const { book, pending } = this.#options;
    const before = book.list().find((board) => board.boardId === boardId)?.name;
    if (before !== undefined) return before;
    const tried = pending.find(boardId)?.name;
    for (const name of [tried, own]) {
      try {
        if (name !== undefined) return book.checkName(name, boardId);
      } catch {
        // Taken, or no name: the air is full of text.
      }
    }
    return `board-${boardId.slice(0, 8)}`;
  }
}
