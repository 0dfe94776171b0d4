/**
 * One connection as profiles get it: operations run one after another, each with a deadline, and a
 * peer that does not keep one is let go. Notifications that storm are shed, then end it.
 */
import type { Clock } from '../../core/types.js';
import { Bucket } from '../bucket.js';
import { DEADLINES, within } from './deadline.js';
import { BleError, type GattPeer } from './port.js';

/** Why a connection ended: it decides how soon the next one is tried. */
export type EndCause =
  /** The radio or the board ended it. */
  | 'lost'
  /** Our side did, through `disconnect`. */
  | 'let_go'
  | 'deadline'
  | 'storm'
  /** It makes room for another board. */
  | 'rotated'
  | 'unproven'
  | 'forgotten'
  /** The adapter went, or the link closes: no fault of the board. */
  | 'adapter';

export interface ConnectionOptions {
  readonly clock: Clock;
  count(name: string): void;
  /** Per second, and at once. Above what a radio can carry; default 2,000 and 4,000. */
  readonly notificationsPerS?: number;
  readonly notificationBurst?: number;
}

/** Operations that may wait; segments under way are bounded by credit long before. */
const MAX_QUEUED = 128;
/** Notifications shed within the window after which the link is closed. */
const MAX_SHED = 2_000;
const SHED_WINDOW_MS = 10_000;

interface Operation {
  start(): void;
  cancel(error: BleError): void;
}

export class Connection implements GattPeer {
  readonly address: string;
  /** Monotonic milliseconds of the last thing heard of the peer. */
  heardAt: number;
  /** Monotonic milliseconds of the last read, write or notification; idle links may rest. */
  usedAt: number;
  readonly #peer: GattPeer;
  readonly #options: ConnectionOptions;
  readonly #bucket: Bucket;
  #queue: Operation[] = [];
  #current: Operation | undefined;
  #cause: EndCause | undefined;
  #why = '';
  #ended: string | undefined;
  #closers: ((reason: string) => void)[] = [];
  #shed = 0;
  #shedSince = 0;

  constructor(peer: GattPeer, options: ConnectionOptions) {
    this.address = peer.address;
    this.#peer = peer;
    this.#options = options;
    const { clock, notificationsPerS = 2_000, notificationBurst = 4_000 } = options;
    this.heardAt = clock.now();
    this.usedAt = this.heardAt;
    this.#bucket = new Bucket(notificationsPerS, notificationBurst, this.heardAt);
    peer.onClosed((reason) => this.#end(reason));
  }

  /** `lost` until something else is known. */
  get cause(): EndCause {
    return this.#cause ?? 'lost';
  }

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  onClosed(run: (reason: string) => void): void {
    if (this.#ended !== undefined) run(this.#ended);
    else this.#closers.push(run);
  }

  discover(service: string): Promise<void> {
    return this.#do('discovering services', DEADLINES.discover, () => this.#peer.discover(service));
  }

  mtu(): number | undefined {
    return this.#ended === undefined ? this.#peer.mtu() : undefined;
  }

  read(characteristic: string): Promise<Uint8Array> {
    return this.#do('reading', DEADLINES.read, () => this.#peer.read(characteristic));
  }

  write(characteristic: string, bytes: Uint8Array, withResponse: boolean): Promise<void> {
    return this.#do('writing', DEADLINES.write, () =>
      this.#peer.write(characteristic, bytes, withResponse),
    );
  }

  subscribe(characteristic: string, run: (bytes: Uint8Array) => void): Promise<void> {
    return this.#do('subscribing', DEADLINES.subscribe, () =>
      this.#peer.subscribe(characteristic, (bytes) => this.#notified(bytes, run)),
    );
  }

  disconnect(why = 'closed from this side'): Promise<void> {
    return this.drop('let_go', why);
  }

  /** Ends the connection; resolves when the adapter has confirmed it, or will not. */
  async drop(cause: EndCause, why: string): Promise<void> {
    if (this.#ended !== undefined) return;
    const first = this.#cause === undefined;
    if (first) {
      this.#cause = cause;
      this.#why = why;
      this.#cancelAll(new BleError('disconnected', `nothing more is sent: ${why}`));
    }
    const { clock, count } = this.#options;
    try {
      await within(clock, DEADLINES.disconnect, 'disconnecting', () => this.#peer.disconnect());
    } catch {
      if (this.#ended === undefined) count('disconnect_unconfirmed');
    }
    this.#end(why);
  }

  /** The adapter is gone: nothing will confirm anything. */
  abandon(why: string): void {
    this.#cause ??= 'adapter';
    this.#end(why);
  }

  #notified(bytes: Uint8Array, run: (bytes: Uint8Array) => void): void {
    const { clock, count } = this.#options;
    const now = clock.now();
    if (this.#ended !== undefined || this.#cause !== undefined) {
      count('late_event');
      return;
    }
    this.heardAt = now;
    this.usedAt = now;
    if (this.#bucket.take(1, now)) {
      run(bytes);
      return;
    }
    count('notifications_shed');
    if (now - this.#shedSince > SHED_WINDOW_MS) {
      this.#shedSince = now;
      this.#shed = 0;
    }
    this.#shed++;
    if (this.#shed > MAX_SHED) void this.drop('storm', 'it sent more than any board may');
  }

  #do<T>(what: string, ms: number, start: () => Promise<T>): Promise<T> {
    const { clock, count } = this.#options;
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined || this.#cause !== undefined) {
        const why = this.#ended ?? this.#why;
        reject(new BleError('disconnected', `${what} was not done: ${why}`));
        return;
      }
      if (this.#queue.length >= MAX_QUEUED) {
        count('queue_full');
        reject(
          new BleError('failed', `${what} was not done: ${MAX_QUEUED} operations wait already`),
        );
        return;
      }
      let cancelled = false;
      this.#queue.push({
        cancel: (error) => {
          cancelled = true;
          reject(error);
        },
        start: () => {
          this.usedAt = clock.now();
          void within(clock, ms, what, start)
            .then(
              (value) => {
                if (cancelled) return;
                this.heardAt = clock.now();
                resolve(value);
              },
              (error: unknown) => {
                reject(error);
                if (!(error instanceof BleError) || error.code !== 'deadline') return;
                count('deadline');
                // The library may hold this operation for ever; only a new link is sound.
                void this.drop('deadline', error.message);
              },
            )
            .finally(() => {
              this.#current = undefined;
              this.#next();
            });
        },
      });
      this.#next();
    });
  }

  #next(): void {
    if (this.#current) return;
    const operation = this.#queue.shift();
    if (!operation) return;
    this.#current = operation;
    operation.start();
  }

  #cancelAll(error: BleError): void {
    const waiting = this.#queue;
    this.#queue = [];
    this.#current?.cancel(error);
    for (const operation of waiting) operation.cancel(error);
  }

  #end(reason: string): void {
    if (this.#ended !== undefined) return;
    const why = this.#cause === undefined ? reason : this.#why || reason;
    this.#ended = why;
    this.#cancelAll(new BleError('disconnected', `it was not done: ${why}`));
    const closers = this.#closers;
    this.#closers = [];
    for (const run of closers) run(why);
  }
}
