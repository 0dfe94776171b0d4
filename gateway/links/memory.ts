/**
 * Boards in the same process: the simulator's bus. Frames arrive in order, never within the call
 * that sent them, at times that the injected clock alone decides.
 */
import type { BoardId, Clock, Path, PathListener, Timer } from '../core/types.js';
import { Counters, type Link, LinkClosed, type LinkHealth } from './link.js';
import { BOARD_ID } from './topics.js';

export type Direction = 'up' | 'down';

/** What becomes of one frame: none (lost), one, or several (repeated), each after a while. */
export type Between = (
  frame: Uint8Array,
  direction: Direction,
  boardId: BoardId,
) => { frame: Uint8Array; delayMs?: number }[];

export interface MemoryBusOptions {
  clock: Clock;
  listener: PathListener;
  /** Faults; without it every frame arrives once. */
  between?: Between;
  /** As a radio would; default false. */
  mustSeal?: boolean;
  /** Largest frame in bytes; larger ones are lost and counted. Default 65,536. */
  maxFrame?: number;
}

/** The board's end. After `close`, or once `onClose` has run, nothing more comes or goes. */
export interface BoardEnd {
  send(frame: Uint8Array): void;
  onFrame(run: (frame: Uint8Array) => void): void;
  onClose(run: (reason: string) => void): void;
  close(): void;
}

export interface MemoryBus extends Link {
  /** A second connection of one id takes the place of the first. */
  connect(boardId: BoardId): BoardEnd;
}

export function memoryBus(options: MemoryBusOptions): MemoryBus {
  const { clock, listener, between } = options;
  const maxFrame = options.maxFrame ?? 65_536;
  const counters = new Counters();
  const wires = new Map<BoardId, Wire>();
  let lastHeardAt: number | undefined;
  let closed = false;

  function connect(boardId: BoardId): BoardEnd {
    if (!BOARD_ID.test(boardId)) throw new RangeError(`${JSON.stringify(boardId)} is no board id.`);
    if (closed) throw new LinkClosed();
    wires.get(boardId)?.end('the board connected again');
    const up = new Line(clock);
    const down = new Line(clock);
    let toBoard: ((frame: Uint8Array) => void) | undefined;
    let onClose: ((reason: string) => void) | undefined;
    const wire: Wire = { ended: false, opened: false, end };
    const path: Path = {
      boardId,
      via: 'memory',
      mustSeal: options.mustSeal ?? false,
      send(frame) {
        if (wire.ended) throw new LinkClosed();
        carry('down', frame, down, (each) => toBoard?.(each));
      },
      close: (reason) => end(reason),
    };

    function carry(
      direction: Direction,
      frame: Uint8Array,
      line: Line,
      arrive: (frame: Uint8Array) => void,
    ): void {
      if (frame.length > maxFrame) {
        counters.add('too_large');
        return;
      }
      const copies = between ? between(frame, direction, boardId) : [{ frame }];
      for (const copy of copies) {
        const bytes = copy.frame.slice();
        line.add(copy.delayMs ?? 0, () => arrive(bytes));
      }
    }

    function end(reason: string): void {
      if (wire.ended) return;
      wire.ended = true;
      up.stop();
      down.stop();
      if (wires.get(boardId) === wire) wires.delete(boardId);
      clock.after(0, () => {
        if (wire.opened) told(() => listener.closed(path, reason));
        onClose?.(reason);
      });
    }

    wires.set(boardId, wire);
    up.add(0, () => {
      wire.opened = true;
      told(() => listener.opened(path));
    });
    return {
      send(frame) {
        if (wire.ended) return;
        carry('up', frame, up, (each) => {
          lastHeardAt = clock.wall();
          told(() => listener.received(path, each));
        });
      },
      onFrame(run) {
        toBoard = run;
      },
      onClose(run) {
        onClose = run;
      },
      close: () => end('the board closed the connection'),
    };
  }

  /** A listener that throws ends nothing but its own turn. */
  function told(run: () => void): void {
    try {
      run();
    } catch {
      counters.add('listener_error');
    }
  }

  return {
    connect,
    health(): LinkHealth {
      return {
        via: 'memory',
        state: closed ? 'down' : 'up',
        ...(lastHeardAt === undefined ? {} : { lastHeardAt }),
        paths: wires.size,
        counters: { ...counters.all },
      };
    },
    async close() {
      closed = true;
      for (const wire of [...wires.values()]) wire.end('the link is closing');
    },
  };
}

interface Wire {
  ended: boolean;
  opened: boolean;
  end(reason: string): void;
}

/** Things that happen at their time; those of one time happen in the order they were added. */
class Line {
  readonly #clock: Clock;
  readonly #timers = new Set<Timer>();
  #waiting: { at: number; run: () => void }[] = [];
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(delayMs: number, run: () => void): void {
    const at = this.#clock.now() + delayMs;
    const later = this.#waiting.findIndex((other) => other.at > at);
    this.#waiting.splice(later < 0 ? this.#waiting.length : later, 0, { at, run });
    const timer = this.#clock.after(delayMs, () => {
      this.#timers.delete(timer);
      this.#next();
    });
    this.#timers.add(timer);
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    this.#waiting = [];
  }

  /** One timer, one thing: whichever is first, so timers that fire in any order keep the order. */
  #next(): void {
    if (this.#stopped) return;
    this.#waiting.shift()?.run();
  }
}
