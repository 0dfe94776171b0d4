/** noble of either fork on the virtual air, in the hands of a test. */
import type { EventEmitter } from 'node:events';
import type { Air } from '../radio/air.js';
import type { ControllerOptions } from '../radio/controller.js';
import { type NobleFork, virtualNoble } from '../radio/wire.js';

/** What of noble's objects is used here; both forks have it. */
export interface RawCharacteristic extends EventEmitter {
  readonly uuid: string;
  readonly properties: readonly string[];
  readAsync(): Promise<Buffer>;
  writeAsync(bytes: Buffer, withoutResponse: boolean): Promise<void>;
  subscribeAsync(): Promise<void>;
  unsubscribeAsync(): Promise<void>;
}

export interface RawPeripheral extends EventEmitter {
  readonly address: string;
  readonly state: string;
  readonly mtu: number | null;
  readonly rssi: number;
  readonly connectable: boolean;
  readonly advertisement: {
    readonly localName?: string;
    readonly serviceUuids?: readonly string[];
    readonly manufacturerData?: Buffer;
    readonly serviceData?: readonly { uuid: string; data: Buffer }[];
  };
  connectAsync(): Promise<void>;
  disconnectAsync(): Promise<void>;
  discoverSomeServicesAndCharacteristicsAsync(
    services: string[],
    characteristics: string[],
  ): Promise<{ characteristics: RawCharacteristic[] }>;
  updateRssiAsync(): Promise<number>;
}

export interface RawNoble extends EventEmitter {
  readonly state: string;
  startScanningAsync(services: string[], allowDuplicates: boolean): Promise<void>;
  stopScanningAsync(): Promise<void>;
}

export const FORKS = ['stoprocent', 'abandonware'] as const;

/** A central whose adapter is on. */
export async function rawCentral(air: Air, fork: NobleFork, options?: ControllerOptions) {
  const { instance, controller, stop } = virtualNoble(air, fork, options);
  const noble = instance as RawNoble;
  await stateOf(noble, 'poweredOn');
  return {
    noble,
    controller,
    stop,
    /** The first peer that is heard from now on; the scan ends with it. */
    async find(service?: string): Promise<RawPeripheral> {
      const heard = heardNext(noble);
      await noble.startScanningAsync(service ? [service.replaceAll('-', '')] : [], false);
      const found = await heard;
      await noble.stopScanningAsync();
      return found;
    },
  };
}

export function heardNext(noble: RawNoble): Promise<RawPeripheral> {
  return new Promise((resolve) => noble.once('discover', resolve));
}

/** Resolves once the adapter is in that state. */
export function stateOf(radio: EventEmitter & { readonly state: string }, wanted: string) {
  return new Promise<void>((resolve) => {
    const look = (state: string): void => {
      if (state !== wanted) return;
      radio.removeListener('stateChange', look);
      resolve();
    };
    radio.on('stateChange', look);
    look(radio.state);
  });
}

/** The characteristic of that UUID. */
export function pick(all: readonly RawCharacteristic[], uuid: string): RawCharacteristic {
  const found = all.find((one) => one.uuid === uuid.replaceAll('-', ''));
  if (!found) throw new Error(`the peer has no characteristic ${uuid}`);
  return found;
}
