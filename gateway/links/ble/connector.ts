/**
 * Makes connections, one at a time, with the scan paused: controllers demand both. A controller
 * that answers none any more is reset.
 */
import type { Clock } from '../../core/types.js';
import type { LinkLog } from '../link.js';
import { notOn } from './adapter-words.js';
import { Connection } from './connection.js';
import { DEADLINES, within } from './deadline.js';
import { BleError, type BlePort } from './port.js';
import type { Scanner } from './scanner.js';
import type { Slots } from './slots.js';

export interface ConnectorOptions {
  readonly port: BlePort;
  readonly clock: Clock;
  readonly scanner: Scanner;
  readonly slots: Slots;
  /** Live connections. */
  links(): number;
  count(name: string): void;
  readonly log: LinkLog;
  readonly notificationsPerS?: number;
  readonly notificationBurst?: number;
}

/** Attempts in a row that no answer came to: the controller hangs. */
const STUCK = 5;
/** Between two resets for that; one board that cannot be reached looks the same. */
const UNSTICK_MS = 600_000;

export class Connector {
  readonly #options: ConnectorOptions;
  #busy = false;
  #unanswered = 0;
  #resetAt: number | undefined;

  constructor(options: ConnectorOptions) {
    this.#options = options;
  }

  get busy(): boolean {
    return this.#busy;
  }

  /** Only while not `busy`. Rejects with `BleError`; then nothing is left open. */
  async connect(address: string): Promise<Connection> {
    const { port, clock, count, slots, scanner, links } = this.#options;
    this.#busy = true;
    const release = await scanner.hold();
    try {
      if (port.state !== 'on') throw notOn(port.state);
      count('connects');
      const peer = await within(
        clock,
        DEADLINES.connect,
        `connecting to ${address}`,
        () => port.connect(address),
        (late) => void late.disconnect().catch(() => undefined),
      );
      this.#unanswered = 0;
      return new Connection(peer, this.#options);
    } catch (error) {
      const code = error instanceof BleError ? error.code : 'failed';
      if (code === 'no_slot') slots.refusedAt(links());
      if (code === 'deadline') {
        count('deadline');
        port.cancelConnect(address);
        await this.#unstick();
      }
      throw error;
    } finally {
      this.#busy = false;
      release();
    }
  }

  async #unstick(): Promise<void> {
    const { port, clock, count, log, links } = this.#options;
    const now = clock.now();
    this.#unanswered++;
    if (this.#unanswered < STUCK || links() > 0) return;
    if (this.#resetAt !== undefined && now - this.#resetAt < UNSTICK_MS) return;
    this.#unanswered = 0;
    this.#resetAt = now;
    count('adapter_resets');
    log('no connection is answered any more: the Bluetooth adapter is reset');
    await within(clock, DEADLINES.reset, 'the reset', () => port.reset()).catch(() =>
      count('adapter_reset_failed'),
    );
  }
}
