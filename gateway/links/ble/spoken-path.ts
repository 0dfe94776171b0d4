/**
 * The path of a board that is spoken for: both ends are in this process. What the gateway sends
 * arrives after the call that sent it, in order, so that neither side is entered twice.
 */
import type { BoardId, Clock, Path, PathListener, Timer } from '../../core/types.js';
import { LinkClosed } from '../link.js';

export interface SpokenPathOptions {
  readonly boardId: BoardId;
  readonly clock: Clock;
  readonly listener: PathListener;
  count(name: string): void;
  received(frame: Uint8Array): void;
  /** The gateway ended it. */
  ended(reason: string): void;
}

/** Frames that wait to be taken; it takes no radio to take them, so there are never many. */
const MAX_WAITING = 256;

export class SpokenPath implements Path {
  readonly via = 'ble';
  readonly mustSeal = false;
  readonly #options: SpokenPathOptions;
  #waiting: Uint8Array[] = [];
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: SpokenPathOptions) {
    this.#options = options;
  }

  get boardId(): BoardId {
    return this.#options.boardId;
  }

  open(): void {
    this.#tell(() => this.#options.listener.opened(this));
  }

  /** A frame of the board. */
  say(frame: Uint8Array): void {
    if (!this.#closed) this.#tell(() => this.#options.listener.received(this, frame));
  }

  send(frame: Uint8Array): void {
    if (this.#closed) throw new LinkClosed();
    if (this.#waiting.length >= MAX_WAITING) {
      this.#options.count('shed.down');
      return;
    }
    this.#waiting.push(frame);
    this.#timer ??= this.#options.clock.after(0, () => this.#take());
  }

  close(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.cancel();
    this.#waiting = [];
    this.#options.clock.after(0, () => {
      this.#tell(() => this.#options.listener.closed(this, reason));
      this.#options.ended(reason);
    });
  }

  #take(): void {
    this.#timer = undefined;
    const frames = this.#waiting;
    this.#waiting = [];
    for (const frame of frames) if (!this.#closed) this.#options.received(frame);
  }

  /** A listener that throws ends nothing but its own turn. */
  #tell(run: () => void): void {
    try {
      run();
    } catch {
      this.#options.count('listener_error');
    }
  }
}
