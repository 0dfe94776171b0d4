/** A gateway whose BLE link sits on a virtual adapter, and simulated boards on the same air. */
import { createSimBoard, type SimBoardInput } from '../../device-sim/create.js';
import { createAir } from '../../device-sim/radio/air.js';
import { blenoPeripheral } from '../../device-sim/radio/bleno-peripheral.js';
import type { VirtualController } from '../../device-sim/radio/controller.js';
import type {
  PeripheralCharacteristic,
  PeripheralEvents,
} from '../../device-sim/radio/peripheral.js';
import { type NobleFork, virtualBleno, virtualNoble } from '../../device-sim/radio/wire.js';
import { memoryStore } from '../../device-sim/stores.js';
import { seededRandom } from '../../device-sim/testing/virtual-clock.js';
import { bleTransport } from '../../device-sim/transports/ble.js';
import type { VerbSpec } from '../../device-sim/types.js';
import { createGateway } from '../../gateway/core/gateway.js';
import type { Limits } from '../../gateway/core/limits.js';
import { memoryBlobStore } from '../../gateway/core/memory-blob-store.js';
import { memoryJournal } from '../../gateway/core/memory-journal.js';
import { secureSession } from '../../gateway/core/secure.js';
import type { Outcome } from '../../gateway/core/types.js';
import { type BleLinkOptions, bleLink } from '../../gateway/links/ble/link.js';
import { noblePort } from '../../gateway/links/ble/noble-port.js';
import type { NobleLike } from '../../gateway/links/ble/noble-types.js';
import type { KnownBoard } from '../../gateway/links/ble/profile.js';
import { MOTE, moteProfile } from '../../gateway/links/ble/profiles/mote.js';
import {
  BLE_INFO,
  BLE_RX,
  BLE_SERVICE,
  BLE_TX,
  encodeBeacon,
  encodeInfo,
} from '../../protocol/ble.js';
import { nodeCcm } from '../../protocol/node-ccm.js';
import { FakeClock } from '../support/clock.js';

export const FORKS = ['stoprocent', 'abandonware'] as const;

export interface BoardInput extends Partial<SimBoardInput> {
  maxMtu?: number;
  /** The gateway knows and trusts it; default true. */
  known?: boolean;
}

/** Everything that a test hung on the process is let go of by `close`. */
export function bleWorld(
  fork: NobleFork,
  options: Partial<BleLinkOptions> & { limits?: Partial<Limits> } = {},
) {
  const { limits, ...linkOptions } = options;
  const clock = new FakeClock();
  const air = createAir({ clock });
  const keys = new Map<string, Uint8Array>();
  const known: KnownBoard[] = [];
  const log: string[] = [];
  const closers: (() => unknown)[] = [];
  const random = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length));
  const blobs = memoryBlobStore();
  const journal = memoryJournal();
  const gateway = createGateway({
    clock,
    journal,
    blobs,
    random,
    keyOf: async (id) => keys.get(id),
    secure: (key, hello, welcome) => secureSession(nodeCcm, key, hello, welcome),
    ...(limits ? { limits } : {}),
  });
  const central = virtualNoble(air, fork, { name: 'gateway' });
  const link = bleLink({
    port: noblePort(central.instance as unknown as NobleLike),
    clock,
    listener: gateway,
    profiles: [moteProfile()],
    known: () => [...known],
    random,
    log: (line) => void log.push(line),
    proven: (id) => gateway.board(id)?.presence.state === 'online',
    ...linkOptions,
  });
  closers.push(
    () => central.stop(),
    () => link.close(),
  );

  function board(n: number, model: SimBoardInput['model'], input: BoardInput = {}) {
    const { maxMtu = 517, known: trusted = true, ...more } = input;
    const boardId = more.boardId ?? `${String(n).padStart(8, '0')}000000bb`;
    const key = more.key ?? new Uint8Array(16).fill(n);
    const bleno = virtualBleno(air, { name: `board ${n}` });
    const name = `board ${n}`;
    const transport = bleTransport({
      peripheral: blenoPeripheral({ bleno: bleno.instance, maxMtu }),
      clock,
      random: seededRandom(n),
      name,
    });
    if (trusted) {
      keys.set(boardId, key);
      known.push({ boardId, profile: MOTE });
      link.knownChanged();
    }
    const made = createSimBoard({
      model,
      name,
      boardId,
      seal: true,
      ccm: nodeCcm,
      transport,
      clock,
      store: memoryStore(),
      random: seededRandom(n),
      readingsS: 0,
      ...more,
      key,
    });
    made.start();
    closers.push(bleno.stop, () => made.stop());
    return Object.assign(made, { controller: bleno.controller });
  }

  /** A device that advertises as the board of that id and does what the test says. */
  async function impostor(
    boardId: string,
    more: {
      info?: Uint8Array;
      subscribed?(notify: (bytes: Uint8Array) => boolean): void;
      write?: PeripheralCharacteristic['write'];
    } = {},
  ): Promise<{ controller: VirtualController; connections: () => number }> {
    const bleno = virtualBleno(air, { name: 'impostor' });
    const peripheral = blenoPeripheral({ bleno: bleno.instance });
    closers.push(bleno.stop, () => peripheral.stop());
    let connections = 0;
    const info = more.info ?? encodeInfo({ boardId, paired: true, att: 244, name: 'x' });
    const events: PeripheralEvents = {
      connected: () => void connections++,
      disconnected: () => undefined,
      subscribed: () => more.subscribed?.((bytes) => peripheral.notify(BLE_TX, bytes)),
      unsubscribed: () => undefined,
    };
    const characteristics = [
      { uuid: BLE_RX, write: more.write ?? (() => undefined) },
      { uuid: BLE_TX, notify: true },
      { uuid: BLE_INFO, read: () => info },
    ];
    await peripheral.start({ uuid: BLE_SERVICE, characteristics }, events);
    await peripheral.advertise({
      name: 'x',
      services: [BLE_SERVICE],
      manufacturerData: encodeBeacon({ boardId, paired: true }),
    });
    return { controller: bleno.controller, connections: () => connections };
  }

  /** Bodies of the events that were kept so far. */
  function events(): unknown[] {
    const kept = journal.pending(1_000).filter(({ item }) => item.kind === 'event');
    return kept.map(({ item }) => item.body);
  }

  /** Lets time pass, so that things fall due, and turns of the loop, so that packets go. */
  async function pass(ms: number, step = 50): Promise<void> {
    for (let left = ms; left > 0; left -= step) await clock.advance(Math.min(step, left));
  }

  /** Lets time pass until it holds, for at most two minutes of the clock. */
  async function until(holds: () => unknown, mostMs = 120_000): Promise<void> {
    const end = clock.now() + mostMs;
    while (!holds()) {
      if (clock.now() >= end) throw new Error(`it did not come to hold: ${holds}`);
      await clock.advance(50);
    }
  }

  /** Packets go and no time passes, until it holds. */
  async function meanwhile(holds: () => unknown): Promise<void> {
    for (let turns = 0; !holds(); turns++) {
      if (turns >= 100_000) throw new Error(`it did not come to hold: ${holds}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async function online(...ids: string[]): Promise<void> {
    await until(() =>
      ids.every((id) => {
        const view = gateway.board(id);
        return view?.presence.state === 'online' && view.catalog !== undefined;
      }),
    );
  }

  /** A call's outcome, with time passing until there is one. */
  async function call(
    boardId: string,
    verb: string,
    args: Record<string, unknown> = {},
    ttlMs = 60_000,
  ): Promise<Outcome> {
    return settled(start(boardId, verb, args, ttlMs));
  }

  function start(
    boardId: string,
    verb: string,
    args: Record<string, unknown> = {},
    ttlMs = 60_000,
  ): Promise<Outcome> {
    return gateway.call({ boardId, verb, args, ttlMs });
  }

  async function settled(calling: Promise<Outcome>): Promise<Outcome> {
    let outcome: Outcome | undefined;
    void calling.then((is) => {
      outcome = is;
    });
    await until(() => outcome, 300_000);
    return calling;
  }

  async function close(): Promise<void> {
    const closing = (async () => {
      for (const run of closers.splice(0).reverse()) await run();
    })();
    let over = false;
    void closing.finally(() => {
      over = true;
    });
    // Some of them wait for a deadline of the clock.
    for (let i = 0; i < 400 && !over; i++) await clock.advance(50);
    await closing;
  }

  return {
    clock,
    air,
    gateway,
    link,
    log,
    keys,
    known,
    blobs,
    adapter: central.controller,
    board,
    impostor,
    /** Runs when the world closes, before what was there earlier. */
    closing: (run: () => unknown): void => void closers.push(run),
    events,
    pass,
    until,
    meanwhile,
    online,
    call,
    start,
    settled,
    close,
  };
}

export type BleWorld = ReturnType<typeof bleWorld>;

/** Verbs whose messages have the size that a test wants. */
export function echoModel(verbs: VerbSpec[] = []): SimBoardInput['model'] {
  return () => ({
    name: 'Echo',
    platform: 'test',
    firmware: '1',
    verbs: [
      {
        name: 'echo',
        signature: 'text:s20000',
        description: 'answers what it got',
        run: ({ text }) => String(text),
      },
      {
        name: 'long',
        signature: 'n:i0..20000',
        description: 'answers n letters',
        run: ({ n }) => 'x'.repeat(Number(n)),
      },
      ...verbs,
    ],
  });
}
