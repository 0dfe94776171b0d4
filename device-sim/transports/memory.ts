/** A board on a bus in the same process. The bus is known by its shape alone. */
import type { Transport, TransportOwner } from '../board.js';
import type { BoardClock } from '../types.js';

/** The board's end of one connection. */
export interface BusEnd {
  send(frame: Uint8Array): void;
  onFrame(run: (frame: Uint8Array) => void): void;
  onClose(run: (reason: string) => void): void;
  close(): void;
}

export interface MemoryTransportOptions {
  /** Makes a connection. May throw while the bus is down. */
  connect(boardId: string): BusEnd;
  clock: BoardClock;
  /** From 0 up to, but not including, 1. */
  random: () => number;
  /** First pause before connecting again, in milliseconds; doubles up to 30 s. Default 200. */
  backoffMs?: number;
}

const BACKOFF_MAX_MS = 30_000;

/** A transport over a bus such as the gateway's in-memory link. */
export function memoryTransport(options: MemoryTransportOptions): Transport {
  const { clock, random } = options;
  let owner: TransportOwner | undefined;
  let end: BusEnd | undefined;
  let timer: { cancel(): void } | undefined;
  let connection = 0;
  let bootId = -1;
  let failures = 0;

  function connect(): void {
    if (!owner || end) return;
    timer?.cancel();
    if (owner.bootId !== bootId) {
      bootId = owner.bootId;
      connection = 0;
    }
    let mine: BusEnd;
    try {
      mine = options.connect(owner.boardId);
    } catch {
      again();
      return;
    }
    end = mine;
    connection++;
    const present = (): boolean => end === mine;
    mine.onFrame((frame) => {
      if (!present()) return;
      failures = 0;
      owner?.received(frame);
    });
    mine.onClose((reason) => {
      if (present()) lost(reason);
    });
    owner.opened(
      { send: (frame) => mine.send(frame), close: (why) => drop(mine, why) },
      connection,
    );
  }

  function drop(mine: BusEnd, reason: string): void {
    if (end !== mine) return;
    mine.close();
    lost(reason);
  }

  function lost(reason: string): void {
    end = undefined;
    owner?.closed(reason);
    again();
  }

  function again(): void {
    timer?.cancel();
    if (!owner) return;
    const pause = Math.min(
      BACKOFF_MAX_MS,
      (options.backoffMs ?? 200) * 2 ** Math.min(failures++, 10),
    );
    timer = clock.after(Math.round(pause * (0.5 + random())), connect);
  }

  function leave(): void {
    timer?.cancel();
    const mine = end;
    end = undefined;
    if (!mine) return;
    mine.close();
    owner?.closed('the board left');
  }

  return {
    start(of) {
      owner = of;
      connect();
    },
    restart() {
      leave();
      connect();
    },
    pause(ms) {
      leave();
      timer = clock.after(ms, connect);
    },
    async stop() {
      leave();
      owner = undefined;
    },
  };
}
