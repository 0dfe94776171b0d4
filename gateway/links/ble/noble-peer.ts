/** One connection through noble. What noble leaves pending for ever ends when the link closes. */
import type { NobleCharacteristic, NoblePeripheral } from './noble-types.js';
import { BleError, type GattPeer, plainUuid } from './port.js';

/** Reasons of HCI (Core 5.4, Vol 1 Part F), those that people meet. */
const REASONS: Readonly<Record<number, string>> = {
  3: 'the adapter failed',
  8: 'the radio link was lost',
  19: 'the board ended the connection',
  20: 'the board ended the connection: it lacks resources',
  21: 'the board is switching off',
  22: 'the connection was ended from this side',
  62: 'the connection could not be established',
};

export class NoblePeer implements GattPeer {
  readonly address: string;
  readonly #peripheral: NoblePeripheral;
  readonly #mostMtu: number;
  #characteristics = new Map<string, NobleCharacteristic>();
  #closed: string | undefined;
  readonly #closers = new Set<(reason: string) => void>();

  /** `mostMtu`: what this fork asks for; the peer's answer may be larger and then means less. */
  constructor(address: string, peripheral: NoblePeripheral, mostMtu: number) {
    this.address = address;
    this.#peripheral = peripheral;
    this.#mostMtu = mostMtu;
  }

  /** The library's disconnect event, or the adapter went. */
  ended(reason: unknown): void {
    if (this.#closed !== undefined) return;
    this.#closed = wordsOf(reason);
    // The characteristics are dead objects now: a reconnection discovers new ones.
    this.#characteristics = new Map();
    for (const run of [...this.#closers]) run(this.#closed);
    this.#closers.clear();
  }

  onClosed(run: (reason: string) => void): void {
    if (this.#closed !== undefined) run(this.#closed);
    else this.#closers.add(run);
  }

  async discover(service: string): Promise<void> {
    const wanted = fullUuid(service);
    const services = await this.#run('finding services', () =>
      this.#peripheral.discoverServicesAsync([wanted]),
    );
    const found = services.find((each) => fullUuid(each.uuid) === wanted);
    if (!found) {
      throw new BleError('no_service', `this device has no service ${service}; it was let go`);
    }
    const characteristics = await this.#run('finding characteristics', () =>
      found.discoverCharacteristicsAsync([]),
    );
    this.#characteristics = new Map(characteristics.map((each) => [fullUuid(each.uuid), each]));
  }

  mtu(): number | undefined {
    const { mtu } = this.#peripheral;
    return typeof mtu === 'number' && mtu > 0 ? Math.min(mtu, this.#mostMtu) : undefined;
  }

  async read(characteristic: string): Promise<Uint8Array> {
    const found = this.#find(characteristic, ['read']);
    return new Uint8Array(await this.#run('reading', () => found.readAsync()));
  }

  async write(characteristic: string, bytes: Uint8Array, withResponse: boolean): Promise<void> {
    const found = this.#find(characteristic, ['write', 'writeWithoutResponse']);
    const response = withResponse
      ? found.properties.includes('write')
      : !found.properties.includes('writeWithoutResponse');
    const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    await this.#run('writing', () => found.writeAsync(data, !response));
  }

  async subscribe(characteristic: string, run: (bytes: Uint8Array) => void): Promise<void> {
    const found = this.#find(characteristic, ['notify', 'indicate']);
    found.on('data', (data, isNotification) => {
      if (isNotification === true && this.#closed === undefined) run(new Uint8Array(data));
    });
    await this.#run('subscribing', () => found.subscribeAsync());
  }

  async disconnect(): Promise<void> {
    if (this.#closed !== undefined) return;
    const closed = new Promise<void>((resolve) => this.onClosed(() => resolve()));
    // Without a live handle the library throws: then there is nothing to close.
    if (this.#peripheral.state === 'connected') this.#peripheral.disconnect();
    else if (this.#peripheral.state !== 'disconnecting') this.ended(22);
    await closed;
  }

  #find(uuid: string, properties: readonly string[]): NobleCharacteristic {
    if (this.#closed !== undefined) throw gone('this', this.#closed);
    const found = this.#characteristics.get(fullUuid(uuid));
    if (!found || !properties.some((each) => found.properties.includes(each))) {
      throw new BleError(
        'no_characteristic',
        `this device has no characteristic ${uuid} to ${properties[0]}; nothing was sent`,
      );
    }
    return found;
  }

  #run<T>(what: string, start: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed !== undefined || this.#peripheral.state !== 'connected') {
        reject(gone(what, this.#closed ?? 'it is not connected'));
        return;
      }
      const closed = (reason: string): void => reject(gone(what, reason));
      this.#closers.add(closed);
      const settled = (): void => void this.#closers.delete(closed);
      let running: Promise<T>;
      try {
        running = start();
      } catch (error) {
        running = Promise.reject(error);
      }
      running.then(
        (value) => {
          settled();
          resolve(value);
        },
        (error) => {
          settled();
          if (this.#peripheral.state !== 'connected') reject(gone(what, 'the link was lost'));
          else reject(failed(what, error));
        },
      );
    });
  }
}

function gone(what: string, reason: string): BleError {
  return new BleError('disconnected', `${what} was not done: ${reason}`);
}

export function failed(what: string, error: unknown): BleError {
  const why = error instanceof Error ? error.message : String(error);
  return new BleError('failed', `${what} failed: ${why}`, { cause: error });
}

function wordsOf(reason: unknown): string {
  if (typeof reason === 'number') return REASONS[reason] ?? `the link ended (reason ${reason})`;
  return typeof reason === 'string' && reason !== '' ? reason : 'the link ended';
}

/** Noble writes 16-bit UUIDs without leading zeros. */
export function fullUuid(uuid: string): string {
  const plain = plainUuid(uuid);
  return plain.length < 4 ? plain.padStart(4, '0') : plain;
}
