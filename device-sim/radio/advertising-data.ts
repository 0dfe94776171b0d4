/**
 * Advertising and scan response data as they go over the air: structures of length, type and
 * bytes, 31 bytes in each (Core 5.4, Vol 3 Part C 11; types: Assigned Numbers 2.3).
 */
import { cutUtf8 } from '../../protocol/text.js';
import type { PeripheralAdvertising } from './peripheral.js';

const MOST = 31;
const TYPE = {
  flags: 0x01,
  services16: 0x03,
  services128: 0x07,
  shortName: 0x08,
  name: 0x09,
  serviceData16: 0x16,
  serviceData128: 0x21,
  manufacturer: 0xff,
} as const;

/** General discoverable, no classic Bluetooth. */
const FLAGS = 0x06;

/**
 * Flags, services, service data and manufacturer data in the advertising data; the name, cut if
 * it must be, in the scan response. @throws RangeError for more than 31 bytes or a bad UUID
 */
export function advertisingData(what: PeripheralAdvertising): { data: Buffer; scan: Buffer } {
  const uuids = what.services.map(uuidBytes);
  const short = uuids.filter((uuid) => uuid.length === 2);
  const long = uuids.filter((uuid) => uuid.length === 16);
  const data = Buffer.concat([
    structure(TYPE.flags, Buffer.of(FLAGS)),
    ...(short.length > 0 ? [structure(TYPE.services16, Buffer.concat(short))] : []),
    ...(long.length > 0 ? [structure(TYPE.services128, Buffer.concat(long))] : []),
    ...(what.serviceData ?? []).map(({ uuid, data }) => {
      const id = uuidBytes(uuid);
      const type = id.length === 2 ? TYPE.serviceData16 : TYPE.serviceData128;
      return structure(type, Buffer.concat([id, data]));
    }),
    ...(what.manufacturerData ? [structure(TYPE.manufacturer, what.manufacturerData)] : []),
  ]);
  if (data.length > MOST) {
    throw new RangeError(
      `The advertising data would have ${data.length} bytes and holds ${MOST}; nothing was advertised.`,
    );
  }
  return { data, scan: nameOf(what.name) };
}

function nameOf(name: string): Buffer {
  const cut = cutUtf8(name, MOST - 2);
  if (cut === '') return Buffer.alloc(0);
  return structure(cut === name ? TYPE.name : TYPE.shortName, Buffer.from(cut));
}

function structure(type: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(bytes.length + 1, type), bytes]);
}

/** Little endian, as the air has it. */
function uuidBytes(uuid: string): Buffer {
  const hex = uuid.replaceAll('-', '');
  if (!/^([0-9a-f]{4}|[0-9a-f]{32})$/i.test(hex)) {
    throw new RangeError(`${JSON.stringify(uuid)} is no UUID of 16 or 128 bits`);
  }
  return Buffer.from(hex, 'hex').reverse();
}
