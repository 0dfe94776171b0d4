/** A clock that tests move by hand. */
import type { HubClock } from './clock.js';

export class TestClock implements HubClock {
  private monotonic = 1_000;
  private timers: { at: number; run: () => void }[] = [];
  constructor(private unixMs = 1_800_000_000_000) {}

  now = (): number => this.monotonic;
  wall = (): number => this.unixMs;

  after(ms: number, run: () => void) {
    const timer = { at: this.monotonic + ms, run };
    this.timers.push(timer);
    return {
      cancel: () => {
        this.timers = this.timers.filter((other) => other !== timer);
      },
    };
  }

  /** Moves both clocks; timers that fall due run in their order. */
  advance(ms: number): void {
    const end = this.monotonic + ms;
    for (;;) {
      const due = this.timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.timers = this.timers.filter((t) => t !== due);
      this.step(Math.max(0, due.at - this.monotonic));
      due.run();
    }
    this.step(end - this.monotonic);
  }

  /** Moves both clocks at once; what fell due on the way runs afterwards, once. */
  leap(ms: number): void {
    this.step(ms);
    this.advance(0);
  }

  /** Time passes and nothing that was planned happens yet. */
  hold(ms: number): void {
    this.step(ms);
  }

  /** Somebody sets the date. */
  setWall(byMs: number): void {
    this.unixMs += byMs;
  }

  private step(ms: number): void {
    this.monotonic += ms;
    this.unixMs += ms;
  }
}
