/**
 * How a board shows itself over Bluetooth LE (frame.md "Links"): its GATT service, what it
 * advertises, and its info characteristic. Bytes to objects and back; no radio here.
 *
 * Advertising data: flags, the 128-bit service UUID, and manufacturer data
 * `FF FF ‖ version(1) ‖ flags(1) ‖ first 4 bytes of the board id`, 31 bytes in all; the name travels in the
 * scan response. `FF FF` is the company identifier that the Bluetooth SIG leaves to tests and to
 * those without one (Assigned Numbers, section 7).
 */
import { FrameError } from './frame-error.js';
import { boardIdBytes, boardIdText, toHex } from './identity.js';
import { cutUtf8 } from './text.js';
import { checkUtf8 } from './utf8.js';

/** As noble and Web Bluetooth compare them: lower case; noble leaves the hyphens out. */
export const BLE_SERVICE = '6d6f7465-6272-6964-6765-000000000001';
/** Write, write without response: segments down. */
export const BLE_RX = '6d6f7465-6272-6964-6765-000000000002';
/** Notify: segments up. */
export const BLE_TX = '6d6f7465-6272-6964-6765-000000000003';
/** Read: `BleInfo`. */
export const BLE_INFO = '6d6f7465-6272-6964-6765-000000000004';

/** ATT header of a write command or a notification (Core 5.4, Vol 3 Part F 3.4.5.3, 3.4.7.1). */
export const ATT_HEADER = 3;
/** What every BLE link has before it negotiates (Vol 3 Part G 5.2.1). */
export const LEAST_MTU = 23;

const COMPANY = [0xff, 0xff] as const;
export const BLE_VERSION = 1;
const PAIRED = 1;
/** Bytes of a name in info. */
const MAX_NAME = 32;

export interface BleBeacon {
  version: number;
  /** The board holds a key of its own; its set-up code opens nothing. */
  paired: boolean;
  /** The first 8 of the id's 16 hex digits: enough to know a board again, not to trust it. */
  idPrefix: string;
}

/** Manufacturer data, company identifier included: 8 bytes. */
export function encodeBeacon(board: { boardId: string; paired: boolean }): Uint8Array {
  const id = boardIdBytes(board.boardId).subarray(0, 4);
  return Uint8Array.of(...COMPANY, BLE_VERSION, board.paired ? PAIRED : 0, ...id);
}

/**
 * What the manufacturer data of a peer that advertises `BLE_SERVICE` says; undefined where it is
 * none of ours. The company identifier alone proves nothing: look for the service first.
 */
export function decodeBeacon(bytes: Uint8Array): BleBeacon | undefined {
  if (bytes.length < 8 || bytes[0] !== COMPANY[0] || bytes[1] !== COMPANY[1]) return undefined;
  return {
    version: bytes[2] as number,
    paired: ((bytes[3] as number) & PAIRED) !== 0,
    idPrefix: toHex(bytes.subarray(4, 8)),
  };
}

export interface BleInfo {
  version: number;
  paired: boolean;
  /** 16 hex digits. Not proven by this: a sealed frame proves it. */
  boardId: string;
  /** Bytes that one packet of this connection carries (ATT payload), as the board sees it. */
  att: number;
  /** At most 32 bytes of UTF-8; unproven too. */
  name: string;
}

/** `version(1) ‖ flags(1) ‖ att(2, big endian) ‖ boardId(8) ‖ name (UTF-8, to the end)`. */
export function encodeInfo(info: Omit<BleInfo, 'version'>): Uint8Array {
  const name = new TextEncoder().encode(cutUtf8(info.name, MAX_NAME));
  const bytes = new Uint8Array(12 + name.length);
  bytes[0] = BLE_VERSION;
  bytes[1] = info.paired ? PAIRED : 0;
  bytes[2] = info.att >> 8;
  bytes[3] = info.att;
  bytes.set(boardIdBytes(info.boardId), 4);
  bytes.set(name, 12);
  return bytes;
}

/** @throws FrameError `truncated` below 12 bytes, `bad_utf8` for a name that is no UTF-8 */
export function decodeInfo(bytes: Uint8Array): BleInfo {
  if (bytes.length < 12) {
    throw new FrameError('truncated', `a board's info has 12 bytes or more, not ${bytes.length}`);
  }
  const name = bytes.subarray(12, 12 + MAX_NAME);
  const bad = checkUtf8(name, 0, name.length);
  if (bad >= 0) {
    throw new FrameError('bad_utf8', "the name in a board's info is not UTF-8", {
      offset: 12 + bad,
    });
  }
  return {
    version: bytes[0] as number,
    paired: ((bytes[1] as number) & PAIRED) !== 0,
    att: ((bytes[2] as number) << 8) | (bytes[3] as number),
    boardId: boardIdText(bytes.slice(4, 12)),
    name: new TextDecoder().decode(name),
  };
}
