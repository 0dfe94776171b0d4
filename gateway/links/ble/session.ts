/** A connection, the board it is for, and who hears of its path: the gateway, or a pairing. */
import type { Clock, Path, PathListener } from '../../core/types.js';
import type { Connection } from './connection.js';
import type { KnownBoard, ProfileSession } from './profile.js';

export interface SessionOptions {
  readonly connection: Connection;
  readonly board: KnownBoard;
  readonly clock: Clock;
  readonly listener: PathListener;
  /** Reports to the gateway; false: to a pairing. */
  readonly adopted: boolean;
}

export class Session {
  readonly connection: Connection;
  readonly board: KnownBoard;
  adopted: boolean;
  path: Path | undefined;
  /** Monotonic milliseconds; undefined while it opens. */
  openedAt: number | undefined;
  /** Unix milliseconds of the last frame. */
  frameAt: number | undefined;
  spoken: ProfileSession | undefined;
  readonly listener: PathListener;
  #target: PathListener;

  constructor({ connection, board, clock, listener, adopted }: SessionOptions) {
    this.connection = connection;
    this.board = board;
    this.adopted = adopted;
    this.#target = listener;
    this.listener = {
      opened: (path) => {
        this.path = path;
        this.#target.opened(path);
      },
      received: (path, frame) => {
        this.frameAt = clock.wall();
        this.#target.received(path, frame);
      },
      closed: (path, reason) => {
        this.path = undefined;
        this.#target.closed(path, reason);
      },
    };
  }

  /** From the next frame on another listener is told; the connection knows nothing of it. */
  handOver(listener: PathListener): void {
    if (this.adopted || !this.path) return;
    this.adopted = true;
    this.#target = listener;
    listener.opened(this.path);
  }
}
