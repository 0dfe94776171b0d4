/**
 * The known boards and when each may be tried: where it was heard, how often it failed and for
 * what, and since when it waits. Decides, does nothing.
 */
import type { BoardId, Clock } from '../../core/types.js';
import type { LinkLog } from '../link.js';
import type { KnownBoard } from './profile.js';
import { type FailureCause, HELD_MS, jittered, STRANGER_WAITS, waitFor } from './retry.js';

export interface Seat {
  readonly board: KnownBoard;
  /** Where it was heard, with monotonic milliseconds; several where one is not it. */
  readonly heard: Map<string, { at: number; rssi: number }>;
  failures: number;
  nextTryAt: number;
  waitingSince: number;
  /** The last trouble, in words. */
  why: string | undefined;
  /** Links lost within seconds, one after another. */
  quickLosses: number;
  noSlotSaid: boolean;
}

/** An address that was heard longer ago may be stale. */
const FRESH_MS = 15_000;
const ADDRESSES_PER_BOARD = 4;
const AVOIDED = 256;
/** A link that ends within this was hardly one; so many in a row are a board that restarts. */
const QUICK_MS = 10_000;
const QUICK_LOSSES = 5;

export interface KeeperOptions {
  readonly clock: Clock;
  random(): number;
  count(name: string): void;
  readonly log: LinkLog;
}

export class Keeper {
  readonly #options: KeeperOptions;
  readonly #seats = new Map<BoardId, Seat>();
  /** Addresses to leave alone, and until when. */
  readonly #avoided = new Map<string, { until: number; times: number }>();

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  get seats(): IterableIterator<Seat> {
    return this.#seats.values();
  }

  seat(boardId: BoardId): Seat | undefined {
    return this.#seats.get(boardId);
  }

  /** The book has changed; returns the boards that are no longer in it. */
  update(known: readonly KnownBoard[]): KnownBoard[] {
    const now = this.#options.clock.now();
    const ids = new Set(known.map((board) => board.boardId));
    const gone: KnownBoard[] = [];
    for (const [boardId, seat] of this.#seats) {
      if (ids.has(boardId)) continue;
      this.#seats.delete(boardId);
      gone.push(seat.board);
    }
    for (const board of known) {
      const before = this.#seats.get(board.boardId);
      const fresh: Seat = {
        heard: new Map(),
        failures: 0,
        nextTryAt: now,
        waitingSince: now,
        why: undefined,
        quickLosses: 0,
        noSlotSaid: false,
        ...before,
        board,
      };
      this.#seats.set(board.boardId, fresh);
    }
    return gone;
  }

  heard(boardId: BoardId, address: string, rssi: number): void {
    const seat = this.#seats.get(boardId);
    if (!seat) return;
    seat.heard.delete(address);
    seat.heard.set(address, { at: this.#options.clock.now(), rssi });
    if (seat.heard.size > ADDRESSES_PER_BOARD) {
      for (const oldest of seat.heard.keys()) {
        seat.heard.delete(oldest);
        break;
      }
    }
  }

  /** The board that has waited longest of those that may be tried now, and where. */
  next(mayTry: (seat: Seat) => boolean): { seat: Seat; address: string } | undefined {
    const now = this.#options.clock.now();
    let best: { seat: Seat; address: string } | undefined;
    for (const seat of this.#seats.values()) {
      if (seat.nextTryAt > now || !mayTry(seat)) continue;
      if (best && best.seat.waitingSince <= seat.waitingSince) continue;
      const address = this.#where(seat, now);
      if (address !== undefined) best = { seat, address };
    }
    return best;
  }

  /** Milliseconds until a board that was heard may be tried again; undefined: none waits. */
  nextDue(mayTry: (seat: Seat) => boolean): number | undefined {
    const now = this.#options.clock.now();
    let due: number | undefined;
    for (const seat of this.#seats.values()) {
      if (!mayTry(seat) || seat.nextTryAt <= now) continue;
      due = Math.min(due ?? Number.POSITIVE_INFINITY, seat.nextTryAt - now);
    }
    return due;
  }

  opened(boardId: BoardId): void {
    const seat = this.#seats.get(boardId);
    if (seat) seat.noSlotSaid = false;
  }

  avoids(address: string): boolean {
    const entry = this.#avoided.get(address);
    return entry !== undefined && entry.until > this.#options.clock.now();
  }

  /** This address is not the board it seemed to be: leave it alone, ever longer. */
  stranger(boardId: BoardId, address: string, why: string): void {
    const { clock, random, count } = this.#options;
    count('strangers');
    const times = (this.#avoided.get(address)?.times ?? 0) + 1;
    const until = clock.now() + jittered(STRANGER_WAITS, times, random());
    this.#avoided.delete(address);
    this.#avoided.set(address, { until, times });
    if (this.#avoided.size > AVOIDED) {
      for (const oldest of this.#avoided.keys()) {
        this.#avoided.delete(oldest);
        break;
      }
    }
    const seat = this.#seats.get(boardId);
    if (!seat) return;
    seat.heard.delete(address);
    this.#postpone(seat, 1_000, why);
  }

  /** An attempt failed, or a link ended that had been open for `heldMs`. */
  failed(boardId: BoardId, cause: FailureCause, why: string, heldMs: number): void {
    const seat = this.#seats.get(boardId);
    if (!seat) return;
    const { random, count, log } = this.#options;
    if (heldMs >= HELD_MS) {
      seat.failures = 0;
      seat.quickLosses = 0;
    }
    if (cause === 'lost' && heldMs > 0 && heldMs < QUICK_MS) {
      seat.quickLosses++;
      count('quick_losses');
      if (seat.quickLosses === QUICK_LOSSES) {
        count('boot_loops');
        log('a board keeps restarting, or its link does not hold; it is tried ever less often', {
          board: boardId,
        });
      }
    }
    if (cause !== 'rotated') seat.failures++;
    this.#postpone(seat, waitFor(cause, Math.max(1, seat.failures), random()), why);
  }

  /** The adapter went or came back: that was no board's fault. */
  adapterBack(): void {
    for (const seat of this.#seats.values()) seat.heard.clear();
  }

  #postpone(seat: Seat, ms: number, why: string): void {
    const now = this.#options.clock.now();
    seat.why = why;
    seat.nextTryAt = now + ms;
    seat.waitingSince = now;
    // It must be heard anew: where it was may not be where it is.
    for (const [address, { rssi }] of seat.heard) {
      seat.heard.set(address, { at: Number.NEGATIVE_INFINITY, rssi });
    }
  }

  #where(seat: Seat, now: number): string | undefined {
    let newest: string | undefined;
    for (const [address, { at }] of seat.heard) {
      if (now - at <= FRESH_MS && !this.avoids(address)) newest = address;
    }
    return newest;
  }
}
