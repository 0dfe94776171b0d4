/**
 * Keeps a scan going while one is wanted: adapters stop it by themselves (some when a link opens),
 * and some go deaf without a word. A deaf adapter gets its scan restarted, then is reset, then is
 * said to be deaf: never silently.
 */
import type { Clock, Timer } from '../../core/types.js';
import type { LinkLog } from '../link.js';
import { DEADLINES, within } from './deadline.js';
import type { BlePort } from './port.js';

export interface ScannerOptions {
  readonly port: BlePort;
  readonly clock: Clock;
  count(name: string): void;
  readonly log: LinkLog;
  /** Connections that work; while there are some, an adapter is not reset lightly. */
  links(): number;
  /** Ends every connection before a reset. */
  prepareReset(): Promise<void>;
  /** Silence after which the adapter may be deaf. Default 60,000 ms. */
  readonly deafMs?: number;
}

/** A scan that stopped by itself is started again after this. */
const RESUME_MS = 500;
/** Between one reset of a deaf adapter and the next; live links are only ended after it. */
const PATIENCE_MS = 600_000;
/** The step at which it is said aloud. */
const DEAF = 3;

export class Scanner {
  readonly #options: ScannerOptions;
  readonly #deafMs: number;
  #wanted = false;
  #running = false;
  #holds = 0;
  #busy = false;
  #closed = false;
  #retry: Timer | undefined;
  #watch: Timer | undefined;
  /** Monotonic: the last advertisement, or since when one could have been heard. */
  #aliveAt = 0;
  #heardAt: number | undefined;
  #step = 0;
  #deafSince: number | undefined;
  #resetAt: number | undefined;
  #idle: (() => void)[] = [];

  constructor(options: ScannerOptions) {
    this.#options = options;
    this.#deafMs = options.deafMs ?? 60_000;
    options.port.onScanStopped(() => this.#stopped());
  }

  get running(): boolean {
    return this.#running;
  }

  get wanted(): boolean {
    return this.#wanted;
  }

  /** Monotonic milliseconds of the last advertisement of anything. */
  get heardAt(): number | undefined {
    return this.#heardAt;
  }

  /** In words, while the adapter seems deaf and nothing helped. */
  get degraded(): string | undefined {
    if (this.#step < DEAF || this.#deafSince === undefined) return undefined;
    const { clock } = this.#options;
    const minutes = Math.round((clock.now() - this.#deafSince) / 60_000);
    const tried =
      this.#resetAt === undefined ? 'the scan was restarted' : 'scan and adapter were restarted';
    return (
      `no advertisement was heard for ${minutes} min although the adapter says it is on (${tried}): ` +
      'nothing is near, or the adapter is deaf. Unplug it and plug it in again, or: ' +
      'sudo hciconfig hci0 reset'
    );
  }

  want(wanted: boolean): void {
    if (wanted && !this.#wanted) this.#aliveAt = this.#options.clock.now();
    this.#wanted = wanted;
    this.#turn();
  }

  /** Something was heard: the adapter is not deaf. */
  heard(): void {
    const now = this.#options.clock.now();
    this.#aliveAt = now;
    this.#heardAt = now;
    if (this.#step >= DEAF) this.#options.log('the Bluetooth adapter hears again');
    this.#step = 0;
    this.#deafSince = undefined;
    this.#resetAt = undefined;
  }

  /** The adapter came, or went. */
  adapter(on: boolean): void {
    this.#running = false;
    this.#aliveAt = this.#options.clock.now();
    this.#retry?.cancel();
    if (on) this.#turn();
  }

  /** Stops the scan while a connection is made; resolves when it has stopped. */
  async hold(): Promise<() => void> {
    this.#holds++;
    this.#turn();
    if (this.#busy) await new Promise<void>((resolve) => this.#idle.push(resolve));
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#holds--;
      this.#turn();
    };
  }

  close(): void {
    this.#closed = true;
    this.#wanted = false;
    this.#retry?.cancel();
    this.#watch?.cancel();
    this.#turn();
  }

  #stopped(): void {
    if (!this.#running) return;
    this.#running = false;
    this.#options.count('scan_stopped');
    this.#again(RESUME_MS);
  }

  #again(ms: number): void {
    if (this.#closed) return;
    this.#retry?.cancel();
    this.#retry = this.#options.clock.after(ms, () => this.#turn());
  }

  /** Brings the scan to where it should be, one step at a time. */
  #turn(): void {
    if (this.#busy) return;
    const { port, clock, count } = this.#options;
    const should = this.#wanted && this.#holds === 0 && port.state === 'on';
    this.#watchOver(this.#wanted && port.state === 'on');
    if (should === this.#running) {
      const idle = this.#idle;
      this.#idle = [];
      for (const run of idle) run();
      return;
    }
    this.#busy = true;
    const [what, start] = should
      ? (['starting the scan', () => port.startScan()] as const)
      : (['stopping the scan', () => port.stopScan()] as const);
    void within(clock, DEADLINES.scan, what, start)
      .then(
        () => {
          this.#running = should && port.state === 'on';
          if (should) count('scan_started');
          return true;
        },
        () => {
          count(should ? 'scan_start_failed' : 'scan_stop_failed');
          // A stop that is not confirmed must not keep boards waiting; a start is tried again.
          this.#running = false;
          return !should;
        },
      )
      .then((settled) => {
        this.#busy = false;
        if (settled) this.#turn();
        else {
          this.#again(1_000);
          const idle = this.#idle;
          this.#idle = [];
          for (const run of idle) run();
        }
      });
  }

  #watchOver(on: boolean): void {
    if (!on || this.#closed) {
      this.#watch?.cancel();
      this.#watch = undefined;
      return;
    }
    if (this.#watch) return;
    const look = (): void => {
      this.#watch = this.#options.clock.after(this.#deafMs / 6, look);
      this.#look();
    };
    this.#watch = this.#options.clock.after(this.#deafMs / 6, look);
  }

  #look(): void {
    const { clock, count, log, links } = this.#options;
    const now = clock.now();
    if (now - this.#aliveAt < this.#deafMs) return;
    this.#deafSince ??= this.#aliveAt;
    // Each measure gets the same time to show that it helped.
    this.#aliveAt = now;
    if (this.#step === 0) {
      this.#step = 1;
      count('deaf_scan_restarts');
      this.#restart();
    } else if (this.#step === 1 && links() === 0) {
      this.#step = 2;
      this.#reset(now);
    } else if (this.#step < DEAF) {
      this.#step = DEAF;
      count('deaf');
      log(this.degraded ?? 'the Bluetooth adapter seems deaf');
    } else if (now - (this.#resetAt ?? this.#deafSince) >= PATIENCE_MS) this.#reset(now);
    else this.#restart();
  }

  #restart(): void {
    void this.hold().then((release) => release());
  }

  #reset(now: number): void {
    this.#resetAt = now;
    const { port, clock, count, log, prepareReset } = this.#options;
    count('adapter_resets');
    log('nothing is heard: the Bluetooth adapter is reset');
    void this.hold().then(async (release) => {
      try {
        await prepareReset();
        await within(clock, DEADLINES.reset, 'resetting the adapter', () => port.reset());
      } catch {
        count('adapter_reset_failed');
      }
      release();
    });
  }
}
