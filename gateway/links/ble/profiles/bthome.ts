/**
 * BTHome v2 sensors (`protocol/bthome.ts`) as boards that only broadcast: their objects become
 * readings, their buttons and dimmers events, and all that they can be asked for is what was
 * heard. Such a board is online while it is heard. Plain packets prove nothing: anyone near can
 * send them. Those of a sensor with a bind key are taken under that key alone.
 */
import { BTHOME_UUID, readBthome } from '../../../../protocol/bthome.js';
import type { CcmMaker } from '../../../../protocol/sealing.js';
import { webCcm } from '../../../../protocol/web-ccm.js';
import type { BoardId } from '../../../core/types.js';
import { cleanName } from '../air-text.js';
import { type Advertisement, plainUuid } from '../port.js';
import type { BleProfile } from '../profile.js';
import { plainAddress, spokenBoardId } from '../spoken-board.js';
import { BthomeBoard } from './bthome-board.js';
import type { BthomeMemory } from './bthome-memory.js';

export type { BthomeMemory } from './bthome-memory.js';
export const BTHOME = 'bthome';
const UUIDS = [BTHOME_UUID, `0000${BTHOME_UUID}00001000800000805f9b34fb`];

export interface BthomeOptions {
  /** Keeps what was learned of a sensor; without it, it is learned anew in each run. */
  readonly memory?: BthomeMemory;
  /** Default Web Crypto's. */
  readonly ccm?: CcmMaker;
}

export function bthomeProfile({ memory, ccm = webCcm }: BthomeOptions = {}): BleProfile {
  const boards = new Map<BoardId, BthomeBoard>();

  return {
    name: BTHOME,

    sight(advertisement) {
      const data = dataOf(advertisement);
      const packet = data && readBthome(data);
      if (!packet) return undefined;
      const { address, rssi, name = '' } = advertisement;
      return {
        profile: BTHOME,
        address,
        rssi,
        name: cleanName(name),
        boardId: spokenBoardId(BTHOME, address),
        paired: false,
        needs: packet.encrypted ? 'bind_key' : 'none',
      };
    },

    recognise(advertisement, known) {
      if (!dataOf(advertisement)) return undefined;
      const address = plainAddress(advertisement.address);
      return known.find(
        (each) => each.profile === BTHOME && plainAddress(each.address ?? '') === address,
      );
    },

    heard(advertisement, board, context) {
      const data = dataOf(advertisement);
      if (!data) return;
      let known = boards.get(board.boardId);
      if (known && !known.is(board)) {
        known.rekeyed();
        known = undefined;
      }
      if (!known) {
        known = new BthomeBoard(board, context, ccm, memory);
        boards.set(board.boardId, known);
      }
      known.heard(data, advertisement.rssi);
    },

    forget(boardId) {
      boards.get(boardId)?.stop('it was removed');
      boards.delete(boardId);
    },

    closed(reason) {
      for (const board of boards.values()) board.close(reason);
    },
  };
}

function dataOf({ serviceData }: Advertisement): Uint8Array | undefined {
  return serviceData.find(({ uuid }) => UUIDS.includes(plainUuid(uuid)))?.data;
}
