/**
 * Tells two boards with one id from one board that reboots (amendment 16, field report 25). A
 * reboot raises the boot id, a reconnect raises the connection number; two boards that push each
 * other out go up and down. Three takeovers in ten seconds with a step down among them flag it:
 * the newest is held, and others are refused for a time that doubles.
 */
import type { BoardState } from './topics.js';

/** What a connection says of itself; undefined where it has no last will. */
export type Identity = Pick<BoardState, 'bootId' | 'connection'> | undefined;

const WINDOW_MS = 10_000;
const TAKEOVERS = 3;
const FIRST_HOLD_MS = 10_000;
const LONGEST_HOLD_MS = 600_000;
/** A pair that kept quiet for this long starts from the shortest time again. */
const FORGIVE_MS = 3_600_000;

interface Watch {
  /** When the last takeovers were, and whether each stepped down. */
  takeovers: { at: number; down: boolean }[];
  held: Identity;
  /** Others are refused until then. */
  until: number;
  holdMs: number;
  flaggedAt: number;
}

export class Takeovers {
  readonly #watches = new Map<string, Watch>();

  /** True while a newcomer with this identity must be refused. */
  refuses(id: string, newcomer: Identity, now: number): boolean {
    const watch = this.#watches.get(id);
    return watch !== undefined && now < watch.until && !follows(watch.held, newcomer);
  }

  /** A connection took the place of a live one; true if that makes it a duplicate. */
  took(id: string, before: Identity, newcomer: Identity, now: number): boolean {
    const watch = this.#watch(id);
    watch.takeovers = watch.takeovers.filter((t) => now - t.at < WINDOW_MS).slice(1 - TAKEOVERS);
    watch.takeovers.push({ at: now, down: !rises(before, newcomer) });
    watch.held = newcomer;
    if (watch.takeovers.length < TAKEOVERS || !watch.takeovers.some((t) => t.down)) return false;
    const again = watch.flaggedAt > 0 && now - watch.flaggedAt < FORGIVE_MS;
    watch.holdMs = again ? Math.min(watch.holdMs * 2, LONGEST_HOLD_MS) : FIRST_HOLD_MS;
    watch.flaggedAt = now;
    watch.until = now + watch.holdMs;
    watch.takeovers = [];
    return true;
  }

  /** The held connection ended by itself: whoever comes next is let in. */
  left(id: string): void {
    const watch = this.#watches.get(id);
    if (watch) watch.until = 0;
  }

  forget(id: string): void {
    this.#watches.delete(id);
  }

  #watch(id: string): Watch {
    let watch = this.#watches.get(id);
    if (!watch) {
      watch = { takeovers: [], held: undefined, until: 0, holdMs: 0, flaggedAt: 0 };
      this.#watches.set(id, watch);
    }
    return watch;
  }
}

/** A later boot, or a later connection of the same boot. */
function rises(before: Identity, after: Identity): boolean {
  if (!before || !after) return false;
  if (after.bootId !== before.bootId) return after.bootId > before.bootId;
  return after.connection > before.connection;
}

/** The held board itself, connecting again. */
function follows(held: Identity, newcomer: Identity): boolean {
  return rises(held, newcomer) && held?.bootId === newcomer?.bootId;
}
