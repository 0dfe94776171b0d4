/** The BLE side of a gateway: adapter, link, the boards that are known over it, and pairing. */
import { type Air, createAir } from '../device-sim/radio/air.js';
import type { BoardId, Clock, PathListener } from '../gateway/core/types.js';
import type { Gateway } from '../gateway/index.js';
import { type BleLink, bleLink } from '../gateway/links/ble/link.js';
import { loadNoble } from '../gateway/links/ble/noble-load.js';
import { noblePort } from '../gateway/links/ble/noble-port.js';
import type { NobleLike } from '../gateway/links/ble/noble-types.js';
import { BleError, type BlePort } from '../gateway/links/ble/port.js';
import type { KnownBoard } from '../gateway/links/ble/profile.js';
import { bthomeProfile } from '../gateway/links/ble/profiles/bthome.js';
import { MOTE, moteProfile } from '../gateway/links/ble/profiles/mote.js';
import { necklaceProfile } from '../gateway/links/ble/profiles/necklace.js';
import type { LinkHealth, LinkLog } from '../gateway/links/link.js';
import { openAdoptions } from '../gateway/node/adoptions.js';
import { type BleBook, openBleBook } from '../gateway/node/ble-book.js';
import { BoardKeys } from '../gateway/node/board-keys.js';
import { BoardHandover, type BoardHandoverOptions } from '../gateway/node/handover.js';
import { HandoverError } from '../gateway/node/handover-error.js';
import { Pairer, type PairingLink } from '../gateway/node/pairer.js';
import { openPendingKeys, type PendingKeys } from '../gateway/node/pending-keys.js';
import { nodeCcm } from '../protocol/node-ccm.js';
import type { BleChoice } from './ble-options.js';
import { CliError } from './fault.js';
import { type PairAdmin, pairAdmin } from './pair-admin.js';
import type { Parts } from './parts.js';

const VIA = 'ble';

/** What stands before the gateway does, which asks it for keys. */
export class BleBoards {
  readonly pending: PendingKeys;
  readonly keys: BoardKeys;
  readonly foreign: BleBook;
  readonly #parts: Parts;
  #open: { link: BleLink; pairer: Pairer } | undefined;
  #handover: BoardHandover | undefined;

  constructor(parts: Parts) {
    const { journal, secrets, book } = parts;
    this.#parts = parts;
    this.pending = openPendingKeys({ journal, secrets });
    this.keys = new BoardKeys(book, this.pending);
    this.foreign = openBleBook({ journal, secrets, book, changed: () => this.#changed() });
  }

  /** For the gateway: a board has spoken under the key that it was given. */
  readonly verified = async (boardId: BoardId): Promise<void> => {
    await (this.#open?.pairer ?? this.keys).verified(boardId);
    await this.#handover?.verified(boardId);
  };

  /** Boards that come from the owner's other gateways and go to them. */
  handover(input: Pick<BoardHandoverOptions, 'gateway' | 'journal' | 'clock' | 'hub' | 'log'>) {
    const { book, secrets } = this.#parts;
    this.#handover = new BoardHandover({
      ...input,
      book,
      pending: this.pending,
      adoptions: openAdoptions({ journal: input.journal, secrets }),
      ccm: nodeCcm,
      changed: () => this.#changed(),
    });
    return this.#handover;
  }

  /** What a crash cut of a handover goes on. */
  resume(): void {
    this.#handover?.resume();
  }

  /** Rejects with `CliError` where there is no radio to be had. */
  async open(input: BleInput): Promise<Ble> {
    const { gateway, clock, log, choice } = input;
    const { book, journal } = this.#parts;
    const { port, air, release } = await openAdapter(choice, clock, input.air);
    const link = bleLink({
      port,
      clock,
      listener: input.listener,
      profiles: [
        moteProfile(),
        necklaceProfile(),
        bthomeProfile({ memory: this.foreign.memory, ccm: nodeCcm }),
      ],
      known: () => this.#known(),
      random: (length) => globalThis.crypto.getRandomValues(new Uint8Array(length)),
      log,
      ...(choice.slots === undefined ? {} : { slots: choice.slots }),
      mayRest: (boardId) => gateway.idle(boardId),
      // Foreign boards hold no key to prove themselves with.
      proven: (boardId) => {
        const board = gateway.board(boardId);
        return this.foreign.has(boardId) || board?.presence.state === 'online';
      },
    });
    const pairer = new Pairer({
      book,
      pending: this.pending,
      keys: this.keys,
      link: pairingOver(link),
      next: input.listener,
      journal,
      clock,
      ccm: nodeCcm,
      online: (boardId) => gateway.board(boardId)?.presence.state === 'online',
      changed: () => this.#changed(),
    });
    this.#open = { link, pairer };
    return {
      link,
      pairer,
      air,
      pairing: pairAdmin({
        pairer,
        gateway,
        book,
        foreign: this.foreign,
        sightings: () => link.sightings(),
        adopt: async (device) => {
          const id = await input.deviceId(device);
          if (this.#handover === undefined) throw new HandoverError('no_hub');
          return this.#handover.adopt(id);
        },
        health: () => link.health(),
      }),
      adapter: () => settled(link, clock),
      close: async () => {
        this.#open = undefined;
        await link.close();
        release();
      },
    };
  }

  /** The board was removed from the book. */
  async forget(boardId: BoardId): Promise<void> {
    await this.pending.drop(boardId);
    await this.foreign.forget(boardId);
    this.#changed();
  }

  #changed(): void {
    this.#open?.link.knownChanged();
  }

  #known(): KnownBoard[] {
    const paired = this.#parts.book.list().filter(({ pairedVia }) => pairedVia === VIA);
    const ids = new Set([...paired.map(({ boardId }) => boardId), ...this.pending.over(VIA)]);
    const own = [...ids].map((boardId) => ({ boardId, profile: MOTE }));
    return [...own, ...this.foreign.known()];
  }
}

export interface BleInput {
  choice: BleChoice;
  gateway: Gateway;
  /** Told of every path; the gateway, or what stands before it. */
  listener: PathListener;
  /** The hub's id of one of the owner's devices, by id or name. */
  deviceId(wanted: string): Promise<string>;
  clock: Clock;
  log: LinkLog;
  /** With a virtual adapter: the radio that it is on, where it is not alone there. */
  air?: Air | undefined;
}

export interface Ble {
  readonly link: BleLink;
  readonly pairer: Pairer;
  /** Where simulated boards show themselves; undefined with an adapter of the machine. */
  readonly air: Air | undefined;
  readonly pairing: PairAdmin;
  /** How the adapter is, once it has said so. */
  adapter(): Promise<LinkHealth>;
  close(): Promise<void>;
}

/** An adapter says what it is within this, or nothing. */
const ADAPTER_MS = 2_000;
const POLL_MS = 50;

async function settled(link: BleLink, clock: Clock): Promise<LinkHealth> {
  const until = clock.now() + ADAPTER_MS;
  while (link.health().state === 'connecting' && clock.now() < until) {
    await new Promise<void>((done) => clock.after(POLL_MS, done));
  }
  return link.health();
}

function pairingOver(link: BleLink): PairingLink {
  return {
    via: VIA,
    sightings: () => link.sightings(),
    watch: (run) => link.onSighting(run),
    openFor: ({ address, boardId }, listener) =>
      link.openFor({ address, board: { boardId, profile: MOTE } }, listener),
  };
}

async function openAdapter(
  { adapter }: BleChoice,
  clock: Clock,
  shared: Air | undefined,
): Promise<{ port: BlePort; air: Air | undefined; release(): void }> {
  if (adapter === 'virtual') return virtualAdapter(shared ?? createAir({ clock }));
  // Both forks read it when they are loaded, and offer nothing else that selects an adapter.
  process.env.NOBLE_HCI_DEVICE_ID = String(adapter);
  try {
    const { noble } = loadNoble();
    return { port: noblePort(noble), air: undefined, release: () => undefined };
  } catch (error) {
    if (error instanceof BleError) {
      const instead = '`--ble virtual` needs no radio, and MQTT boards no BLE.';
      throw new CliError(`ble_${error.code}`, `${error.message} ${instead}`);
    }
    throw error;
  }
}

async function virtualAdapter(air: Air) {
  // Only here: it puts itself in the place of what reaches real adapters.
  const { virtualNoble } = await import('../device-sim/radio/wire.js');
  const { RadioUnavailable } = await import('../device-sim/radio/unavailable.js');
  try {
    const central = virtualNoble(air, 'abandonware', { name: 'gateway' });
    const port = noblePort(central.instance as unknown as NobleLike);
    return { port, air, release: () => central.stop() };
  } catch (error) {
    if (error instanceof RadioUnavailable) throw new CliError('ble_unavailable', error.message);
    throw error;
  }
}
