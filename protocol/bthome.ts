/**
 * BTHome v2 (https://bthome.io/format, https://bthome.io/encryption): the service data of UUID
 * 0xFCD2 as objects. Pure; nothing of what comes from the air is trusted, and nothing throws.
 *
 * Service data: `device information(1) ‖ objects`, or where it is encrypted `device
 * information(1) ‖ ciphertext ‖ counter(4, little endian) ‖ MIC(4)`. The information byte: bit 0
 * encrypted, bit 1 an address (6, reversed) follows, bit 2 sends on a trigger only, bits 5 to 7
 * the version.
 */
import {
  BTHOME_OBJECTS,
  BUTTON_EVENTS,
  DIMMER_EVENTS,
  type NumberObject,
} from './bthome-objects.js';
import { toHex } from './identity.js';
import { type Ccm, NONCE_BYTES } from './sealing.js';
import { checkUtf8 } from './utf8.js';

/** As it stands in advertisements, 16 bits. */
export const BTHOME_UUID = 'fcd2';
export const BTHOME_VERSION = 2;
export const BTHOME_MIC_BYTES = 4;
const COUNTER_BYTES = 4;
const ADDRESS_BYTES = 6;
const NOTHING = new Uint8Array(0);

const INFO = { encrypted: 1, address: 2, trigger: 4 } as const;

export interface BthomePacket {
  /** The information byte as it came: it is part of the nonce. */
  readonly info: number;
  readonly encrypted: boolean;
  /** Sends when something happens, not in intervals. */
  readonly trigger: boolean;
  /** Address inside of the data, most significant byte first. */
  readonly address?: Uint8Array;
  /** Objects, or where `encrypted` is set ciphertext, counter and MIC. */
  readonly body: Uint8Array;
}

/** Undefined where it is no BTHome v2, or ends inside of its head. */
export function readBthome(data: Uint8Array): BthomePacket | undefined {
  const info = data[0];
  if (info === undefined || info >> 5 !== BTHOME_VERSION) return undefined;
  const hasAddress = (info & INFO.address) !== 0;
  if (hasAddress && data.length < 1 + ADDRESS_BYTES) return undefined;
  return {
    info,
    encrypted: (info & INFO.encrypted) !== 0,
    trigger: (info & INFO.trigger) !== 0,
    ...(hasAddress ? { address: data.slice(1, 1 + ADDRESS_BYTES).reverse() } : {}),
    body: data.subarray(hasAddress ? 1 + ADDRESS_BYTES : 1),
  };
}

/** `value` in `unit`; `index` counts objects of one name in a packet, from 1. */
export interface BthomeReading {
  readonly id: number;
  readonly name: string;
  readonly index: number;
  readonly unit: string;
  readonly value: number | boolean | string;
}

export interface BthomeEvent {
  readonly name: 'button' | 'dimmer';
  readonly index: number;
  readonly event: string;
  /** Of a dimmer. */
  readonly steps?: number;
}

export interface BthomeContent {
  readonly packetId?: number;
  readonly deviceType?: number;
  readonly firmware?: string;
  readonly readings: readonly BthomeReading[];
  readonly events: readonly BthomeEvent[];
  /**
   * Why reading ended early: an id that is not in the table (its length is not known, so nothing
   * after it can be read), or an object longer than what is left. What came before stands.
   */
  readonly stopped?: 'unknown_object' | 'truncated';
  /** Texts that are no UTF-8; they are left out. */
  readonly badTexts: number;
}

/** Reads the objects of a plain or decrypted body. A button that says "none" is no event. */
export function readBthomeObjects(body: Uint8Array): BthomeContent {
  const readings: BthomeReading[] = [];
  const events: BthomeEvent[] = [];
  const indexes = new Map<string, number>();
  const found: { packetId?: number; deviceType?: number; firmware?: string } = {};
  let stopped: BthomeContent['stopped'];
  let badTexts = 0;
  const indexOf = (name: string): number => {
    const index = (indexes.get(name) ?? 0) + 1;
    indexes.set(name, index);
    return index;
  };
  let at = 0;
  while (at < body.length) {
    const id = body[at] as number;
    const object = BTHOME_OBJECTS.get(id);
    if (!object) {
      stopped = 'unknown_object';
      break;
    }
    at += 1;
    const length = 'bytes' in object ? object.bytes : body[at++];
    if (length === undefined || at + length > body.length) {
      stopped = 'truncated';
      break;
    }
    const content = body.subarray(at, at + length);
    at += length;
    const first = content[0] ?? 0;
    switch (object.kind) {
      case 'packet_id':
        found.packetId = first;
        break;
      case 'number': {
        const { name, unit } = object;
        const value = numberOf(content, object);
        readings.push({ id, name, index: indexOf(name), unit, value });
        break;
      }
      case 'flag': {
        const { name } = object;
        readings.push({ id, name, index: indexOf(name), unit: '', value: first !== 0 });
        break;
      }
      case 'text':
      case 'raw': {
        const { name } = object;
        const index = indexOf(name);
        if (object.kind === 'raw') {
          readings.push({ id, name, index, unit: 'hex', value: toHex(content) });
        } else if (checkUtf8(content, 0, content.length) >= 0) badTexts += 1;
        else readings.push({ id, name, index, unit: '', value: textOf(content) });
        break;
      }
      case 'button': {
        const index = indexOf(object.name);
        const event = BUTTON_EVENTS[first] ?? `event_${first}`;
        if (first !== 0) events.push({ name: object.name, index, event });
        break;
      }
      case 'dimmer': {
        const index = indexOf(object.name);
        const event = DIMMER_EVENTS[first] ?? `event_${first}`;
        if (first !== 0) events.push({ name: object.name, index, event, steps: content[1] ?? 0 });
        break;
      }
      case 'device_type':
        found.deviceType = unsigned(content);
        break;
      case 'firmware':
        found.firmware = [...content].reverse().join('.');
    }
  }
  return { ...found, readings, events, badTexts, ...(stopped ? { stopped } : {}) };
}

function unsigned(content: Uint8Array): number {
  return content.reduceRight((sum, byte) => sum * 256 + byte, 0);
}

function numberOf(content: Uint8Array, object: NumberObject): number {
  const raw = unsigned(content);
  const size = 256 ** content.length;
  const whole = object.signed && raw >= size / 2 ? raw - size : raw;
  return (whole * object.times) / 10 ** object.decimals;
}

function textOf(content: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(content);
}

/** An object of a number, ready to be advertised; for those who send. */
export function bthomeNumber(id: number, value: number): Uint8Array {
  const object = BTHOME_OBJECTS.get(id);
  if (object?.kind !== 'number') throw new RangeError(`BTHome has no number with the id ${id}.`);
  const whole = Math.round((value * 10 ** object.decimals) / object.times);
  const size = 256 ** object.bytes;
  const [least, most] = object.signed ? [-size / 2, size / 2 - 1] : [0, size - 1];
  if (!(whole >= least && whole <= most)) {
    throw new RangeError(`${object.name} ${value} does not fit BTHome's object ${id}.`);
  }
  const out = new Uint8Array(1 + object.bytes);
  out[0] = id;
  let rest = whole < 0 ? whole + size : whole;
  for (let i = 1; i < out.length; i++) {
    out[i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return out;
}

/** The information byte of a sender. */
export function bthomeInfo(what: { encrypted?: boolean; trigger?: boolean } = {}): number {
  const flags = (what.encrypted ? INFO.encrypted : 0) | (what.trigger ? INFO.trigger : 0);
  return (BTHOME_VERSION << 5) | flags;
}

/** `address(6) ‖ D2 FC ‖ information(1) ‖ counter(4, little endian)`. */
function nonceOf(address: Uint8Array, info: number, counter: Uint8Array): Uint8Array {
  const nonce = new Uint8Array(NONCE_BYTES);
  nonce.set(address);
  nonce.set([0xd2, 0xfc, info], ADDRESS_BYTES);
  nonce.set(counter, ADDRESS_BYTES + 3);
  return nonce;
}

/** The counter of an encrypted packet, unproven; undefined where it is too short to hold one. */
export function bthomeCounter(packet: BthomePacket): number | undefined {
  const { body, encrypted } = packet;
  if (!encrypted || body.length < COUNTER_BYTES + BTHOME_MIC_BYTES) return undefined;
  const end = body.length - BTHOME_MIC_BYTES;
  return unsigned(body.subarray(end - COUNTER_BYTES, end));
}

/**
 * The objects inside of an encrypted packet; undefined where it does not verify. `ccm` is made
 * of the bind key with a tag of `BTHOME_MIC_BYTES`; `address` has 6 bytes, most significant
 * first. That the counter grows is the caller's to check.
 */
export async function openBthome(
  ccm: Ccm,
  address: Uint8Array,
  packet: BthomePacket,
): Promise<Uint8Array | undefined> {
  const { body, info } = packet;
  const end = body.length - BTHOME_MIC_BYTES - COUNTER_BYTES;
  if (end < 0 || address.length !== ADDRESS_BYTES) return undefined;
  const counter = body.subarray(end, end + COUNTER_BYTES);
  const sealed = new Uint8Array(end + BTHOME_MIC_BYTES);
  sealed.set(body.subarray(0, end));
  sealed.set(body.subarray(end + COUNTER_BYTES), end);
  return ccm.open(nonceOf(address, info, counter), NOTHING, sealed);
}

/** Whole service data of encrypted objects; `counter` must grow from packet to packet. */
export async function sealBthome(
  ccm: Ccm,
  address: Uint8Array,
  counter: number,
  objects: Uint8Array,
  what: { trigger?: boolean } = {},
): Promise<Uint8Array> {
  const info = bthomeInfo({ ...what, encrypted: true });
  const count = new Uint8Array(COUNTER_BYTES);
  new DataView(count.buffer).setUint32(0, counter, true);
  const sealed = await ccm.seal(nonceOf(address, info, count), NOTHING, objects);
  const out = new Uint8Array(1 + sealed.length + COUNTER_BYTES);
  out[0] = info;
  out.set(sealed.subarray(0, objects.length), 1);
  out.set(count, 1 + objects.length);
  out.set(sealed.subarray(objects.length), 1 + objects.length + COUNTER_BYTES);
  return out;
}
