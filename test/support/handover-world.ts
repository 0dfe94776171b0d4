/**
 * Two gateways of one owner, the hub between them as a handful of rules, and one board that either
 * may connect to. Each gateway can be killed at any step and comes back with its journal.
 */
import { createSimBoard } from '../../device-sim/create.js';
import { memoryStore } from '../../device-sim/stores.js';
import { seededRandom } from '../../device-sim/testing/virtual-clock.js';
import { memoryTransport } from '../../device-sim/transports/memory.js';
import { createGateway } from '../../gateway/core/gateway.js';
import type { Journal } from '../../gateway/core/journal.js';
import { memoryBlobStore } from '../../gateway/core/memory-blob-store.js';
import { memoryJournal } from '../../gateway/core/memory-journal.js';
import { secureSession } from '../../gateway/core/secure.js';
import type { Path, PathListener } from '../../gateway/core/types.js';
import type { GivenBoard } from '../../gateway/doors/relay/handovers.js';
import { HubRefused } from '../../gateway/doors/relay/index.js';
import { memoryBus } from '../../gateway/links/memory.js';
import { openAdoptions } from '../../gateway/node/adoptions.js';
import { BoardKeys } from '../../gateway/node/board-keys.js';
import { openBoardBook } from '../../gateway/node/boards.js';
import { BoardHandover, type BoardHandoverOptions } from '../../gateway/node/handover.js';
import { openPendingKeys } from '../../gateway/node/pending-keys.js';
import { nodeCcm } from '../../protocol/node-ccm.js';
import { passingSecrets } from '../../store/secrets.js';
import { FakeClock, settle } from './clock.js';

export const LAMP = '00112233445566bb';
export const DEVICE = 'dev-lamp';
const SECRET = new Uint8Array(16).fill(7);
const KEY = new Uint8Array(16).fill(1);

export type Side = 'kitchen' | 'hall';
/** Throws to kill the gateway of that side at this point. */
export type Happens = (side: Side, what: string) => void;

interface Handover {
  id: string;
  to: Side;
  from: Side;
  done: boolean;
  gone: boolean;
}

type Life = ReturnType<HandoverWorld['start']>;

export class HandoverWorld {
  readonly clock = new FakeClock();
  readonly lives: Partial<Record<Side, Life>> = {};
  /** The gateway that the hub has for the board's device. */
  holder: Side = 'kitchen';
  /** The hub answers nothing. */
  hubDown = false;
  /** What the hub answers is this instead. */
  answers: { ask?: (given: GivenBoard) => GivenBoard; stored?: () => void } = {};
  handovers: Handover[] = [];
  happens: Happens | undefined;
  readonly board;
  readonly #journals: Record<Side, Journal> = { kitchen: memoryJournal(), hall: memoryJournal() };
  readonly #secrets = passingSecrets();
  readonly #owner = new Map<Path, PathListener>();
  #turn = 0;
  #ids = 0;

  constructor() {
    const { clock } = this;
    const random = seededRandom(5);
    const store = memoryStore();
    store.save({ bootId: 0, secret: SECRET, key: KEY, burnt: true });
    const bus = memoryBus({
      clock,
      mustSeal: true,
      listener: {
        opened: (path) => this.#opened(path),
        received: (path, frame) => this.#owner.get(path)?.received(path, frame),
        closed: (path, reason) => {
          this.#owner.get(path)?.closed(path, reason);
          this.#owner.delete(path);
        },
      },
      between: (frame, direction) => [{ frame }].filter(() => this.#passes(direction, frame)),
    });
    this.board = createSimBoard({
      model: 'env',
      name: 'Lamp',
      boardId: LAMP,
      ccm: nodeCcm,
      transport: memoryTransport({ connect: (id) => bus.connect(id), clock, random }),
      clock,
      store,
      random,
      readingsS: 0,
    });
  }

  /** The board is in the book of this side, as after pairing. */
  async paired(side: Side): Promise<void> {
    const { book } = this.start(side);
    await book.adopt({ boardId: LAMP, key: KEY, name: 'Lamp', via: 'ble' });
    await this.#journals[side].put('device', LAMP, DEVICE);
    this.holder = side;
  }

  journal(side: Side): Journal {
    return this.#journals[side];
  }

  /** One life of a gateway; what it has not written is lost with it. */
  start(side: Side) {
    let dead = false;
    const step = (what: string): void => {
      if (dead) return;
      try {
        this.happens?.(side, what);
      } catch {
        dead = true;
      }
    };
    /** A process that was killed does nothing more: what it waits for never comes. */
    const alive = <T>(value: T): T | Promise<never> =>
      dead ? new Promise<never>(() => undefined) : value;
    const { clock } = this;
    const kept = this.#journals[side];
    const journal: Journal = {
      ...kept,
      journalId: kept.journalId,
      put: async (room, key, value) => {
        step(`before ${room}`);
        await alive(undefined);
        await kept.put(room, key, value);
        step(`after ${room}`);
        await alive(undefined);
      },
    };
    const secrets = this.#secrets;
    const book = openBoardBook({
      journal,
      secrets,
      wall: () => clock.wall(),
      forget: (id) => gateway.forget(id),
    });
    const pending = openPendingKeys({ journal, secrets });
    const keys = new BoardKeys(book, pending);
    const gateway = createGateway({
      clock,
      journal,
      blobs: memoryBlobStore(),
      keyOf: async (id) => keys.keyOf(id),
      secure: (key, hello, welcome) => secureSession(nodeCcm, key, hello, welcome),
      verified: (id) => void handover.verified(id),
    });
    const hub: ReturnType<BoardHandoverOptions['hub']> = {
      ask: async (deviceId, publicKey) => {
        step('before ask');
        await alive(undefined);
        const given = await this.#ask(side, deviceId, publicKey);
        step('after ask');
        return alive(this.answers.ask?.(given) ?? given);
      },
      stored: async (id) => {
        step('before stored');
        await alive(undefined);
        this.answers.stored?.();
        this.#stored(side, id);
        step('after stored');
        await alive(undefined);
      },
    };
    const adoptions = openAdoptions({ journal, secrets });
    const handover = new BoardHandover({
      book,
      pending,
      adoptions,
      journal,
      gateway,
      clock,
      ccm: nodeCcm,
      random: (length) => Uint8Array.from({ length }, () => 1 + Math.floor(this.clock.now() % 251)),
      hub: () => (this.hubDown ? undefined : hub),
    });
    const life = {
      gateway,
      book,
      keys,
      handover,
      online: () => gateway.board(LAMP)?.presence.state === 'online',
      /** The hub says what was handed over while nobody listened. */
      tell: () => this.#tell(side),
      gone: async (id: string) => {
        step('before gone');
        await alive(undefined);
        await handover.gone(LAMP);
        step('after gone');
        await alive(undefined);
        for (const each of this.handovers) each.gone ||= each.id === id;
      },
      /** SIGKILL: nothing more is written, and its connections end. */
      kill: (): void => {
        dead = true;
        if (this.lives[side] === life) delete this.lives[side];
        handover.stop();
        for (const [path, owner] of [...this.#owner]) {
          if (owner === gateway) path.close('the gateway is gone');
        }
        gateway.stop();
      },
    };
    this.lives[side] = life;
    return life;
  }

  /** After a restart, as the hub and the host do it. */
  resume(side: Side): void {
    this.lives[side]?.handover.resume();
    this.#tell(side);
  }

  /** Lets time pass until it is so; false after a minute. */
  async until(is: () => boolean, ms = 60_000): Promise<boolean> {
    for (const end = this.clock.now() + ms; this.clock.now() < end; ) {
      for (let i = 0; i < 8; i++) await settle();
      if (is()) return true;
      await this.clock.advance(50);
    }
    return is();
  }

  /** A promise's end while time passes. */
  async end<T>(work: Promise<T>, ms = 120_000): Promise<T> {
    let over = false;
    const done = (): void => {
      over = true;
    };
    work.then(done, done);
    if (await this.until(() => over, ms)) return work;
    throw new Error('it did not end in time');
  }

  /** Whoever has a key for the board looks for it; between two it is one and then the other. */
  #opened(path: Path): void {
    const looking = Object.values(this.lives).filter((life) => life.keys.keyOf(LAMP));
    const life = looking[this.#turn++ % Math.max(1, looking.length)];
    if (life) {
      this.#owner.set(path, life.gateway);
      life.gateway.opened(path);
    } else path.close('nobody looks for it');
  }

  #passes(direction: 'up' | 'down', frame: Uint8Array): boolean {
    const [side] = (['kitchen', 'hall'] as const).filter((each) => this.lives[each]?.online());
    try {
      this.happens?.(side ?? 'hall', `${direction} ${frame[0]}`);
    } catch {
      return direction === 'up';
    }
    return true;
  }

  async #ask(to: Side, deviceId: string, publicKey: Uint8Array) {
    const from = this.holder;
    const life = this.lives[from];
    if (deviceId !== DEVICE) throw new HubRefused(404, 'no such board', false);
    if (from === to || !life) throw new HubRefused(409, 'the gateway is not there', true);
    this.handovers = this.handovers.filter(({ done }) => done);
    const row: Handover = { id: `h${this.#ids++}`, to, from, done: false, gone: false };
    this.handovers.push(row);
    const sealedKey = await new Promise<Uint8Array>((resolve, reject) => {
      const late = (): void => reject(new HubRefused(409, 'it did not answer in time', true));
      const timer = this.clock.after(30_000, late);
      life.handover
        .give(LAMP, publicKey, to)
        .then(resolve, (error) => reject(new HubRefused(409, error.message, true)))
        .finally(() => timer.cancel());
    }).catch((error) => {
      this.handovers = this.handovers.filter((each) => each !== row);
      throw error;
    });
    return { handoverId: row.id, boardId: LAMP, name: 'Lamp', sealedKey };
  }

  #stored(to: Side, id: string): void {
    const row = this.handovers.find((each) => each.id === id && each.to === to);
    if (!row) throw new HubRefused(404, 'no such handover', false);
    if (this.holder !== (row.done ? to : row.from)) {
      throw new HubRefused(409, 'it is no longer there', false);
    }
    if (row.done) return;
    this.holder = to;
    row.done = true;
    this.handovers = this.handovers.filter(
      (each) => each === row || !(each.gone || each.from === to),
    );
    this.#tell(row.from);
  }

  #tell(side: Side): void {
    for (const { id, from, done, gone } of this.handovers) {
      if (done && !gone && from === side) void this.lives[side]?.gone(id).catch(() => undefined);
    }
  }
}
