/** What people are told of the BLE link and of each board on it. */
import type { BoardId } from '../../core/types.js';
import type { LinkHealth } from '../link.js';
import { notOn } from './adapter-words.js';
import type { Seat } from './keeper.js';
import type { AdapterState } from './port.js';
import type { Session } from './session.js';

export interface BoardHealth {
  boardId: BoardId;
  /**
   * `searching`: not heard lately; `waiting`: tried again later; `no_slot`: every connection is
   * taken; `broadcast`: never connected, only heard.
   */
  state: 'online' | 'opening' | 'waiting' | 'no_slot' | 'searching' | 'broadcast';
  address?: string;
  /** dBm at its last advertisement. */
  rssi?: number;
  /** ATT MTU in bytes. */
  mtu?: number;
  /** Milliseconds since the last thing heard over its connection. */
  lastEventAgeMs?: number;
  retryInMs?: number;
  /** Attempts that failed since a link last held. */
  failures: number;
  /** The last trouble, in words. */
  why?: string;
}

export interface BleHealth extends LinkHealth {
  via: 'ble';
  adapter: { library: string; state: AdapterState };
  /** The adapter says it works and shows no sign of it; `detail` says more. */
  degraded: boolean;
  scan: { wanted: boolean; running: boolean; heardAgoMs?: number };
  slots: { used: number; limit: number };
  boards: BoardHealth[];
}

export function linkState(
  adapter: AdapterState,
  closed: boolean,
): { state: LinkHealth['state']; detail?: string } {
  if (closed) return { state: 'down', detail: 'the link was closed' };
  if (adapter === 'on') return { state: 'up' };
  return { state: adapter === 'unknown' ? 'connecting' : 'down', detail: notOn(adapter).message };
}

/** `connects`: boards of this profile are connected to. */
export function boardHealth(
  seat: Seat,
  session: Session | undefined,
  connects: boolean,
  now: number,
): BoardHealth {
  const newest = [...seat.heard].at(-1);
  const address = session?.connection.address ?? newest?.[0];
  const mtu = session?.connection.mtu();
  const waits = !session && seat.nextTryAt > now;
  return {
    boardId: seat.board.boardId,
    state: connects ? stateOf(seat, session, waits) : 'broadcast',
    failures: seat.failures,
    ...(address === undefined ? {} : { address }),
    ...(newest === undefined ? {} : { rssi: newest[1].rssi }),
    ...(mtu === undefined ? {} : { mtu }),
    ...(session ? { lastEventAgeMs: now - session.connection.heardAt } : {}),
    ...(waits ? { retryInMs: Math.round(seat.nextTryAt - now) } : {}),
    ...(seat.why === undefined || session ? {} : { why: seat.why }),
  };
}

function stateOf(seat: Seat, session: Session | undefined, waits: boolean): BoardHealth['state'] {
  if (session) return session.openedAt === undefined ? 'opening' : 'online';
  if (seat.noSlotSaid) return 'no_slot';
  return waits ? 'waiting' : 'searching';
}
