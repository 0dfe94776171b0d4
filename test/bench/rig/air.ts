/** A gateway whose BLE link sits on a virtual adapter, with boards on the same air, in real time. */
import { createSimBoard, type SimBoardInput } from '../../../device-sim/create.js';
import { createAir } from '../../../device-sim/radio/air.js';
import { blenoPeripheral } from '../../../device-sim/radio/bleno-peripheral.js';
import { virtualBleno, virtualNoble } from '../../../device-sim/radio/wire.js';
import { memoryStore } from '../../../device-sim/stores.js';
import { bleTransport } from '../../../device-sim/transports/ble.js';
import { createGateway } from '../../../gateway/core/gateway.js';
import { memoryBlobStore } from '../../../gateway/core/memory-blob-store.js';
import { memoryJournal } from '../../../gateway/core/memory-journal.js';
import { secureSession } from '../../../gateway/core/secure.js';
import type { BoardId } from '../../../gateway/core/types.js';
import { bleLink } from '../../../gateway/links/ble/link.js';
import { noblePort } from '../../../gateway/links/ble/noble-port.js';
import type { NobleLike } from '../../../gateway/links/ble/noble-types.js';
import type { KnownBoard } from '../../../gateway/links/ble/profile.js';
import { MOTE, moteProfile } from '../../../gateway/links/ble/profiles/mote.js';
import { nodeClock } from '../../../gateway/node/clock.js';
import { nodeCcm } from '../../../protocol/node-ccm.js';

export const FORK = 'stoprocent';

export function onAir() {
  const clock = nodeClock();
  const air = createAir();
  const keys = new Map<BoardId, Uint8Array>();
  const known: KnownBoard[] = [];
  const ends: (() => unknown)[] = [];
  const gateway = createGateway({
    clock,
    journal: memoryJournal(),
    blobs: memoryBlobStore(),
    keyOf: async (id) => keys.get(id),
    secure: (key, hello, welcome) => secureSession(nodeCcm, key, hello, welcome),
  });
  const central = virtualNoble(air, FORK, { name: 'gateway', slots: 32 });
  const link = bleLink({
    port: noblePort(central.instance as unknown as NobleLike),
    clock,
    listener: gateway,
    profiles: [moteProfile()],
    known: () => [...known],
    random: (length) => crypto.getRandomValues(new Uint8Array(length)),
    // A virtual adapter carries more than any radio could, which the link would take for a storm.
    notificationsPerS: 1_000_000,
    notificationBurst: 1_000_000,
  });
  ends.push(
    () => central.stop(),
    () => link.close(),
  );

  function board(n: number, model: SimBoardInput['model']) {
    const boardId = `${String(n).padStart(8, '0')}000000bb`;
    const key = new Uint8Array(16).fill(n);
    const radio = virtualBleno(air, { name: `board ${n}` });
    keys.set(boardId, key);
    known.push({ boardId, profile: MOTE });
    link.knownChanged();
    const made = createSimBoard({
      model,
      name: `board ${n}`,
      boardId,
      key,
      seal: true,
      ccm: nodeCcm,
      transport: bleTransport({
        peripheral: blenoPeripheral({ bleno: radio.instance, maxMtu: 247 }),
        clock,
        random: Math.random,
        name: `board ${n}`,
      }),
      clock,
      store: memoryStore(),
      random: Math.random,
      readingsS: 0,
    });
    made.start();
    ends.push(
      () => radio.stop(),
      () => made.stop(),
    );
    return { boardId, controller: radio.controller };
  }

  async function online(boardId: BoardId): Promise<void> {
    const end = performance.now() + 60_000;
    for (;;) {
      const view = gateway.board(boardId);
      if (view?.presence.state === 'online' && view.catalog !== undefined) return;
      if (performance.now() > end) throw new Error(`board ${boardId} did not come online in 60 s`);
      await new Promise((done) => setTimeout(done, 2));
    }
  }

  return {
    air,
    gateway,
    board,
    online,
    async close(): Promise<void> {
      for (const end of ends.reverse()) await end();
      gateway.stop();
    },
  };
}
