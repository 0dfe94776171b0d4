/**
 * A peripheral over `@stoprocent/bleno`, on the machine's adapter or a virtual controller. One
 * central at a time, as on a small board: it is not advertised while one is connected.
 */
import { LEAST_MTU } from '../../protocol/ble.js';
import { advertisingData } from './advertising-data.js';
import { type Bleno, type BlenoCharacteristicOptions, loadBleno } from './bleno.js';
import type {
  Peripheral,
  PeripheralAdvertising,
  PeripheralCharacteristic,
  PeripheralEvents,
} from './peripheral.js';
import { RadioUnavailable } from './unavailable.js';

export interface BlenoPeripheralOptions {
  /**
   * An instance of bleno, which stays its owner's to stop; else one of its own for the machine's
   * adapter with each start.
   */
  bleno?: unknown;
  /** The largest ATT MTU that is agreed to, in bytes; default 517. */
  maxMtu?: number;
}

type Service = Parameters<Peripheral['start']>[0];

/** ATT statuses that bleno sends on (Core 5.4, Vol 3 Part F 3.4.1.1). */
const OK = 0x00;
const INVALID_OFFSET = 0x07;
const UNLIKELY = 0x0e;

export class BlenoPeripheral implements Peripheral {
  readonly #options: BlenoPeripheralOptions;
  #bleno: Bleno | undefined;
  #events: PeripheralEvents | undefined;
  #central: { connection: number; subscribed: Map<string, (value: Buffer) => void> } | undefined;
  #payload = LEAST_MTU - 3;
  #wanted: PeripheralAdvertising | undefined;
  /** The `advertise` that waits for bleno's word. */
  #starting: (() => void) | undefined;

  constructor(options: BlenoPeripheralOptions = {}) {
    this.#options = options;
  }

  /** Rejects with RadioUnavailable. */
  async start(service: Service, events: PeripheralEvents): Promise<void> {
    const bleno = (this.#options.bleno as Bleno | undefined) ?? (await loadBleno());
    try {
      await poweredOn(bleno);
    } catch (error) {
      this.#letGo(bleno);
      throw error;
    }
    this.#bleno = bleno;
    this.#events = events;
    const gatt = bleno._bindings?._gatt;
    if (gatt) gatt.maxMtu = this.#options.maxMtu ?? 517;
    bleno.on('stateChange', this.#stateChanged);
    bleno.on('accept', this.#accepted);
    bleno.on('disconnect', this.#disconnected);
    bleno.on('mtuChange', this.#mtuChanged);
    if (!service) return;
    const characteristics = service.characteristics.map(
      (one) => new bleno.Characteristic(this.#characteristic(one)),
    );
    bleno.setServices([new bleno.PrimaryService({ uuid: service.uuid, characteristics })]);
  }

  async advertise(what: PeripheralAdvertising): Promise<void> {
    // Before it is kept, so that what can't be advertised replaces nothing.
    advertisingData(what);
    this.#wanted = what;
    if (!this.#central) await this.#advertise();
  }

  async stopAdvertising(): Promise<void> {
    this.#wanted = undefined;
    this.#quiet();
  }

  notify(characteristic: string, bytes: Uint8Array): boolean {
    const update = this.#central?.subscribed.get(characteristic);
    if (!update) return false;
    // bleno would cut it without a word.
    if (bytes.length > this.#payload) {
      throw new RangeError(
        `A notification of ${bytes.length} bytes does not fit this connection (${this.#payload}); it was not sent.`,
      );
    }
    // bleno copies it into its own packet at once.
    update(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    return true;
  }

  disconnect(): void {
    if (this.#central) this.#bleno?.disconnect(this.#central.connection);
  }

  async stop(): Promise<void> {
    const bleno = this.#bleno;
    if (!bleno) return;
    bleno.removeListener('stateChange', this.#stateChanged);
    bleno.removeListener('accept', this.#accepted);
    bleno.removeListener('disconnect', this.#disconnected);
    bleno.removeListener('mtuChange', this.#mtuChanged);
    await this.stopAdvertising();
    this.disconnect();
    this.#lost('the board left');
    this.#bleno = undefined;
    this.#events = undefined;
    bleno.setServices([]);
    this.#letGo(bleno);
  }

  #letGo(bleno: Bleno): void {
    if (this.#options.bleno) return;
    bleno.stop();
    // Its look at the adapter each second would keep the process for ever.
    const hci = bleno._bindings?._hci;
    if (hci) hci.pollIsDevUp = () => undefined;
  }

  #advertise(): Promise<void> {
    const bleno = this.#bleno;
    const what = this.#wanted;
    if (!bleno || !what || bleno.state !== 'poweredOn') return Promise.resolve();
    const { data, scan } = advertisingData(what);
    bleno._bindings?._gatt?.updateName(what.name);
    this.#started();
    return new Promise((resolve, reject) => {
      this.#starting = resolve;
      bleno.startAdvertisingWithEIRData(data, scan, (error) => {
        if (this.#starting !== resolve) return;
        this.#starting = undefined;
        if (error) reject(new RadioUnavailable(`Advertising failed: ${error.message}`));
        else resolve();
      });
    });
  }

  /** bleno forgets the callback of a start that something else overtakes. */
  #started(): void {
    const resolve = this.#starting;
    this.#starting = undefined;
    resolve?.();
  }

  #quiet(): void {
    this.#started();
    if (this.#bleno?.state === 'poweredOn') this.#bleno.stopAdvertising();
  }

  #again(): void {
    this.#advertise().catch(() => undefined);
  }

  readonly #stateChanged = (state: string): void => {
    if (state === 'poweredOn') this.#again();
    else this.#lost(`the adapter is ${state}`);
  };

  readonly #accepted = (address: string, connection: number): void => {
    if (this.#central) {
      this.#bleno?.disconnect(connection);
      return;
    }
    this.#central = { connection, subscribed: new Map() };
    this.#payload = LEAST_MTU - 3;
    // Else bleno advertises on, for another central.
    this.#quiet();
    this.#events?.connected(address);
  };

  readonly #disconnected = (_: string, connection: number): void => {
    if (this.#central?.connection !== connection) return;
    this.#lost('the link ended');
    this.#again();
  };

  readonly #mtuChanged = (mtu: number): void => {
    if (!this.#central) return;
    this.#payload = mtu - 3;
    this.#events?.payload?.(this.#payload);
  };

  #lost(reason: string): void {
    if (!this.#central) return;
    this.#central = undefined;
    this.#events?.disconnected(reason);
  }

  #characteristic(one: PeripheralCharacteristic): BlenoCharacteristicOptions {
    const { uuid, read, write, notify } = one;
    return {
      uuid,
      properties: [
        ...(read ? ['read'] : []),
        ...(write ? ['write', 'writeWithoutResponse'] : []),
        ...(notify ? ['notify'] : []),
      ],
      onReadRequest: (_, offset, answer) => {
        const value = read?.();
        if (!value) answer(UNLIKELY);
        else if (offset > value.length) answer(INVALID_OFFSET);
        else answer(OK, Buffer.from(value.subarray(offset)));
      },
      onWriteRequest: (connection, value, _offset, _without, answer) => {
        if (connection !== this.#central?.connection) {
          answer(UNLIKELY);
          return;
        }
        try {
          write?.(new Uint8Array(value));
        } catch {
          answer(UNLIKELY);
          return;
        }
        answer(OK);
      },
      onSubscribe: (connection, _payload, update) => {
        const central = this.#central;
        if (connection !== central?.connection) return;
        central.subscribed.set(uuid, update);
        // The answer to the subscription goes first; bleno sends it after this returns.
        queueMicrotask(() => {
          if (central !== this.#central || !central.subscribed.has(uuid)) return;
          this.#events?.subscribed(uuid, this.#payload);
        });
      },
      onUnsubscribe: (connection) => {
        if (connection !== this.#central?.connection) return;
        if (this.#central.subscribed.delete(uuid)) this.#events?.unsubscribed(uuid);
      },
    };
  }
}

export function blenoPeripheral(options?: BlenoPeripheralOptions): Peripheral {
  return new BlenoPeripheral(options);
}

/** Rejects with RadioUnavailable as soon as bleno says that there is no adapter to use. */
function poweredOn(bleno: Bleno): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (state: string): void => {
      if (state === 'unknown' || state === 'resetting') return;
      bleno.removeListener('stateChange', look);
      if (state === 'poweredOn') resolve();
      else reject(new RadioUnavailable(WHY[state] ?? `The Bluetooth adapter is ${state}.`));
    };
    bleno.on('stateChange', look);
    look(bleno.state);
  });
}

const WHY: Readonly<Record<string, string>> = {
  poweredOff:
    'The Bluetooth adapter is off or absent; the board does not show itself. Switch it on.',
  unauthorized:
    'This process may not use the Bluetooth adapter; the board does not show itself. Give Node the capabilities cap_net_raw and cap_net_admin.',
  unsupported: 'There is no Bluetooth LE adapter; the board does not show itself. Plug one in.',
};
