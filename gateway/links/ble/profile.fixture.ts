/** What the tests of BLE profiles share: a real gateway to speak to, and a peer in a test's hands. */

import { type Bench, bench } from '../../../test/support/gateway.js';
import type { Journal } from '../../core/journal.js';
import type { UpItem } from '../../core/types.js';
import { type Advertisement, BleError, type GattPeer, plainUuid } from './port.js';
import type { ProfileContext } from './profile.js';

export interface World extends Bench {
  context: ProfileContext;
  counters: Record<string, number>;
  /** Presence of every board, as it changed. */
  states: string[];
  /** Hashes of catalogs, as they changed. */
  catalogs: string[];
  events(): UpItem['body'][];
}

let runs = 0;

/** A gateway and what a profile is given; another run of the gateway where `journal` is given. */
export function world(options: { journal?: Journal; clock?: Bench['clock'] } = {}): World {
  const made = bench(options);
  const counters: Record<string, number> = {};
  const states: string[] = [];
  const catalogs: string[] = [];
  made.gateway.on('presence', (board) => states.push(board.presence.state));
  made.gateway.on('catalog', (board) => catalogs.push(board.catalog?.hash ?? 'none'));
  runs += 1;
  let random = runs * 1_000;
  return {
    ...made,
    counters,
    states,
    catalogs,
    events: () =>
      made.journal
        .pending(1_000)
        .filter(({ item }) => item.kind === 'event')
        .map(({ item }) => item.body),
    context: {
      clock: made.clock,
      listener: made.gateway,
      random: (length) => Uint8Array.from({ length }, () => random++ & 0xff),
      log: () => {},
      count: (name) => {
        counters[name] = (counters[name] ?? 0) + 1;
      },
    },
  };
}

export function advertisement(more: Partial<Advertisement> = {}): Advertisement {
  return {
    address: '54:48:e6:8f:80:a5',
    rssi: -60,
    services: [],
    serviceData: [],
    connectable: false,
    ...more,
  };
}

/** A GATT server of one service, as its central sees it. */
export class FakePeer implements GattPeer {
  readonly address = '54:48:e6:8f:80:a5';
  /** By UUID; what is not in it does not exist. */
  readonly values = new Map<string, () => Uint8Array | Promise<Uint8Array>>();
  readonly written: { characteristic: string; bytes: Uint8Array; withResponse: boolean }[] = [];
  /** Answers a write; a test may hold it back. */
  onWrite: (characteristic: string, bytes: Uint8Array) => void | Promise<void> = () => {};
  discovered: () => Promise<void> = async () => {};
  disconnects = 0;
  readonly #subscribed = new Map<string, (bytes: Uint8Array) => void>();

  constructor(readonly characteristics: readonly string[]) {}

  onClosed(): void {}

  discover(): Promise<void> {
    return this.discovered();
  }

  mtu(): number {
    return 23;
  }

  async read(characteristic: string): Promise<Uint8Array> {
    this.#check(characteristic);
    return (await this.values.get(plainUuid(characteristic))?.()) ?? new Uint8Array();
  }

  async write(characteristic: string, bytes: Uint8Array, withResponse: boolean): Promise<void> {
    this.#check(characteristic);
    this.written.push({ characteristic: plainUuid(characteristic), bytes, withResponse });
    await this.onWrite(plainUuid(characteristic), bytes);
  }

  async subscribe(characteristic: string, run: (bytes: Uint8Array) => void): Promise<void> {
    this.#check(characteristic);
    this.#subscribed.set(plainUuid(characteristic), run);
  }

  async disconnect(): Promise<void> {
    this.disconnects += 1;
  }

  notify(characteristic: string, content: string | Uint8Array): void {
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    this.#subscribed.get(plainUuid(characteristic))?.(bytes);
  }

  #check(characteristic: string): void {
    if (this.characteristics.some((each) => plainUuid(each) === plainUuid(characteristic))) return;
    throw new BleError('no_characteristic', `there is no ${characteristic}`);
  }
}
