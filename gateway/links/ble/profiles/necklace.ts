/**
 * The necklaces of tiny (`protocol/necklace.ts`) as boards: a wake becomes an event, its status
 * becomes readings. Such a board is online while it is connected, subscribed, and answers.
 * It proves nothing about itself: whoever has its address can speak as it.
 */
import {
  decodeNecklaceBeacon,
  NECKLACE_CONFIG,
  NECKLACE_SERVICE,
  NECKLACE_STATUS,
  NECKLACE_WAKE,
  type NecklaceKind,
} from '../../../../protocol/necklace.js';
import type { BoardId } from '../../../core/types.js';
import { cleanName } from '../air-text.js';
import { within } from '../deadline.js';
import { type Advertisement, BleError, type GattPeer, plainUuid } from '../port.js';
import type {
  BleProfile,
  KnownBoard,
  ProfileContext,
  ProfileSession,
  Sighting,
} from '../profile.js';
import { plainAddress, SpokenBoard, spokenBoardId } from '../spoken-board.js';
import { NecklaceTalk } from './necklace-talk.js';
import { necklaceVerbs } from './necklace-verbs.js';

export const NECKLACE = 'necklace';
/** From the connection until it is subscribed. */
const DISCOVERY_MS = 15_000;

const READINGS = [
  { name: 'listening', unit: '' },
  { name: 'ndp', unit: '' },
  { name: 'mic', unit: '' },
  { name: 'wakes', unit: '' },
  { name: 'last_label', unit: '' },
  { name: 'uptime', unit: 's' },
] as const;

interface Seat {
  readonly spoken: SpokenBoard;
  talk: NecklaceTalk | undefined;
}

export function necklaceProfile(): BleProfile {
  const seats = new Map<BoardId, Seat>();
  /** As their beacons say; it decides how long an identity may be. */
  const kinds = new Map<BoardId, NecklaceKind>();

  function seatOf(board: KnownBoard, context: ProfileContext): Seat {
    const known = seats.get(board.boardId);
    if (known) return known;
    const talk = () => seats.get(board.boardId)?.talk;
    const spoken = new SpokenBoard({
      boardId: board.boardId,
      name: `necklace ${plainAddress(board.address ?? '').slice(-4)}`.trim(),
      platform: 'tiny-necklace',
      readings: READINGS,
      verbs: necklaceVerbs(talk, () => kinds.get(board.boardId)),
      context,
      ended: (reason) => talk()?.leave(`the gateway ended it: ${reason}`),
    });
    const seat: Seat = { spoken, talk: undefined };
    seats.set(board.boardId, seat);
    return seat;
  }

  return {
    name: NECKLACE,

    sight(advertisement) {
      const beacon = beaconOf(advertisement);
      if (!beacon && !offers(advertisement)) return undefined;
      const { address, rssi, name = '' } = advertisement;
      const sighting: Sighting = {
        profile: NECKLACE,
        address,
        rssi,
        name: cleanName(name),
        boardId: spokenBoardId(NECKLACE, address),
        paired: beacon?.provisioned ?? false,
        needs: 'none',
      };
      return sighting;
    },

    recognise(advertisement, known) {
      const beacon = beaconOf(advertisement);
      if (!beacon && !offers(advertisement)) return undefined;
      const address = plainAddress(advertisement.address);
      const board = known.find(
        (each) => each.profile === NECKLACE && plainAddress(each.address ?? '') === address,
      );
      if (board && beacon?.kind) kinds.set(board.boardId, beacon.kind);
      return board;
    },

    /** Where it rejects the connection is left to the caller. */
    async open(peer, board, context): Promise<ProfileSession> {
      const seat = seatOf(board, context);
      const talk = new NecklaceTalk(peer, seat.spoken, context);
      await within(context.clock, DISCOVERY_MS, 'subscribing to a necklace', () =>
        subscribe(peer, talk),
      );
      seat.talk?.closed();
      seat.talk = talk;
      // Each connection has its own listener, so it has its own path.
      seat.spoken.close('the necklace connected again');
      seat.spoken.open(context.listener);
      talk.begin();
      return {
        closed(reason) {
          talk.closed();
          if (seat.talk !== talk) return;
          seat.talk = undefined;
          seat.spoken.close(reason);
        },
      };
    },

    forget(boardId) {
      const seat = seats.get(boardId);
      seats.delete(boardId);
      kinds.delete(boardId);
      seat?.talk?.closed();
      seat?.spoken.stop('it was removed');
    },

    closed(reason) {
      for (const seat of seats.values()) {
        seat.talk?.closed();
        seat.talk = undefined;
        seat.spoken.close(reason);
      }
    },
  };
}

function beaconOf({ manufacturerData }: Advertisement) {
  return manufacturerData && decodeNecklaceBeacon(manufacturerData);
}

function offers({ services }: Advertisement): boolean {
  return services.some((uuid) => plainUuid(uuid) === plainUuid(NECKLACE_SERVICE));
}

/** The config first: a verdict must never be missed. A necklace may lack a status, or its notice. */
async function subscribe(peer: GattPeer, talk: NecklaceTalk): Promise<void> {
  await peer.discover(NECKLACE_SERVICE);
  await peer.subscribe(NECKLACE_CONFIG, (bytes) => talk.config(bytes));
  await peer.subscribe(NECKLACE_WAKE, (bytes) => talk.wake(bytes));
  try {
    await peer.subscribe(NECKLACE_STATUS, (bytes) => talk.status(bytes));
  } catch (error) {
    if (!(error instanceof BleError) || error.code !== 'no_characteristic') throw error;
  }
}
