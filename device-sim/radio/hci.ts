/**
 * The host controller interface as bytes: what the virtual controller takes and says (Bluetooth
 * Core 5.4, Vol 4 Part E), packets with their H4 type byte in front (Vol 4 Part A).
 */

export const H4 = { command: 1, acl: 2, event: 4 } as const;

/** Command opcodes (section 7): group of 6 bits, command of 10. */
export const COMMAND = {
  disconnect: 0x0406,
  setEventMask: 0x0c01,
  reset: 0x0c03,
  readLeHost: 0x0c6c,
  writeLeHost: 0x0c6d,
  readVersion: 0x1001,
  readSupportedCommands: 0x1002,
  readBufferSize: 0x1005,
  readAddress: 0x1009,
  readRssi: 0x1405,
  leSetEventMask: 0x2001,
  leReadBufferSize: 0x2002,
  leReadFeatures: 0x2003,
  leSetAdvertisingParameters: 0x2006,
  leSetAdvertisingData: 0x2008,
  leSetScanResponse: 0x2009,
  leSetAdvertisingEnable: 0x200a,
  leSetScanParameters: 0x200b,
  leSetScanEnable: 0x200c,
  leCreateConnection: 0x200d,
  leCancelConnection: 0x200e,
  leUpdateConnection: 0x2013,
  leSetDataLength: 0x2022,
  leReadMaxDataLength: 0x202f,
} as const;

/** Error codes (Vol 1 Part F). */
export const STATUS = {
  ok: 0x00,
  unknownCommand: 0x01,
  unknownConnection: 0x02,
  timeout: 0x08,
  limitExceeded: 0x09,
  notNow: 0x0c,
  remoteEnded: 0x13,
  localEnded: 0x16,
  failedToEstablish: 0x3e,
} as const;

/** Advertising PDU types as a report names them. */
export const REPORT = { connectable: 0, scannable: 2, plain: 3, scanResponse: 4 } as const;

/** What this controller holds: octets of one ACL packet, and how many of them. */
export const ACL_OCTETS = 251;
export const ACL_PACKETS = 8;
/** Microseconds for `ACL_OCTETS` at 1 Mbit/s. */
const ACL_TIME = 2120;

const u16 = (value: number): [number, number] => [value & 0xff, (value >> 8) & 0xff];

function event(code: number, parameters: readonly number[]): Buffer {
  return Buffer.from([H4.event, code, parameters.length, ...parameters]);
}

const meta = (parameters: readonly number[]): Buffer => event(0x3e, parameters);

export function commandComplete(opcode: number, parameters: readonly number[] = [0]): Buffer {
  return event(0x0e, [1, ...u16(opcode), ...parameters]);
}

export function commandStatus(opcode: number, status: number): Buffer {
  return event(0x0f, [status, 1, ...u16(opcode)]);
}

export function disconnected(handle: number, reason: number): Buffer {
  return event(0x05, [STATUS.ok, ...u16(handle), reason]);
}

export function packetsCompleted(handle: number, count: number): Buffer {
  return event(0x13, [1, ...u16(handle), ...u16(count)]);
}

export interface ConnectionMade {
  status: number;
  handle: number;
  /** 0 central, 1 peripheral. */
  role: 0 | 1;
  /** Six bytes, little endian. */
  peer: Uint8Array;
  /** Hundredths of a second. */
  supervision: number;
}

export function connectionComplete(made: ConnectionMade): Buffer {
  const { status, handle, role, peer, supervision } = made;
  // Interval 30 ms, latency 0, clock accuracy 500 ppm.
  return meta([1, status, ...u16(handle), role, 0, ...peer, 24, 0, 0, 0, ...u16(supervision), 0]);
}

export function connectionUpdated(handle: number, parameters: Uint8Array): Buffer {
  return meta([3, STATUS.ok, ...u16(handle), ...parameters.subarray(0, 6)]);
}

export function dataLengthChanged(handle: number): Buffer {
  return meta([7, ...u16(handle), ...dataLength()]);
}

/** Octets and microseconds, to send and to receive. */
export function dataLength(): number[] {
  const one = [...u16(ACL_OCTETS), ...u16(ACL_TIME)];
  return [...one, ...one];
}

export interface Report {
  type: number;
  address: Uint8Array;
  data: Uint8Array;
  /** dBm. */
  rssi: number;
}

export function advertisingReport({ type, address, data, rssi }: Report): Buffer {
  return meta([2, 1, type, 0, ...address, data.length, ...data, rssi & 0xff]);
}

export interface Acl {
  handle: number;
  /** Packet boundary flags: 0 and 2 start an L2CAP packet, 1 continues it. */
  boundary: number;
  data: Uint8Array;
}

/** Undefined for a packet whose length does not fit its bytes. */
export function readAcl(bytes: Buffer): Acl | undefined {
  if (bytes.length < 5 || bytes.readUInt16LE(3) !== bytes.length - 5) return undefined;
  const word = bytes.readUInt16LE(1);
  return { handle: word & 0x0fff, boundary: (word >> 12) & 3, data: bytes.subarray(5) };
}

export function writeAcl({ handle, boundary, data }: Acl): Buffer {
  const header = [H4.acl, ...u16(handle | (boundary << 12)), ...u16(data.length)];
  return Buffer.concat([Buffer.from(header), data]);
}

/** The ATT protocol data unit in the first part of an L2CAP packet; undefined if there is none. */
export function attOf({ boundary, data }: Acl): Uint8Array | undefined {
  const start = boundary !== 1 && data.length > 4;
  return start && data[2] === 4 && data[3] === 0 ? data.subarray(4) : undefined;
}

/** As people write it, most significant byte first; the wire has it the other way round. */
export function addressText(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'))
    .reverse()
    .join(':');
}

/** The other way round. @throws RangeError */
export function addressBytes(text: string): Buffer {
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(text)) {
    throw new RangeError(`${JSON.stringify(text)} is no Bluetooth address`);
  }
  return Buffer.from(text.replaceAll(':', ''), 'hex').reverse();
}
