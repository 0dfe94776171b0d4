/** Who may connect to the embedded broker and what a board may publish. No I/O here. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ConnectPacket, PublishPacket } from 'aedes';
import type { BoardId } from '../core/types.js';
import type { Identity } from './takeovers.js';
import { BOARD_ID, type BoardState, decodeState, parseTopic, topicOf } from './topics.js';

/** Return codes of MQTT 3.1.1, section 3.2.2.3. */
export const CONNACK = { identifier: 2, unavailable: 3, credentials: 4, forbidden: 5 } as const;

export interface Refusal {
  code: (typeof CONNACK)[keyof typeof CONNACK];
  counter: string;
  why: string;
}

/** What a CONNECT says, credentials left aside. */
export function judgeConnect(
  packet: ConnectPacket,
): { refusal: Refusal } | { boardId: BoardId; identity: Identity } {
  const { clientId, username, will } = packet;
  if (typeof clientId !== 'string' || !BOARD_ID.test(clientId)) {
    const why = 'the client id must be the board id, 16 lower-case hex digits';
    return { refusal: { code: CONNACK.identifier, counter: 'bad_client_id', why } };
  }
  if (username !== clientId) {
    const why = 'the user name must be the board id, as the client id is';
    return { refusal: { code: CONNACK.credentials, counter: 'bad_credentials', why } };
  }
  if (!will) return { boardId: clientId, identity: undefined };
  const state = decodeState(payloadBytes(will.payload));
  if (will.topic !== topicOf(clientId, 'state') || !state || state.online || will.qos === 2) {
    const why =
      'the last will must be the board’s own state, [bootId, connection, 0], at QoS 0 or 1';
    return { refusal: { code: CONNACK.forbidden, counter: 'bad_will', why } };
  }
  return { boardId: clientId, identity: state };
}

const NOBODY = randomBytes(32);

/** In the same time for any password; an unknown board (undefined) has none that fits. */
export function passwordFits(given: Uint8Array | undefined, wanted: string | undefined): boolean {
  const digest = (bytes: Uint8Array | string): Buffer =>
    createHash('sha256').update(bytes).digest();
  const same = timingSafeEqual(digest(given ?? ''), digest(wanted ?? NOBODY));
  return same && wanted !== undefined && given !== undefined;
}

export type Publication =
  | { kind: 'frame'; bytes: Uint8Array }
  | { kind: 'state'; state: BoardState }
  /** Counted, and of no further effect; it must not be retained. */
  | { kind: 'ignored'; counter: string }
  /** The board takes back what the broker remembers of its state. */
  | { kind: 'forget' }
  /** Ends the connection. */
  | { kind: 'refused'; why: string };

/** What a board's PUBLISH is, by its own id. */
export function judgePublish(boardId: BoardId, packet: PublishPacket): Publication {
  const topic = parseTopic(packet.topic);
  if (topic?.boardId !== boardId || topic.leaf === 'down') {
    return { kind: 'refused', why: 'a board publishes only on its own up and state topics' };
  }
  if (packet.qos === 2) return { kind: 'refused', why: 'QoS 2 is not taken; use QoS 0 or 1' };
  const bytes = payloadBytes(packet.payload);
  if (topic.leaf === 'up') {
    if (packet.retain) return { kind: 'refused', why: 'only the state topic may be retained' };
    return bytes.length === 0
      ? { kind: 'ignored', counter: 'empty_frame' }
      : { kind: 'frame', bytes };
  }
  if (bytes.length === 0) return { kind: 'forget' };
  const state = decodeState(bytes);
  return state ? { kind: 'state', state } : { kind: 'ignored', counter: 'bad_state' };
}

/** A copy, so that nothing holds on to the chunk it came in. */
function payloadBytes(payload: string | Buffer): Uint8Array {
  return typeof payload === 'string' ? new TextEncoder().encode(payload) : new Uint8Array(payload);
}
