/** What `start` can be told about BLE, read and checked. */
import { usage } from './fault.js';

export interface BleChoice {
  /** A virtual adapter on an air of this process, or one of this machine by its number. */
  adapter: 'virtual' | number;
  /** Connections that the adapter carries; what it refuses teaches where this is left out. */
  slots?: number;
  /** Simulated boards wait to be paired by a person. */
  unpaired: boolean;
}

/** `virtual`, or `hci0` as `hciconfig` and `bluetoothctl` number adapters. */
export function parseBle(flags: {
  ble?: string;
  bleSlots?: number;
  unpaired?: boolean;
}): BleChoice | undefined {
  const { ble, bleSlots: slots, unpaired = false } = flags;
  if (ble === undefined) {
    const lonely = slots !== undefined ? '--ble-slots' : unpaired ? '--unpaired' : undefined;
    if (lonely === undefined) return undefined;
    throw usage(`${lonely} needs --ble, which says over which adapter boards are spoken with.`);
  }
  const [, number] = /^hci(\d{1,2})$/.exec(ble) ?? [];
  if (ble !== 'virtual' && number === undefined) {
    throw usage('--ble takes an adapter of this machine, such as hci0, or virtual.');
  }
  const adapter = number === undefined ? 'virtual' : Number(number);
  if (unpaired && adapter !== 'virtual') {
    throw usage('--unpaired is for simulated boards, which are there with --ble virtual.');
  }
  return { adapter, unpaired, ...(slots === undefined ? {} : { slots }) };
}
