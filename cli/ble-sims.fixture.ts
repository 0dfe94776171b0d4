/** A virtual air with simulated boards of `cli/ble-sims.ts`, and a gateway that hears and pairs them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAir, virtualNoble } from '../device-sim/index.js';
import { createGateway } from '../gateway/core/gateway.js';
import { memoryBlobStore } from '../gateway/core/memory-blob-store.js';
import { memoryJournal } from '../gateway/core/memory-journal.js';
import { secureSession } from '../gateway/core/secure.js';
import { bleLink } from '../gateway/links/ble/link.js';
import { noblePort } from '../gateway/links/ble/noble-port.js';
import type { NobleLike } from '../gateway/links/ble/noble-types.js';
import type { KnownBoard } from '../gateway/links/ble/profile.js';
import { bthomeProfile } from '../gateway/links/ble/profiles/bthome.js';
import { MOTE, moteProfile } from '../gateway/links/ble/profiles/mote.js';
import { necklaceProfile } from '../gateway/links/ble/profiles/necklace.js';
import { BoardKeys } from '../gateway/node/board-keys.js';
import { openBoardBook } from '../gateway/node/boards.js';
import { Pairer } from '../gateway/node/pairer.js';
import { openPendingKeys } from '../gateway/node/pending-keys.js';
import { nodeCcm } from '../protocol/node-ccm.js';
import { parseSetupCode } from '../protocol/setup-code.js';
import { passingSecrets } from '../store/secrets.js';
import { FakeClock } from '../test/support/clock.js';
import { type BleSims, type BleSimsInput, startBleSims } from './ble-sims.js';

export function simsWorld() {
  const clock = new FakeClock();
  const air = createAir({ clock });
  const folder = mkdtempSync(join(tmpdir(), 'mote-ble-sims-'));
  const log: string[] = [];
  const running = new Set<BleSims>();
  const closers: (() => unknown)[] = [];

  async function start(...choices: BleSimsInput['choices']): Promise<BleSims> {
    const sims = await startBleSims({
      air,
      folder,
      choices,
      clock,
      log: (what, about) => void log.push(`${what} ${JSON.stringify(about)}`),
    });
    running.add(sims);
    return sims;
  }

  async function stop(sims: BleSims): Promise<void> {
    running.delete(sims);
    await settled(sims.stop());
  }

  function gateway() {
    const journal = memoryJournal();
    const secrets = passingSecrets();
    const wall = (): number => clock.wall();
    const random = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length));
    const foreign: KnownBoard[] = [];
    const pending = openPendingKeys({ journal, secrets, wall });
    const book = openBoardBook({ journal, secrets, wall, forget: async () => undefined });
    const keys = new BoardKeys(book, pending);
    const made = createGateway({
      clock,
      journal,
      blobs: memoryBlobStore(),
      random,
      keyOf: async (id) => keys.keyOf(id),
      secure: (key, hello, welcome) => secureSession(nodeCcm, key, hello, welcome),
      verified: (id) => void pairer.verified(id),
    });
    const central = virtualNoble(air, 'stoprocent', { name: 'gateway' });
    const known = (): KnownBoard[] => {
      const own = book.list().map(({ boardId }) => ({ boardId, profile: MOTE }));
      return [...own, ...foreign];
    };
    const link = bleLink({
      port: noblePort(central.instance as unknown as NobleLike),
      clock,
      listener: made,
      profiles: [moteProfile(), necklaceProfile(), bthomeProfile({ ccm: nodeCcm })],
      known,
      random,
      log: () => undefined,
      proven: (id) => made.board(id)?.presence.state === 'online',
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
      next: made,
      journal,
      clock,
      ccm: nodeCcm,
    });
    return {
      made,
      link,
      /** Boards of other makers that the owner has added. */
      add(board: KnownBoard): void {
        foreign.push(board);
        link.knownChanged();
      },
      events: () =>
        journal
          .pending(1_000)
          .filter(({ item }) => item.kind === 'event')
          .map(({ item }) => item.body),
      async pair(code: string, name: string): Promise<void> {
        await settled(pairer.pair({ code: parseSetupCode(code), name }));
        link.knownChanged();
      },
      online: (id: string) => until(() => made.board(id)?.presence.state === 'online'),
      call: (boardId: string, verb: string, args: Record<string, unknown> = {}) =>
        settled(made.call({ boardId, verb, args, ttlMs: 60_000, allowProtected: true })),
    };
  }

  /** Lets time pass until it holds, for at most two minutes of the clock. */
  async function until(holds: () => unknown, mostMs = 120_000): Promise<void> {
    for (const end = clock.now() + mostMs; !holds(); ) {
      if (clock.now() >= end) throw new Error(`it did not come to hold: ${holds}`);
      await clock.advance(50);
    }
  }

  /** A promise's end, with time passing until there is one. */
  async function settled<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const done = (): void => {
      over = true;
    };
    work.then(done, done);
    await until(() => over);
    return work;
  }

  async function close(): Promise<void> {
    for (const sims of [...running]) await stop(sims);
    for (const run of closers.splice(0).reverse()) await settled(Promise.resolve(run()));
    rmSync(folder, { recursive: true });
  }

  return { clock, air, folder, log, start, stop, gateway, until, settled, close };
}

export type SimsWorld = ReturnType<typeof simsWorld>;
