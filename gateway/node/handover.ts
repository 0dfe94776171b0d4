/**
 * Boards that change their gateway (amendment 10). Giving: the board gets a new key inside its own
 * session, and what is known of it here is forgotten once the hub says that the other gateway has
 * stored that key. Adopting: the key is durable here before the hub hears of it, and a crash at
 * any point leaves a board that one of the two gateways can speak to.
 */
import { createHash, randomBytes } from 'node:crypto';
import { handoverKeys, openHandover, sealHandover } from '../../protocol/handover.js';
import { toHex } from '../../protocol/identity.js';
import type { CcmMaker } from '../../protocol/sealing.js';
import { SecretUnreadable } from '../../store/secrets.js';
import { Backoff } from '../core/backoff.js';
import type { Gateway } from '../core/gateway.js';
import type { Journal } from '../core/journal.js';
import type { BoardId, Clock, Timer } from '../core/types.js';
import { isTransient } from '../doors/relay/client.js';
import type { HandoverHost, Handovers } from '../doors/relay/handovers.js';
import type { Adoption, Adoptions } from './adoptions.js';
import { type BoardBook, BoardBookError, type BoardEntry } from './boards.js';
import { HandoverError } from './handover-error.js';
import type { PendingKeys } from './pending-keys.js';

export interface BoardHandoverOptions {
  book: BoardBook;
  pending: PendingKeys;
  adoptions: Adoptions;
  journal: Journal;
  gateway: Pick<Gateway, 'board' | 'provision' | 'forget'>;
  clock: Clock;
  ccm: CcmMaker;
  /** The relay door's, which is there only while a hub is. */
  hub: () => Pick<Handovers, 'ask' | 'stored'> | undefined;
  /** The book has another board: links look for it from now on. */
  changed?: () => void;
  random?: (length: number) => Uint8Array;
  log?: (what: string, about: Record<string, unknown>) => void;
}

/** The link by which a board must have been paired: its gateway is whoever holds its key. */
const VIA = 'ble';
/** Which key of a board was in force when another was given to it, by board. */
const GIVEN = 'given';

export class BoardHandover implements HandoverHost {
  readonly #options: BoardHandoverOptions;
  readonly #backoff: Backoff;
  readonly #random: (length: number) => Uint8Array;
  readonly #log: NonNullable<BoardHandoverOptions['log']>;
  readonly #giving = new Set<BoardId>();
  readonly #adopting = new Set<string>();
  /** Boards on their way here that have spoken here, sooner than the journal has it. */
  readonly #proven = new Set<BoardId>();
  readonly #turns = new Map<BoardId, Promise<unknown>>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: BoardHandoverOptions) {
    this.#options = options;
    this.#log = options.log ?? (() => undefined);
    this.#random = options.random ?? ((length) => new Uint8Array(randomBytes(length)));
    this.#backoff = new Backoff(1_000, 60_000, () => (this.#random(1)[0] ?? 0) / 256);
  }

  /** Rejects with `HandoverError`, `ProvisionError`, `FrameError` or `JournalUnavailable`. */
  async give(boardId: BoardId, publicKey: Uint8Array, to: string): Promise<Uint8Array> {
    if (this.#giving.has(boardId)) throw new HandoverError('busy');
    this.#giving.add(boardId);
    try {
      return await this.#give(boardId, publicKey, to);
    } finally {
      this.#giving.delete(boardId);
    }
  }

  async #give(boardId: BoardId, publicKey: Uint8Array, to: string): Promise<Uint8Array> {
    const { ccm, gateway, journal } = this.#options;
    const entry = this.#entry(boardId);
    if (!entry) throw new HandoverError('unknown');
    if (entry.pairedVia !== VIA) throw new HandoverError('not_ble');
    if (gateway.board(boardId)?.presence.state !== 'online') throw new HandoverError('offline');
    const key = this.#random(16);
    // First: nothing is told to the board for somebody to whom it can't be sealed.
    const sealed = await sealHandover(ccm, publicKey, boardId, key);
    await journal.put(GIVEN, boardId, this.#mark(boardId));
    await gateway.provision(boardId, key, entry.name);
    this.#log('a board was given the key of another gateway', { board: boardId, to });
    return sealed;
  }

  /** Repeatable. Rejects with `HandoverError` or `JournalUnavailable`; it is told again then. */
  gone(boardId: BoardId): Promise<void> {
    return this.#inTurn(boardId, () => this.#gone(boardId));
  }

  async #gone(boardId: BoardId): Promise<void> {
    const { journal } = this.#options;
    if (this.#entry(boardId)) {
      const given = journal.get(GIVEN, boardId);
      if (given === undefined) throw new HandoverError('not_given');
      const now = this.#mark(boardId);
      if (now !== undefined && now !== given) {
        // Paired here anew since, after a reset: the key that was given opens nothing any more.
        await journal.put(GIVEN, boardId, undefined);
        this.#log('a board that was handed over is this gateway’s again', { board: boardId });
        return;
      }
    }
    await this.#letGo(boardId);
    await this.#options.adoptions.drop(boardId);
    await journal.put(GIVEN, boardId, undefined);
  }

  /**
   * Brings a board here from the gateway that has it; `deviceId` is the hub's name for it.
   * Rejects with `HandoverError`, `HubRefused` (with the other gateway's reason), `Unauthorized`,
   * `HubUnreachable`, `FrameError` (`bad_seal`) or `JournalUnavailable`. After `unfinished` it
   * goes on by itself; after any other the board stays where it was.
   */
  async adopt(deviceId: string): Promise<BoardEntry> {
    const { adoptions, ccm, gateway, hub } = this.#options;
    const asks = hub();
    if (!asks) throw new HandoverError('no_hub');
    if (this.#adopting.has(deviceId)) throw new HandoverError('busy');
    this.#adopting.add(deviceId);
    try {
      const keys = handoverKeys();
      const given = await asks.ask(deviceId, keys.publicKey);
      const { boardId, handoverId } = given;
      const key = await openHandover(ccm, keys, boardId, given.sealedKey);
      if (gateway.board(boardId)?.presence.state === 'online') {
        // A hub that is wrong about a board must not cost us the key by which it speaks.
        throw new HandoverError('already_here');
      }
      const name = this.#nameFor(boardId, given.name);
      return await this.#inTurn(boardId, async () => {
        this.#proven.delete(boardId);
        const adoption = { boardId, handoverId, name, key, proven: false };
        await adoptions.keep(adoption);
        return this.#finish(adoption);
      });
    } catch (error) {
      if (error instanceof HandoverError && error.code === 'unfinished') this.#later();
      throw error;
    } finally {
      this.#adopting.delete(deviceId);
    }
  }

  /** Goes on with what a crash cut, until nothing is left; once, at the start. */
  resume(): void {
    void this.#goOn();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** A sealed frame of the board has verified under the key that the book has. */
  async verified(boardId: BoardId): Promise<void> {
    const { adoptions } = this.#options;
    if (adoptions.find(boardId) === undefined) return;
    this.#proven.add(boardId);
    await this.#inTurn(boardId, async () => {
      const kept = adoptions.find(boardId);
      if (kept && this.#proven.has(boardId)) await adoptions.keep({ ...kept, proven: true });
    });
  }

  async #goOn(): Promise<void> {
    const { adoptions } = this.#options;
    for (const boardId of adoptions.list()) {
      if (this.#stopped) return;
      const work = this.#inTurn(boardId, async () => {
        const kept = adoptions.find(boardId);
        if (kept) await this.#finish(kept);
      });
      await work.catch((error) => {
        this.#log('a board is not adopted yet', { board: boardId, error: String(error) });
      });
    }
    // One whose key does not open any more can't be finished, ever.
    if (adoptions.list().some((boardId) => adoptions.find(boardId))) this.#later();
    else this.#backoff.reset();
  }

  #later(): void {
    if (this.#stopped) return;
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(this.#backoff.next(), () => void this.#goOn());
  }

  /** One step after the other for each board: what is kept of it must be what is finished. */
  #inTurn<T>(boardId: BoardId, run: () => Promise<T>): Promise<T> {
    const next = (this.#turns.get(boardId) ?? Promise.resolve()).then(run, run);
    const settled = next
      .catch(() => undefined)
      .then(() => {
        if (this.#turns.get(boardId) === settled) this.#turns.delete(boardId);
      });
    this.#turns.set(boardId, settled);
    return next;
  }

  async #finish(kept: Adoption): Promise<BoardEntry> {
    const { adoptions, hub } = this.#options;
    const { boardId } = kept;
    const entry = await this.#enter(kept);
    const asks = hub();
    if (!asks) throw new HandoverError('unfinished');
    try {
      await asks.stored(kept.handoverId);
    } catch (error) {
      if (isTransient(error)) throw new HandoverError('unfinished', error);
      // One that has spoken here is ours, whatever the hub has forgotten: it hears so when the
      // board is registered. Any other speaks to whoever it was given to meanwhile.
      if (!kept.proven && !this.#proven.has(boardId)) {
        await this.#letGo(boardId);
        await adoptions.drop(boardId);
        throw new HandoverError('taken_back', error);
      }
    }
    await adoptions.drop(boardId);
    this.#proven.delete(boardId);
    return entry;
  }

  /** Into the book, where a run before this one did not get so far. */
  async #enter({ boardId, key, name }: Adoption): Promise<BoardEntry> {
    const { book } = this.#options;
    const entry = this.#entry(boardId);
    if (entry && this.#mark(boardId) === markOf(key)) return entry;
    const adopted = await book.adopt({ boardId, key, name, via: VIA });
    this.#options.changed?.();
    return adopted;
  }

  /** Everything that is known of the board; its device stays at the hub. */
  async #letGo(boardId: BoardId): Promise<void> {
    const { book, gateway, journal, pending } = this.#options;
    // Before the book: whoever forgets a board of the book revokes the device that it finds here.
    await journal.put('device', boardId, undefined);
    await pending.drop(boardId);
    if (this.#entry(boardId)) await book.remove(boardId);
    // A crash came between the entry and the rest.
    else await gateway.forget(boardId);
  }

  #entry(boardId: BoardId): BoardEntry | undefined {
    return this.#options.book.list().find((board) => board.boardId === boardId);
  }

  /** Tells the board's key from others; undefined where there is none that opens. */
  #mark(boardId: BoardId): string | undefined {
    try {
      const key = this.#options.book.key(boardId);
      return key && markOf(key);
    } catch (error) {
      if (error instanceof SecretUnreadable) return undefined;
      throw error;
    }
  }

  /** What it was called where it comes from, if that can be a name here; the hub may say anything. */
  #nameFor(boardId: BoardId, given: string): string {
    const { book } = this.#options;
    try {
      return book.checkName(given, boardId);
    } catch (error) {
      // The book tells one that is taken by a number.
      const taken = error instanceof BoardBookError && error.code === 'name_taken';
      return taken ? given.normalize('NFC').trim() : `board-${boardId.slice(0, 8)}`;
    }
  }
}

function markOf(key: Uint8Array): string {
  return toHex(createHash('sha256').update('given').update(key).digest().subarray(0, 16));
}
