/** What noble says of a device, as the port's advertisement: copied and bounded. */
import { fullUuid } from './noble-peer.js';
import type { NoblePeripheral } from './noble-types.js';
import type { Advertisement } from './port.js';

const MAX_SERVICES = 32;
/** Bytes of one field; extended advertising reaches further than any field of ours. */
const MAX_FIELD = 255;

/** Noble gathers all that a device ever said; more than this is no board. */
export function isOverfull({ advertisement }: NoblePeripheral): boolean {
  const { serviceUuids, serviceData } = advertisement;
  return (serviceUuids?.length ?? 0) > MAX_SERVICES || (serviceData?.length ?? 0) > MAX_SERVICES;
}

export function addressOf(peripheral: NoblePeripheral): string {
  const address = String(peripheral.address ?? '').toLowerCase();
  // Some systems hide addresses and give an id of their own instead.
  return /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(address) ? address : String(peripheral.id);
}

export function advertisementOf(address: string, peripheral: NoblePeripheral): Advertisement {
  const { localName, manufacturerData, serviceUuids, serviceData } = peripheral.advertisement;
  return {
    address,
    rssi: Number.isFinite(peripheral.rssi) ? peripheral.rssi : 127,
    ...(localName ? { name: localName.slice(0, MAX_FIELD) } : {}),
    // Copies: noble goes on writing into its own.
    services: (serviceUuids ?? []).slice(0, MAX_SERVICES).map(fullUuid),
    serviceData: (serviceData ?? []).slice(0, MAX_SERVICES).map((each) => ({
      uuid: fullUuid(each.uuid),
      data: Uint8Array.from(each.data.subarray(0, MAX_FIELD)),
    })),
    ...(manufacturerData
      ? { manufacturerData: Uint8Array.from(manufacturerData.subarray(0, MAX_FIELD)) }
      : {}),
    connectable: Boolean(peripheral.connectable),
  };
}
