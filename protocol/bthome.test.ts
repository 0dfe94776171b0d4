import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BTHOME_MIC_BYTES,
  bthomeCounter,
  bthomeInfo,
  bthomeNumber,
  openBthome,
  readBthome,
  readBthomeObjects,
  sealBthome,
} from './bthome.js';
import { BTHOME_OBJECTS } from './bthome-objects.js';
import { fromHex, toHex } from './identity.js';
import { nodeCcm } from './node-ccm.js';
import { webCcm } from './web-ccm.js';

const objectsOf = (hex: string) => readBthomeObjects(fromHex(hex));
const valuesOf = (hex: string) =>
  objectsOf(hex).readings.map(({ name, index, value }) => [
    index === 1 ? name : `${name}_${index}`,
    value,
  ]);

describe('the information byte', () => {
  test.each([
    ['40', { encrypted: false, trigger: false }],
    ['41', { encrypted: true, trigger: false }],
    ['44', { encrypted: false, trigger: true }],
    ['45', { encrypted: true, trigger: true }],
  ])('%s', (hex, flags) => expect(readBthome(fromHex(hex))).toMatchObject(flags));

  test.each(['', '00', '20', '60', 'ff', '42b2188d38c1'])('%j is no BTHome v2', (hex) => {
    expect(readBthome(fromHex(hex))).toBeUndefined();
  });

  test('an address inside is read and left out of the objects', () => {
    const packet = readBthome(fromHex('42b2188d38c1a404138a01'));
    expect(toHex(packet?.address ?? new Uint8Array())).toBe('a4c1388d18b2');
    expect(readBthomeObjects(packet?.body ?? new Uint8Array()).readings).toMatchObject([
      { name: 'pressure', value: 1008.83, unit: 'hPa' },
    ]);
  });
});

/** Examples of the published format, object by object. */
test.each([
  ['0161', 'battery', 97],
  ['02ca09', 'temperature', 25.06],
  ['03bf13', 'humidity', 50.55],
  ['04138a01', 'pressure', 1008.83],
  ['05138a14', 'illuminance', 13460.67],
  ['065e1f', 'mass', 80.3],
  ['073e1d', 'mass_lb', 74.86],
  ['08ca06', 'dew_point', 17.38],
  ['0960', 'count', 96],
  ['0a138a14', 'energy', 1346.067],
  ['0b021b00', 'power', 69.14],
  ['0c020c', 'voltage', 3.074],
  ['0d120c', 'pm2_5', 3090],
  ['0e021c', 'pm10', 7170],
  ['0f01', 'on', true],
  ['1100', 'open', false],
  ['12e204', 'co2', 1250],
  ['133301', 'tvoc', 307],
  ['14020c', 'moisture', 30.74],
  ['2e23', 'humidity', 35],
  ['2f23', 'moisture', 35],
  ['3d0960', 'count', 24585],
  ['3e2a2c0960', 'count', 1611213866],
  ['3f020c', 'rotation', 307.4],
  ['400c00', 'distance_mm', 12],
  ['414e00', 'distance', 7.8],
  ['424e3400', 'duration', 13.39],
  ['434e34', 'current', 13.39],
  ['444e34', 'speed', 133.9],
  ['451101', 'temperature', 27.3],
  ['4632', 'uv_index', 5],
  ['478756', 'volume', 2215.1],
  ['48dc87', 'volume_ml', 34780],
  ['49dc87', 'volume_flow_rate', 34.78],
  ['4a020c', 'voltage', 307.4],
  ['4b138a14', 'gas_volume', 1346.067],
  ['4c41018a01', 'gas_volume', 25821.505],
  ['4d12138a14', 'energy', 344593.17],
  ['4e87562a01', 'volume', 19551.879],
  ['4f87562a01', 'water', 19551.879],
  ['505d396164', 'timestamp', 1684093277],
  ['518756', 'acceleration', 22.151],
  ['528756', 'gyroscope', 22.151],
  ['530c48656c6c6f20576f726c6421', 'text', 'Hello World!'],
  ['540c48656c6c6f20576f726c6421', 'raw', '48656c6c6f20576f726c6421'],
  ['5587562a01', 'volume_storage', 19551.879],
  ['56e803', 'conductivity', 1000],
  ['57ea', 'temperature', -22],
  ['58ea', 'temperature', -7.7],
  ['59ea', 'count', -22],
  ['5aeaea', 'count', -5398],
  ['5beaeaeaea', 'count', -353703190],
  ['5c02fbffff', 'power', -12.78],
  ['5d02ea', 'current', -5.63],
  ['5e9fcc', 'direction', 523.83],
  ['5f7002', 'precipitation', 62.4],
  ['6001', 'channel', 1],
  ['61ac0d', 'rotational_speed', 3500],
])('%s is %s %s', (hex, name, value) => expect(valuesOf(hex)).toEqual([[name, value]]));

test('every number goes into bytes and comes back the same, at both ends of its range', () => {
  for (const [id, object] of BTHOME_OBJECTS) {
    if (object.kind !== 'number') continue;
    const size = 256 ** object.bytes;
    const ends = object.signed ? [-size / 2, -1, size / 2 - 1] : [0, 1, size - 1];
    for (const raw of ends) {
      const value = (raw * object.times) / 10 ** object.decimals;
      expect(readBthomeObjects(bthomeNumber(id, value)).readings, `object ${id}`).toMatchObject([
        { id, name: object.name, unit: object.unit, value },
      ]);
      const beyond = ((size + 1) * object.times) / 10 ** object.decimals;
      expect(() => bthomeNumber(id, beyond)).toThrow(RangeError);
    }
  }
});

test('several objects of one name are counted, whatever their ids', () => {
  expect(valuesOf('02ca0902cf094508010c020c4a020c')).toEqual([
    ['temperature', 25.06],
    ['temperature_2', 25.11],
    ['temperature_3', 26.4],
    ['voltage', 3.074],
    ['voltage_2', 307.4],
  ]);
});

test('buttons and dimmers are events; one that says nothing happened keeps its number', () => {
  expect(objectsOf('3a003a013a803a093c01033c02ff').events).toEqual([
    { name: 'button', index: 2, event: 'press' },
    { name: 'button', index: 3, event: 'hold_press' },
    { name: 'button', index: 4, event: 'event_9' },
    { name: 'dimmer', index: 1, event: 'rotate_left', steps: 3 },
    { name: 'dimmer', index: 2, event: 'rotate_right', steps: 255 },
  ]);
  expect(objectsOf('3c0000').events).toEqual([]);
});

test('packet id, device type and firmware are about the packet and the device', () => {
  expect(objectsOf('0009f00100f100010204')).toMatchObject({
    packetId: 9,
    deviceType: 1,
    firmware: '4.2.1.0',
    readings: [],
  });
  expect(objectsOf('f2000106').firmware).toBe('6.1.0');
});

describe('what can’t be read', () => {
  test('an unknown id ends reading and keeps what came before', () => {
    expect(objectsOf('015dfe5d0903b718')).toMatchObject({
      stopped: 'unknown_object',
      readings: [{ name: 'battery', value: 93 }],
    });
  });

  test.each(['02', '02ca', '5305ff', '53', '04138a', '3c01', 'f10001'])('%s is cut off', (hex) => {
    expect(objectsOf(`0161${hex}`)).toMatchObject({
      stopped: 'truncated',
      readings: [{ name: 'battery', value: 97 }],
    });
  });

  test('a text that is no UTF-8 is left out and counted; an empty one is a text', () => {
    expect(objectsOf('5302c3280161')).toMatchObject({
      badTexts: 1,
      readings: [{ name: 'battery' }],
    });
    expect(valuesOf('5300')).toEqual([['text', '']]);
  });

  test('no bytes make it throw, and it never reads more objects than there are bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const packet = readBthome(bytes);
        const content = readBthomeObjects(packet?.body ?? bytes);
        expect(content.readings.length + content.events.length).toBeLessThanOrEqual(bytes.length);
        for (const { value } of content.readings) {
          if (typeof value === 'number') expect(Number.isFinite(value)).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

/** https://bthome.io/encryption, and packets that other implementations test with. */
describe('encryption', () => {
  const key = fromHex('231d39c1d7cc1ab1aee224cd096db932');
  const address = fromHex('5448e68f80a5');
  const published = fromHex('41e445f3c9962b332211006c7c4519');

  async function opened(data: Uint8Array, from = address, with_ = key) {
    const packet = readBthome(data);
    if (!packet) throw new Error('no packet');
    const body = await openBthome(await webCcm(with_, BTHOME_MIC_BYTES), from, packet);
    return body && toHex(body);
  }

  test('the published packet opens, and is made again byte for byte', async () => {
    const packet = readBthome(published);
    expect(packet && bthomeCounter(packet)).toBe(0x00112233);
    expect(await opened(published)).toBe('02ca0903bf13');
    for (const make of [webCcm, nodeCcm]) {
      const ccm = await make(key, BTHOME_MIC_BYTES);
      const again = await sealBthome(ccm, address, 0x00112233, fromHex('02ca0903bf13'));
      expect(toHex(again)).toBe(toHex(published));
    }
  });

  test.each([
    ['41a47266c95f730011223378237214', 'its counter read as 00 11 22 33'],
    ['43a5808fe64854f196c06ffb4900112233f08ecbde', 'an address inside'],
  ])('%s (%s)', async (hex) => {
    const packet = readBthome(fromHex(hex));
    expect(await opened(fromHex(hex), packet?.address ?? address)).toBe('02ca0903bf13');
  });

  test('any changed bit, another address or another key opens nothing', async () => {
    for (let bit = 0; bit < published.length * 8; bit++) {
      const bad = published.slice();
      bad[bit >> 3] = (bad[bit >> 3] as number) ^ (1 << (bit & 7));
      const packet = readBthome(bad);
      if (packet?.encrypted && !packet.address) expect(await opened(bad)).toBeUndefined();
    }
    expect(await opened(published, fromHex('5448e68f80a6'))).toBeUndefined();
    expect(await opened(published, address, fromHex('00'.repeat(16)))).toBeUndefined();
  });

  test('what is too short to hold counter and MIC opens nothing', async () => {
    for (let length = 1; length < 9; length++) {
      const data = published.slice(0, length);
      const packet = readBthome(data);
      expect(packet && bthomeCounter(packet)).toBeUndefined();
      expect(await opened(data)).toBeUndefined();
    }
    const empty = await sealBthome(await webCcm(key, 4), address, 1, new Uint8Array());
    expect(await opened(empty)).toBe('');
  });

  test('the trigger flag is part of what is sealed', async () => {
    const ccm = await webCcm(key, BTHOME_MIC_BYTES);
    const data = await sealBthome(ccm, address, 7, fromHex('3a01'), { trigger: true });
    expect(data[0]).toBe(bthomeInfo({ encrypted: true, trigger: true }));
    expect(await opened(data)).toBe('3a01');
    data[0] = 0x41;
    expect(await opened(data)).toBeUndefined();
  });
});
