/**
 * The objects of BTHome v2 (https://bthome.io/format), as facts: what each id carries, in how
 * many bytes, in which unit. A number is `raw × times ÷ 10^decimals`, little endian.
 *
 * Names are ours where the published property would say two things (a gas volume and a gas
 * alarm are both "gas" there); a yes-or-no object is named by what true means.
 */

export interface NumberObject {
  readonly kind: 'number';
  readonly name: string;
  readonly bytes: number;
  readonly signed: boolean;
  readonly times: number;
  readonly decimals: number;
  readonly unit: string;
}

export type BthomeObject =
  | NumberObject
  | { readonly kind: 'flag'; readonly name: string; readonly bytes: 1 }
  /** A length byte goes before the content; `raw` is told as hex. */
  | { readonly kind: 'text' | 'raw'; readonly name: string }
  | { readonly kind: 'packet_id'; readonly bytes: 1 }
  | { readonly kind: 'button'; readonly name: 'button'; readonly bytes: 1 }
  /** What it does, and by how many steps. */
  | { readonly kind: 'dimmer'; readonly name: 'dimmer'; readonly bytes: 2 }
  | { readonly kind: 'device_type'; readonly bytes: 2 }
  /** Least significant part first: 00 01 02 04 is 4.2.1.0. */
  | { readonly kind: 'firmware'; readonly bytes: 3 | 4 };

type Unsigned = 'u8' | 'u16' | 'u24' | 'u32';
type Signed = 's8' | 's16' | 's32';
type NumberRow = [
  id: number,
  name: string,
  form: Unsigned | Signed,
  decimals: number,
  unit: string,
  times?: number,
];

const NUMBERS: readonly NumberRow[] = [
  [0x01, 'battery', 'u8', 0, '%'],
  [0x02, 'temperature', 's16', 2, '°C'],
  [0x03, 'humidity', 'u16', 2, '%'],
  [0x04, 'pressure', 'u24', 2, 'hPa'],
  [0x05, 'illuminance', 'u24', 2, 'lx'],
  [0x06, 'mass', 'u16', 2, 'kg'],
  [0x07, 'mass_lb', 'u16', 2, 'lb'],
  [0x08, 'dew_point', 's16', 2, '°C'],
  [0x09, 'count', 'u8', 0, ''],
  [0x0a, 'energy', 'u24', 3, 'kWh'],
  [0x0b, 'power', 'u24', 2, 'W'],
  [0x0c, 'voltage', 'u16', 3, 'V'],
  [0x0d, 'pm2_5', 'u16', 0, 'µg/m³'],
  [0x0e, 'pm10', 'u16', 0, 'µg/m³'],
  [0x12, 'co2', 'u16', 0, 'ppm'],
  [0x13, 'tvoc', 'u16', 0, 'µg/m³'],
  [0x14, 'moisture', 'u16', 2, '%'],
  [0x2e, 'humidity', 'u8', 0, '%'],
  [0x2f, 'moisture', 'u8', 0, '%'],
  [0x3d, 'count', 'u16', 0, ''],
  [0x3e, 'count', 'u32', 0, ''],
  [0x3f, 'rotation', 's16', 1, '°'],
  [0x40, 'distance_mm', 'u16', 0, 'mm'],
  [0x41, 'distance', 'u16', 1, 'm'],
  [0x42, 'duration', 'u24', 3, 's'],
  [0x43, 'current', 'u16', 3, 'A'],
  [0x44, 'speed', 'u16', 2, 'm/s'],
  [0x45, 'temperature', 's16', 1, '°C'],
  [0x46, 'uv_index', 'u8', 1, ''],
  [0x47, 'volume', 'u16', 1, 'L'],
  [0x48, 'volume_ml', 'u16', 0, 'mL'],
  [0x49, 'volume_flow_rate', 'u16', 3, 'm³/h'],
  [0x4a, 'voltage', 'u16', 1, 'V'],
  [0x4b, 'gas_volume', 'u24', 3, 'm³'],
  [0x4c, 'gas_volume', 'u32', 3, 'm³'],
  [0x4d, 'energy', 'u32', 3, 'kWh'],
  [0x4e, 'volume', 'u32', 3, 'L'],
  [0x4f, 'water', 'u32', 3, 'L'],
  [0x50, 'timestamp', 'u32', 0, 'unix s'],
  [0x51, 'acceleration', 'u16', 3, 'm/s²'],
  [0x52, 'gyroscope', 'u16', 3, '°/s'],
  [0x55, 'volume_storage', 'u32', 3, 'L'],
  [0x56, 'conductivity', 'u16', 0, 'µS/cm'],
  [0x57, 'temperature', 's8', 0, '°C'],
  [0x58, 'temperature', 's8', 2, '°C', 35],
  [0x59, 'count', 's8', 0, ''],
  [0x5a, 'count', 's16', 0, ''],
  [0x5b, 'count', 's32', 0, ''],
  [0x5c, 'power', 's32', 2, 'W'],
  [0x5d, 'current', 's16', 3, 'A'],
  [0x5e, 'direction', 'u16', 2, '°'],
  [0x5f, 'precipitation', 'u16', 1, 'mm'],
  [0x60, 'channel', 'u8', 0, ''],
  [0x61, 'rotational_speed', 'u16', 0, 'rpm'],
  [0x62, 'speed', 's32', 6, 'm/s'],
  [0x63, 'acceleration', 's32', 6, 'm/s²'],
  [0x64, 'light_level', 'u8', 0, ''],
];

/** One byte each, 0 or 1; the name says what 1 means. */
const FLAGS: readonly (readonly [id: number, name: string])[] = [
  [0x0f, 'on'],
  [0x10, 'power_on'],
  [0x11, 'open'],
  [0x15, 'battery_low'],
  [0x16, 'battery_charging'],
  [0x17, 'carbon_monoxide'],
  [0x18, 'cold'],
  [0x19, 'connected'],
  [0x1a, 'door_open'],
  [0x1b, 'garage_door_open'],
  [0x1c, 'gas_detected'],
  [0x1d, 'hot'],
  [0x1e, 'light_detected'],
  [0x1f, 'unlocked'],
  [0x20, 'wet'],
  [0x21, 'motion'],
  [0x22, 'moving'],
  [0x23, 'occupied'],
  [0x24, 'plugged_in'],
  [0x25, 'present'],
  [0x26, 'problem'],
  [0x27, 'running'],
  [0x28, 'safe'],
  [0x29, 'smoke'],
  [0x2a, 'sound'],
  [0x2b, 'tampered'],
  [0x2c, 'vibration'],
  [0x2d, 'window_open'],
];

/** 0x3A; a code that is not listed is told by its number. */
export const BUTTON_EVENTS: Readonly<Record<number, string>> = {
  1: 'press',
  2: 'double_press',
  3: 'triple_press',
  4: 'long_press',
  5: 'long_double_press',
  6: 'long_triple_press',
  128: 'hold_press',
};

/** The first byte of 0x3C; the second is the number of steps. */
export const DIMMER_EVENTS: Readonly<Record<number, string>> = {
  1: 'rotate_left',
  2: 'rotate_right',
};

export const BTHOME_OBJECTS: ReadonlyMap<number, BthomeObject> = new Map<number, BthomeObject>([
  [0x00, { kind: 'packet_id', bytes: 1 }],
  ...NUMBERS.map(([id, name, form, decimals, unit, times = 1]): [number, BthomeObject] => [
    id,
    {
      kind: 'number',
      name,
      bytes: Number(form.slice(1)) / 8,
      signed: form.startsWith('s'),
      times,
      decimals,
      unit,
    },
  ]),
  ...FLAGS.map(([id, name]): [number, BthomeObject] => [id, { kind: 'flag', name, bytes: 1 }]),
  [0x3a, { kind: 'button', name: 'button', bytes: 1 }],
  [0x3c, { kind: 'dimmer', name: 'dimmer', bytes: 2 }],
  [0x53, { kind: 'text', name: 'text' }],
  [0x54, { kind: 'raw', name: 'raw' }],
  [0xf0, { kind: 'device_type', bytes: 2 }],
  [0xf1, { kind: 'firmware', bytes: 4 }],
  [0xf2, { kind: 'firmware', bytes: 3 }],
]);
