/** A gateway that pairs simulated boards over the in-memory link, and can be killed at any step. */
import { createSimBoard, type SimBoardInput } from '../../device-sim/create.js';
import { memoryStore } from '../../device-sim/stores.js';
import { seededRandom } from '../../device-sim/testing/virtual-clock.js';
import { memoryTransport } from '../../device-sim/transports/memory.js';
import { createGateway } from '../../gateway/core/gateway.js';
import type { Journal } from '../../gateway/core/journal.js';
import { memoryBlobStore } from '../../gateway/core/memory-blob-store.js';
import { memoryJournal } from '../../gateway/core/memory-journal.js';
import { secureSession } from '../../gateway/core/secure.js';
import type { Path, PathListener } from '../../gateway/core/types.js';
import type { Sighting } from '../../gateway/links/ble/profile.js';
import { type Between, memoryBus } from '../../gateway/links/memory.js';
import { BoardKeys } from '../../gateway/node/board-keys.js';
import { openBoardBook } from '../../gateway/node/boards.js';
import { Pairer, type PairingLink } from '../../gateway/node/pairer.js';
import { openPendingKeys } from '../../gateway/node/pending-keys.js';
import { nodeCcm } from '../../protocol/node-ccm.js';
import { parseSetupCode, type SetupCode } from '../../protocol/setup-code.js';
import { passingSecrets } from '../../store/secrets.js';
import { FakeClock, settle } from './clock.js';
import type { Heard } from './sealed-world.js';

export const KITCHEN = '00112233445566aa';

/** Every path goes to the gateway, but for that of a board that is being paired. */
class Switchable implements PathListener {
  gateway: PathListener | undefined;
  readonly wanted = new Map<string, PathListener>();
  readonly #owner = new Map<Path, PathListener>();
  readonly #open = new Map<string, Path>();

  opened(path: Path): void {
    const owner = this.wanted.get(path.boardId) ?? this.gateway;
    this.wanted.delete(path.boardId);
    if (!owner) {
      path.close('nobody is there');
      return;
    }
    this.#open.set(path.boardId, path);
    this.#owner.set(path, owner);
    owner.opened(path);
  }

  received(path: Path, frame: Uint8Array): void {
    this.#owner.get(path)?.received(path, frame);
  }

  closed(path: Path, reason: string): void {
    if (this.#open.get(path.boardId) === path) this.#open.delete(path.boardId);
    this.#owner.get(path)?.closed(path, reason);
    this.#owner.delete(path);
  }

  /** The board's next connection is for `listener`. */
  want(boardId: string, listener: PathListener): Promise<Path> {
    this.#open.get(boardId)?.close('to be paired');
    return new Promise((done) => {
      this.wanted.set(boardId, {
        opened: (path) => {
          this.#owner.set(path, listener);
          listener.opened(path);
          done(path);
        },
        received: () => undefined,
        closed: () => undefined,
      });
    });
  }

  handOver(path: Path): void {
    if (this.gateway && this.#owner.has(path)) this.#owner.set(path, this.gateway);
  }

  /** The process that had them is gone. */
  dropAll(): void {
    this.gateway = undefined;
    this.wanted.clear();
    this.#owner.clear();
    for (const path of [...this.#open.values()]) path.close('the gateway is gone');
  }
}

/** Something happens that a crash may come before: a frame, or a write before or after it. */
export type Happens = (what: string) => void;

export interface PairingWorldOptions {
  journal?: Journal;
  /** Throws to kill the process of the gateway at this point. */
  happens?: Happens;
}

export function pairingWorld(options: PairingWorldOptions = {}) {
  const clock = new FakeClock();
  const kept = options.journal ?? memoryJournal();
  const secrets = passingSecrets();
  const switchable = new Switchable();
  const air: Heard[] = [];
  const state = {
    happens: options.happens,
    between: undefined as Between | undefined,
    sightings: [] as Sighting[],
  };
  const bus = memoryBus({
    clock,
    listener: switchable,
    mustSeal: true,
    between: (frame, direction, boardId) => {
      air.push({ boardId, direction, frame: frame.slice() });
      const copies = state.between?.(frame, direction, boardId) ?? [{ frame }];
      try {
        state.happens?.(`${direction} ${frame[0]}`);
      } catch {
        return direction === 'up' ? copies : [];
      }
      return copies;
    },
  });

  /** One life of the gateway; what it has not written is lost with it. */
  function start() {
    let dead = false;
    const never = new Promise<never>(() => undefined);
    const step = (what: string): void => {
      try {
        state.happens?.(what);
      } catch {
        dead = true;
      }
    };
    const journal: Journal = {
      ...kept,
      journalId: kept.journalId,
      put: async (room, key, value) => {
        step(`before ${room}`);
        if (dead) return never;
        await kept.put(room, key, value);
        step(`after ${room}`);
        return dead ? never : undefined;
      },
    };
    const forgotten: string[] = [];
    const book = openBoardBook({
      journal,
      secrets,
      wall: () => clock.wall(),
      forget: async (id) => {
        forgotten.push(id);
        await gateway.forget(id);
      },
    });
    const pending = openPendingKeys({ journal, secrets, wall: () => clock.wall() });
    const keys = new BoardKeys(book, pending);
    const gateway = createGateway({
      clock,
      journal,
      blobs: memoryBlobStore(),
      keyOf: async (id) => keys.keyOf(id),
      secure: (key, hello, welcome) => secureSession(nodeCcm, key, hello, welcome),
      verified: (id) => void pairer.verified(id),
    });
    const link: PairingLink = {
      via: 'memory',
      sightings: () => state.sightings,
      watch: (run) => {
        const timer = clock.after(100, () => {
          for (const sighting of state.sightings) run(sighting);
        });
        return () => timer.cancel();
      },
      openFor: async ({ address }, listener) => {
        const path = await switchable.want(address, listener);
        return { handOver: () => switchable.handOver(path) };
      },
    };
    const pairer = new Pairer({
      book,
      pending,
      keys,
      link,
      next: gateway,
      journal,
      clock,
      ccm: nodeCcm,
    });
    switchable.gateway = gateway;
    return {
      gateway,
      book,
      pending,
      keys,
      pairer,
      forgotten,
      /** SIGKILL: nothing more is written, and every connection ends. */
      kill(): void {
        dead = true;
        switchable.dropAll();
        gateway.stop();
      },
    };
  }

  return {
    clock,
    air,
    state,
    journal: kept,
    bus,
    start,
    /** Somebody else than a gateway of ours takes the connections. */
    listen(listener: PathListener): void {
      switchable.gateway = listener;
    },
    board(more: Partial<SimBoardInput> = {}) {
      const random = seededRandom(5);
      return createSimBoard({
        model: 'env',
        name: 'Air',
        boardId: KITCHEN,
        ccm: nodeCcm,
        transport: memoryTransport({ connect: (id) => bus.connect(id), clock, random }),
        clock,
        store: memoryStore(),
        random,
        readingsS: 0,
        ...more,
      });
    },
    /** Lets time pass until it is so; false after a minute. */
    async until(is: () => boolean, ms = 60_000): Promise<boolean> {
      for (const end = clock.now() + ms; clock.now() < end; ) {
        for (let i = 0; i < 8; i++) await settle();
        if (is()) return true;
        await clock.advance(50);
      }
      return is();
    },
    /** A promise's end while time passes. */
    async end<T>(work: Promise<T>): Promise<T> {
      let over = false;
      const done = (): void => {
        over = true;
      };
      work.then(done, done);
      if (await this.until(() => over, 120_000)) return work;
      throw new Error('it did not end within two minutes');
    },
  };
}

export type PairingWorld = ReturnType<typeof pairingWorld>;
export type GatewayLife = ReturnType<PairingWorld['start']>;

export function codeOf(board: { setupCode: string | undefined }): SetupCode {
  return parseSetupCode(board.setupCode ?? '');
}
