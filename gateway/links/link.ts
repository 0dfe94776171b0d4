/** What every link has besides its paths. */

/** The only thing that `Path.send` may throw: the path has been closed. */
export class LinkClosed extends Error {
  override readonly name = 'LinkClosed';
  constructor() {
    super('The path to this board is closed; the frame was not sent. Wait for it to come back.');
  }
}

export interface LinkHealth {
  /** `mqtt`, `memory`, … as in `Path.via`. */
  via: string;
  state: 'connecting' | 'up' | 'down';
  /** Unix milliseconds of the last frame from any board. */
  lastHeardAt?: number;
  /** Boards with an open path. */
  paths: number;
  /** Why it is not up, in words. */
  detail?: string;
  /** What was refused, shed or flagged, by name, since the start. */
  counters: Record<string, number>;
}

export interface Link {
  health(): LinkHealth;
  /** Closes all paths, then what it runs on. */
  close(): Promise<void>;
}

/** For the log; never holds a secret or a frame. */
export type LinkLog = (line: string, details?: Record<string, string | number>) => void;

export class Counters {
  readonly all: Record<string, number> = {};

  add(name: string, by = 1): void {
    this.all[name] = (this.all[name] ?? 0) + by;
  }
}
