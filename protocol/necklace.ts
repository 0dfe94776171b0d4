/**
 * The GATT service of tiny's necklaces (a microphone that listens for a word, `voice`, or a
 * camera, `vision`): UUIDs, manufacturer data, and the JSON that its characteristics carry. Pure.
 */
import { checkUtf8 } from './utf8.js';

/** 16 letters each: `tiny_ble_provis1`, `tiny_cfg_write01`, `tiny_wake_evnt01`, `tiny_stat_rd01`. */
export const NECKLACE_SERVICE = '74696e79-5f62-6c65-5f70-726f76697331';
/** Write with response, notify: its identity goes in, its verdict comes out. */
export const NECKLACE_CONFIG = '74696e79-5f63-6667-5f77-726974653031';
/** Notify: `{"wake":n,"label":"…"}`. */
export const NECKLACE_WAKE = '74696e79-5f77-616b-655f-65766e743031';
/** Read, notify: `{"ndp","mic","w","l","up"}`. */
export const NECKLACE_STATUS = '74696e79-5f73-7461-745f-72643031ffff';

const MAGIC = [0xff, 0xff, 0x54, 0x4e] as const;
export type NecklaceKind = 'vision' | 'voice';

export interface NecklaceBeacon {
  /** Undefined for a version that is not known. */
  readonly kind: NecklaceKind | undefined;
  /** It has an identity already. */
  readonly provisioned: boolean;
}

/** `FF FF ‖ "TN" ‖ version(1) ‖ provisioned(1)`, company identifier included. */
export function encodeNecklaceBeacon(kind: NecklaceKind, provisioned: boolean): Uint8Array {
  return Uint8Array.of(...MAGIC, kind === 'vision' ? 1 : 2, provisioned ? 1 : 0);
}

/** Undefined where it is another's manufacturer data. */
export function decodeNecklaceBeacon(bytes: Uint8Array): NecklaceBeacon | undefined {
  if (bytes.length < 6 || MAGIC.some((byte, i) => bytes[i] !== byte)) return undefined;
  const kind = bytes[4] === 1 ? 'vision' : bytes[4] === 2 ? 'voice' : undefined;
  return { kind, provisioned: bytes[5] !== 0 };
}

/** What is written into it; Wi-Fi for `vision` only, which goes online by itself. */
export interface NecklaceIdentity {
  readonly device_id: string;
  readonly token: string;
  readonly name?: string;
  readonly ssid?: string;
  readonly key?: string;
}

/** Bytes of the JSON that each kind takes at most; the smaller one where the kind is unknown. */
export const NECKLACE_MAX_IDENTITY = { vision: 900, voice: 240 } as const;
/** Every central may write this much in one packet; each is answered before the next. */
export const NECKLACE_CHUNK = 20;

/** The JSON with its newline, to be written in chunks. */
export function necklaceIdentityBytes(identity: NecklaceIdentity): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(identity)}\n`);
}

export interface NecklaceVerdict {
  readonly ok: boolean;
  /** It has all that it needs. */
  readonly complete: boolean;
  readonly missing: readonly string[];
  readonly error?: string;
}

/** Boards echo what is written: only an object with the key `ok` is a verdict. */
export function readVerdict(object: JsonObject): NecklaceVerdict | undefined {
  const { ok, complete, missing, error } = object;
  if (typeof ok !== 'boolean') return undefined;
  const names = Array.isArray(missing) ? missing.filter((each) => typeof each === 'string') : [];
  return {
    ok,
    complete: complete === undefined ? ok : complete === true,
    missing: names.slice(0, 16).map((each) => each.slice(0, 64)),
    ...(typeof error === 'string' && error ? { error: error.slice(0, 200) } : {}),
  };
}

export interface NecklaceWake {
  readonly wake: number;
  readonly label: string;
}

const MAX_LABEL = 64;

/** Undefined where it is no wake. */
export function readWake(object: JsonObject): NecklaceWake | undefined {
  const wake = countOf(object.wake);
  if (wake === undefined || typeof object.label !== 'string') return undefined;
  return { wake, label: labelOf(object.label) };
}

/** Only what has the right type; a field that is missing or wrong is left out. */
export interface NecklaceStatus {
  /** The word detector runs. */
  readonly ndp?: boolean;
  readonly mic?: boolean;
  readonly wakes?: number;
  readonly lastLabel?: string;
  readonly uptimeS?: number;
}

/** Undefined where no field of a status is in it. */
export function readStatus(object: JsonObject): NecklaceStatus | undefined {
  const ndp = flagOf(object.ndp);
  const mic = flagOf(object.mic);
  const wakes = countOf(object.w);
  const uptimeS = countOf(object.up);
  const status: NecklaceStatus = {
    ...(ndp === undefined ? {} : { ndp }),
    ...(mic === undefined ? {} : { mic }),
    ...(wakes === undefined ? {} : { wakes }),
    ...(typeof object.l === 'string' ? { lastLabel: labelOf(object.l) } : {}),
    ...(uptimeS === undefined ? {} : { uptimeS }),
  };
  return Object.keys(status).length > 0 ? status : undefined;
}

function flagOf(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  return value === 0 || value === 1 ? value === 1 : undefined;
}

function countOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

function labelOf(text: string): string {
  return [...text.toWellFormed().replace(/\p{Cc}/gu, ' ')].slice(0, MAX_LABEL).join('');
}

export type JsonObject = { readonly [key: string]: unknown };
export type BadLine = 'too_long' | 'bad_utf8' | 'bad_json' | 'lost_part';

/** A line with its newline, in bytes. */
const MAX_LINE = 1_024;
/** A line that is not continued for this long has lost its end. */
const STALE_MS = 2_000;
const NEWLINE = 10;
const BRACE = 123;

/**
 * Makes JSON objects of notifications: an object may come in several, several in one. A newline
 * ends an object; one that is whole without it is taken as well. `bad` is told why bytes were
 * left out; nothing throws, and never are more than `MAX_LINE` bytes kept.
 */
export class NecklaceLines {
  readonly #object: (object: JsonObject) => void;
  readonly #bad: (why: BadLine) => void;
  #kept: Uint8Array = new Uint8Array(0);
  #skipping = false;
  #at = 0;

  constructor(object: (object: JsonObject) => void, bad: (why: BadLine) => void) {
    this.#object = object;
    this.#bad = bad;
  }

  /** `now` in milliseconds on a clock that never jumps. */
  push(bytes: Uint8Array, now: number): void {
    if (this.#kept.length > 0 && now - this.#at >= STALE_MS && bytes[0] === BRACE) {
      this.#kept = new Uint8Array(0);
      this.#bad('lost_part');
    }
    this.#at = now;
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      this.#add(bytes.subarray(from, end));
      this.#line();
      from = end + 1;
    }
    this.#add(bytes.subarray(from));
    const whole = this.#kept.at(-1) === 125 ? objectOf(this.#kept) : undefined;
    if (typeof whole !== 'object') return;
    this.#kept = new Uint8Array(0);
    this.#object(whole);
  }

  #add(bytes: Uint8Array): void {
    if (this.#skipping) return;
    if (this.#kept.length + bytes.length > MAX_LINE) {
      this.#kept = new Uint8Array(0);
      this.#skipping = true;
      this.#bad('too_long');
      return;
    }
    const both = new Uint8Array(this.#kept.length + bytes.length);
    both.set(this.#kept);
    both.set(bytes, this.#kept.length);
    this.#kept = both;
  }

  #line(): void {
    const line = this.#kept;
    this.#kept = new Uint8Array(0);
    if (this.#skipping) {
      this.#skipping = false;
      return;
    }
    if (line.every((byte) => byte === 32 || byte === 13)) return;
    const object = objectOf(line);
    if (typeof object === 'object') {
      this.#object(object);
      return;
    }
    this.#bad(object);
    // The end of one object was lost and the next one followed: that one is whole.
    const last = line.lastIndexOf(BRACE);
    const rest = last > 0 ? objectOf(line.subarray(last)) : undefined;
    if (typeof rest === 'object') this.#object(rest);
  }
}

function objectOf(bytes: Uint8Array): JsonObject | 'bad_utf8' | 'bad_json' {
  if (checkUtf8(bytes, 0, bytes.length) >= 0) return 'bad_utf8';
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as JsonObject) : 'bad_json';
  } catch {
    return 'bad_json';
  }
}
