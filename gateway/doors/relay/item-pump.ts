/**
 * Items of the journal that go up one by one: in order and one at a time for each board, a few
 * boards at once. An item that fails for now holds up its own board only.
 */
import { Backoff } from '../../core/backoff.js';
import type { BoardId, Timer, UpItem } from '../../core/types.js';
import type { RelayDeps } from './deps.js';
import { type Pending, pendingItems } from './pending.js';

export interface ItemPumpOptions {
  atOnce: number;
  wanted(item: UpItem): boolean;
  /** Resolves when the item may be forgotten; rejects when it must be tried again. */
  run(pending: Pending): Promise<void>;
}

export class ItemPump {
  readonly #deps: RelayDeps;
  readonly #options: ItemPumpOptions;
  readonly #busy = new Set<BoardId>();
  readonly #waits = new Map<BoardId, { backoff: Backoff; timer: Timer | undefined }>();
  #stopped = false;

  constructor(deps: RelayDeps, options: ItemPumpOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  kick(): void {
    const room = this.#options.atOnce - this.#busy.size;
    if (this.#stopped || room <= 0) return;
    const taken = new Set<BoardId>();
    const next = pendingItems(this.#deps.journal, room, ({ item }) => {
      const { boardId } = item;
      if (taken.has(boardId) || this.#busy.has(boardId)) return false;
      if (this.#waits.get(boardId)?.timer || !this.#options.wanted(item)) return false;
      taken.add(boardId);
      return true;
    });
    for (const pending of next) {
      this.#busy.add(pending.item.boardId);
      void this.#run(pending);
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const { timer } of this.#waits.values()) timer?.cancel();
  }

  async #run(pending: Pending): Promise<void> {
    const { boardId } = pending.item;
    try {
      await this.#options.run(pending);
      await this.#deps.journal.done([pending.id]);
      this.#waits.delete(boardId);
    } catch (error) {
      this.#wait(boardId, pending.item.kind, error);
    }
    this.#busy.delete(boardId);
    this.kick();
  }

  #wait(boardId: BoardId, kind: string, error: unknown): void {
    if (this.#stopped) return;
    const { clock, random, log, counters } = this.#deps;
    const wait = this.#waits.get(boardId) ?? {
      backoff: new Backoff(1_000, 60_000, random),
      timer: undefined,
    };
    this.#waits.set(boardId, wait);
    counters.count('items.waiting');
    log('an item of a board waits for the hub', { board: boardId, kind, error: String(error) });
    wait.timer = clock.after(wait.backoff.next(), () => {
      wait.timer = undefined;
      this.kick();
    });
  }
}
