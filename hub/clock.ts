/** Time and timers as the hub is handed them: deadlines by `now`, stamps by `wall`. */
export interface HubClock {
  /** Milliseconds on a clock that never jumps. */
  now(): number;
  /** Unix milliseconds. */
  wall(): number;
  after(ms: number, run: () => void): { cancel(): void };
}

export const realClock: HubClock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

/** A wall clock this far from where it should be was set; less is drift and is followed. */
const JUMP_MS = 2_000;

/**
 * The hub's own time. It follows the wall clock's drift but not a jump of it: ages in the
 * mailbox and presence must not change because somebody set the date. A jump is taken up by
 * `settle`, whose caller moves the stored stamps along with it.
 */
export class HubTime {
  private anchorNow: number;
  private anchorWall: number;

  constructor(private readonly clock: HubClock) {
    this.anchorNow = clock.now();
    this.anchorWall = clock.wall();
  }

  /** Unix milliseconds. */
  ms(): number {
    const now = this.clock.now();
    const expected = this.anchorWall + (now - this.anchorNow);
    const wall = this.clock.wall();
    if (Math.abs(wall - expected) > JUMP_MS) return Math.floor(expected);
    this.anchorNow = now;
    this.anchorWall = wall;
    return Math.floor(wall);
  }

  /** Unix seconds. */
  seconds(): number {
    return Math.floor(this.ms() / 1000);
  }

  /** By how many milliseconds the wall clock jumped since the last `settle`; 0 if it didn't. */
  jump(): number {
    const expected = this.anchorWall + (this.clock.now() - this.anchorNow);
    const away = this.clock.wall() - expected;
    return Math.abs(away) > JUMP_MS ? Math.round(away) : 0;
  }

  /** Follows the wall clock from here on. */
  settle(): void {
    this.anchorNow = this.clock.now();
    this.anchorWall = this.clock.wall();
  }
}
