/**
 * A gateway and one simulated board that is paired by its code, each on a controller of btvirt.
 * One board only: btvirt (5.66) forwards nothing on the second link of a central. Its packets take
 * real time, so this world has the real clock.
 */
import { createSimBoard } from '../../../device-sim/create.js';
import { blenoPeripheral } from '../../../device-sim/radio/bleno-peripheral.js';
import { blenoOver, type NobleFork, nobleOver } from '../../../device-sim/radio/wire.js';
import { memoryStore } from '../../../device-sim/stores.js';
import { bleTransport } from '../../../device-sim/transports/ble.js';
import { createGateway } from '../../../gateway/core/gateway.js';
import { memoryBlobStore } from '../../../gateway/core/memory-blob-store.js';
import { memoryJournal } from '../../../gateway/core/memory-journal.js';
import { secureSession } from '../../../gateway/core/secure.js';
import type { Outcome } from '../../../gateway/core/types.js';
import { bleLink } from '../../../gateway/links/ble/link.js';
import { noblePort } from '../../../gateway/links/ble/noble-port.js';
import type { NobleLike } from '../../../gateway/links/ble/noble-types.js';
import { MOTE, moteProfile } from '../../../gateway/links/ble/profiles/mote.js';
import { BoardKeys } from '../../../gateway/node/board-keys.js';
import { openBoardBook } from '../../../gateway/node/boards.js';
import { nodeClock } from '../../../gateway/node/clock.js';
import { type Paired, Pairer } from '../../../gateway/node/pairer.js';
import { openPendingKeys } from '../../../gateway/node/pending-keys.js';
import { nodeCcm } from '../../../protocol/node-ccm.js';
import { parseSetupCode } from '../../../protocol/setup-code.js';
import { passingSecrets } from '../../../store/secrets.js';
import { echoModel } from '../world.js';
import { BtvirtController } from './controller.js';

const BOARD_ID = '00000001000000bb';

/** `path`: where btvirt gives controllers. */
export async function btvirtWorld(path: string, fork: NobleFork) {
  const clock = nodeClock();
  const closers: (() => unknown)[] = [];
  const adapter = await BtvirtController.open(path);
  const radio = await BtvirtController.open(path);
  adapter.facing(radio);
  const random = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length));

  const bleno = blenoOver(() => radio);
  const board = createSimBoard({
    model: echoModel(),
    name: 'judged',
    boardId: BOARD_ID,
    ccm: nodeCcm,
    transport: bleTransport({
      peripheral: blenoPeripheral({ bleno: bleno.instance }),
      clock,
      random: Math.random,
      name: 'judged',
    }),
    clock,
    store: memoryStore(),
    random: Math.random,
    readingsS: 0,
  });
  closers.push(
    () => bleno.stop(),
    () => board.stop(),
  );
  board.start();

  const journal = memoryJournal();
  const secrets = passingSecrets();
  const wall = (): number => clock.wall();
  const pending = openPendingKeys({ journal, secrets, wall });
  const book = openBoardBook({ journal, secrets, wall, forget: async () => undefined });
  const keys = new BoardKeys(book, pending);
  const gateway = createGateway({
    clock,
    journal,
    blobs: memoryBlobStore(),
    random,
    keyOf: async (id) => keys.keyOf(id),
    secure: (key, hello, welcome) => secureSession(nodeCcm, key, hello, welcome),
    verified: (id) => void pairer.verified(id),
  });
  const central = nobleOver(() => adapter, fork);
  const link = bleLink({
    port: noblePort(central.instance as unknown as NobleLike),
    clock,
    listener: gateway,
    profiles: [moteProfile()],
    known: () => book.list().map(({ boardId }) => ({ boardId, profile: MOTE })),
    random,
    log: () => undefined,
    proven: (id) => gateway.board(id)?.presence.state === 'online',
  });
  closers.push(
    () => central.stop(),
    () => link.close(),
  );
  const pairer = new Pairer({
    book,
    pending,
    keys,
    link: {
      via: 'ble',
      sightings: () => link.sightings(),
      watch: (run) => link.onSighting(run),
      openFor: ({ address, boardId }, listener) =>
        link.openFor({ address, board: { boardId, profile: MOTE } }, listener),
    },
    next: gateway,
    journal,
    clock,
    ccm: nodeCcm,
    changed: () => link.knownChanged(),
  });

  return {
    adapter,
    radio,
    board,
    link,
    view: () => gateway.board(BOARD_ID),
    pair: (code: string): Promise<Paired> =>
      pairer.pair({ code: parseSetupCode(code), name: 'judged' }),
    call: (verb: string, args: Record<string, unknown>): Promise<Outcome> =>
      gateway.call({ boardId: BOARD_ID, verb, args, ttlMs: 15_000 }),
    async close(): Promise<void> {
      for (const run of closers.splice(0).reverse()) await run();
    },
  };
}

export type BtvirtWorld = Awaited<ReturnType<typeof btvirtWorld>>;
