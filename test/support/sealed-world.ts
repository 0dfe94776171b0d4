/** A gateway that seals, the in-memory link as a radio, and simulated boards that hold keys. */
import { createSimBoard, type SimBoardInput } from '../../device-sim/create.js';
import { memoryStore } from '../../device-sim/stores.js';
import { seededRandom } from '../../device-sim/testing/virtual-clock.js';
import { memoryTransport } from '../../device-sim/transports/memory.js';
import { createGateway } from '../../gateway/core/gateway.js';
import { memoryBlobStore } from '../../gateway/core/memory-blob-store.js';
import { memoryJournal } from '../../gateway/core/memory-journal.js';
import { secureSession } from '../../gateway/core/secure.js';
import type { Clock } from '../../gateway/core/types.js';
import { type Between, type Direction, memoryBus } from '../../gateway/links/memory.js';
import { decodeMessage } from '../../protocol/codec.js';
import { readFrame, SEAL } from '../../protocol/frame.js';
import type { Message } from '../../protocol/messages.js';
import { nodeCcm } from '../../protocol/node-ccm.js';
import { FakeClock } from './clock.js';

/** A frame as one who listens to the radio has it. */
export interface Heard {
  readonly boardId: string;
  readonly direction: Direction;
  readonly frame: Uint8Array;
}

export function sealedWorld({ mustSeal = true } = {}) {
  return sealedWorldOn(new FakeClock(), mustSeal);
}

/** The same on a clock of the caller's, for links that need real sockets. */
export function sealedWorldOn<C extends Clock>(clock: C, mustSeal = true) {
  const journal = memoryJournal();
  const blobs = memoryBlobStore();
  const keys = new Map<string, Uint8Array>();
  const log: { what: string; about: Record<string, unknown> }[] = [];
  const air: Heard[] = [];
  const made = {
    /** Faults of the radio; without it every frame arrives once. */
    between: undefined as Between | undefined,
    /** A key store of its own ways. */
    keyOf: undefined as (() => Promise<Uint8Array | undefined>) | undefined,
  };
  const gateway = createGateway({
    clock,
    journal,
    blobs,
    random: (length) => crypto.getRandomValues(new Uint8Array(length)),
    keyOf: async (id) => (made.keyOf ? made.keyOf() : keys.get(id)),
    secure: (key, hello, welcome) => secureSession(nodeCcm, key, hello, welcome),
    log: (what, about) => log.push({ what, about }),
  });
  const radio = () =>
    memoryBus({
      clock,
      listener: gateway,
      mustSeal,
      between: (frame, direction, boardId) => {
        air.push({ boardId, direction, frame: frame.slice() });
        return made.between?.(frame, direction, boardId) ?? [{ frame }];
      },
    });
  const bus = radio();
  return {
    clock,
    journal,
    blobs,
    gateway,
    log,
    air,
    faults: made,
    bus,
    /** Another link of the same gateway, where somebody else says that he is the board. */
    otherRadio: radio,
    keys,
    board(n: number, model: SimBoardInput['model'], more: Partial<SimBoardInput> = {}) {
      const boardId = `00000000000000a${n}`;
      const key = new Uint8Array(16).fill(n);
      keys.set(boardId, key);
      const random = seededRandom(n);
      return createSimBoard({
        model,
        name: `board ${n}`,
        boardId,
        key,
        seal: true,
        ccm: nodeCcm,
        transport: memoryTransport({ connect: (id) => bus.connect(id), clock, random }),
        clock,
        store: memoryStore(),
        random,
        readingsS: 0,
        ...more,
      });
    },
    /** What crossed the air in plain. */
    plain(direction: Direction, boardId: string): Message[] {
      return air
        .filter((heard) => heard.direction === direction && heard.boardId === boardId)
        .map((heard) => readFrame(heard.frame))
        .filter(({ seal }) => seal === SEAL.plain)
        .map(({ body }) => decodeMessage(body));
    },
  };
}

export type SealedWorld = ReturnType<typeof sealedWorld>;
