/** Topics and the state payload of MQTT boards (frame.md "Links", amendment 11). */
import { decodeValue, encodeValue } from '../../protocol/codec.js';
import type { BoardId } from '../core/types.js';

export const BOARD_ID = /^[0-9a-f]{16}$/;

export type Leaf = 'up' | 'down' | 'state';

const TOPIC = /^mote\/([0-9a-f]{16})\/(up|down|state)$/;

export function topicOf(boardId: BoardId, leaf: Leaf): string {
  return `mote/${boardId}/${leaf}`;
}

/** Undefined unless it is exactly `mote/<16 hex digits>/<leaf>`. */
export function parseTopic(topic: string): { boardId: BoardId; leaf: Leaf } | undefined {
  const [, boardId, leaf] = TOPIC.exec(topic) ?? [];
  return boardId === undefined ? undefined : { boardId, leaf: leaf as Leaf };
}

/** Which connection of which boot of a board a state payload speaks of. */
export interface BoardState {
  bootId: number;
  /** Grows by one with each connection of a boot. */
  connection: number;
  online: boolean;
}

const U32 = 0xffff_ffff;
/** Three integers of at most 5 bytes each, in an array, with room for a newer peer's items. */
const MAX_STATE = 64;

export function encodeState(state: BoardState): Uint8Array {
  return encodeValue([state.bootId, state.connection, state.online ? 1 : 0]);
}

/** Undefined for anything but `[u32, u32, 0 or 1, …]`. */
export function decodeState(bytes: Uint8Array): BoardState | undefined {
  if (bytes.length === 0 || bytes.length > MAX_STATE) return undefined;
  let value: unknown;
  try {
    value = decodeValue(bytes, MAX_STATE);
  } catch {
    return undefined;
  }
  if (!Array.isArray(value)) return undefined;
  const [bootId, connection, flag] = value as unknown[];
  if (!isU32(bootId) || !isU32(connection) || (flag !== 0 && flag !== 1)) return undefined;
  return { bootId, connection, online: flag === 1 };
}

function isU32(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= U32;
}

export function sameConnection(a: BoardState, b: BoardState): boolean {
  return a.bootId === b.bootId && a.connection === b.connection;
}
