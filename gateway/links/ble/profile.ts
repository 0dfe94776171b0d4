/**
 * The seam for kinds of BLE boards. A profile knows what its boards advertise and how to speak
 * with them; to the gateway every one of them is a `Path` that carries frames of our protocol.
 * A board of another maker is spoken for: its profile says HELLO, CAPS, READINGS and EVENT in its
 * place (`spoken-board.ts`), so that nothing else in the house knows of it.
 */
import type { BoardId, Clock, PathListener } from '../../core/types.js';
import type { LinkLog } from '../link.js';
import type { Advertisement, GattPeer } from './port.js';

/** A board that the owner has paired, as the link must know it. */
export interface KnownBoard {
  readonly boardId: BoardId;
  readonly profile: string;
  /** The address under which another maker's board is known; our own are known by their id. */
  readonly address?: string;
  /** What opens its broadcasts, where they are encrypted. 16 bytes. */
  readonly bindKey?: Uint8Array;
}

/** A board that was heard, for people who look for one to pair. */
export interface Sighting {
  readonly profile: string;
  readonly address: string;
  /** dBm. */
  readonly rssi: number;
  /** Untrusted text of the air; clean it before it is shown. */
  readonly name: string;
  /** Undefined where the air does not tell the whole id. */
  readonly boardId?: BoardId;
  /** Of our own boards: the first 8 hex digits of the id. */
  readonly idPrefix?: string;
  /** It has a key of some gateway already. */
  readonly paired: boolean;
  /** `code`: needs its set-up code; `bind_key`: needs the key of its broadcasts; `none`. */
  readonly needs: 'code' | 'bind_key' | 'none';
}

/** What a profile is given to speak with. */
export interface ProfileContext {
  readonly clock: Clock;
  readonly listener: PathListener;
  random(length: number): Uint8Array;
  readonly log: LinkLog;
  count(name: string): void;
}

/** A connection in the hands of its profile. */
export interface ProfileSession {
  /** The link closed; the profile tells its listener. */
  closed(reason: string): void;
}

export interface BleProfile {
  readonly name: string;
  /** What this advertisement shows of a board of this profile; undefined: not one. */
  sight(advertisement: Advertisement): Sighting | undefined;
  /** Which of the known boards it is; undefined: none, leave it alone. */
  recognise(advertisement: Advertisement, known: readonly KnownBoard[]): KnownBoard | undefined;
  /** Boards that only broadcast have no `open`. */
  open?(peer: GattPeer, board: KnownBoard, context: ProfileContext): Promise<ProfileSession>;
  /** An advertisement of a known board, for those that broadcast. */
  heard?(advertisement: Advertisement, board: KnownBoard, context: ProfileContext): void;
  /** The board was forgotten: its path, if any, closes. */
  forget?(boardId: BoardId): void;
  /** The adapter is gone or the link closes: every path ends. */
  closed?(reason: string): void;
}
