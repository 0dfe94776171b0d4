/** Counts what a board sends wrong, keeps samples of it, and says when it is too much. */
import { FrameError } from '../../protocol/frame-error.js';
import { toHex } from '../../protocol/identity.js';
import type { Clock } from './types.js';

/** A frame that was refused: its cause and its first bytes as hex. */
export interface Quarantined {
  at: number;
  code: string;
  bytes: number;
  head: string;
}

const WINDOW_MS = 10_000;
const SAMPLES = 16;

export class Guard {
  readonly counters: Record<string, number> = {};
  readonly quarantine: Quarantined[] = [];
  readonly #clock: Clock;
  readonly #windows = new Map<string, { startedAt: number; count: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  count(name: string, by = 1): void {
    this.counters[name] = (this.counters[name] ?? 0) + by;
  }

  /** True while `name` has come at most `limit` times in the last ten seconds. */
  within(name: string, limit: number): boolean {
    const now = this.#clock.now();
    const window = this.#windows.get(name);
    if (!window || now - window.startedAt >= WINDOW_MS) {
      this.#windows.set(name, { startedAt: now, count: 1 });
      return limit >= 1;
    }
    window.count += 1;
    return window.count <= limit;
  }

  /** Keeps the head of a bad frame; returns its code. */
  refuse(frame: Uint8Array, error: unknown): string {
    const code = error instanceof FrameError ? error.code : 'bad_frame';
    this.count(`bad.${code}`);
    const head = toHex(frame.subarray(0, 32));
    this.quarantine.push({ at: this.#clock.wall(), code, bytes: frame.length, head });
    if (this.quarantine.length > SAMPLES) this.quarantine.shift();
    return code;
  }
}
