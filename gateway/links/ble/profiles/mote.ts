/**
 * Our own boards over BLE (frame.md "Links"): segments over one GATT service, and info that says
 * which board it is. Nothing of the air proves that: a sealed frame does, above this.
 */
import {
  ATT_HEADER,
  BLE_INFO,
  BLE_RX,
  BLE_SERVICE,
  BLE_TX,
  type BleInfo,
  decodeBeacon,
  decodeInfo,
  LEAST_MTU,
} from '../../../../protocol/ble.js';
import { decodeMessage } from '../../../../protocol/codec.js';
import { readFrame, SEAL } from '../../../../protocol/frame.js';
import { SegmentLink } from '../../../../protocol/segment-link.js';
import type { Path } from '../../../core/types.js';
import { LinkClosed } from '../../link.js';
import { cleanName } from '../air-text.js';
import { type Advertisement, BleError, type GattPeer, plainUuid } from '../port.js';
import type {
  BleProfile,
  KnownBoard,
  ProfileContext,
  ProfileSession,
  Sighting,
} from '../profile.js';

export interface MoteProfileOptions {
  /** Longest frame taken, in bytes: the gateway's `maxMessage` and what sealing adds. */
  readonly maxFrame?: number;
  /** Bytes of segments that a board may send ahead of our credit. */
  readonly rxWindow?: number;
}

export const MOTE = 'mote';
/** 32 segments, the most there may be under way, of the customary 244 bytes. */
const RX_WINDOW = 8_192;
const MAX_FRAME = 16_384 + 16;
const SERVICE = plainUuid(BLE_SERVICE);

export function moteProfile(options: MoteProfileOptions = {}): BleProfile {
  return {
    name: MOTE,
    sight,
    recognise(advertisement, known) {
      const idPrefix = sight(advertisement)?.idPrefix;
      if (idPrefix === undefined) return undefined;
      return known.find((board) => board.profile === MOTE && board.boardId.startsWith(idPrefix));
    },
    open: (peer, board, context) => open(peer, board, context, options),
  };
}

function sight(advertisement: Advertisement): Sighting | undefined {
  const { services, manufacturerData, address, rssi, name } = advertisement;
  if (!manufacturerData || !services.some((uuid) => plainUuid(uuid) === SERVICE)) return undefined;
  const beacon = decodeBeacon(manufacturerData);
  if (!beacon) return undefined;
  return {
    profile: MOTE,
    address,
    rssi,
    name: cleanName(name ?? ''),
    idPrefix: beacon.idPrefix,
    paired: beacon.paired,
    needs: 'code',
  };
}

async function open(
  peer: GattPeer,
  board: KnownBoard,
  context: ProfileContext,
  options: MoteProfileOptions,
): Promise<ProfileSession> {
  await peer.discover(BLE_SERVICE);
  const info = infoOf(await peer.read(BLE_INFO));
  if (info.boardId !== board.boardId) {
    throw new BleError(
      'not_a_board',
      `the device at ${peer.address} is board ${info.boardId}, not ${board.boardId}; it was let go`,
    );
  }
  const session = new MoteSession(peer, info, context, options);
  try {
    await peer.subscribe(BLE_TX, (bytes) => session.packet(bytes));
  } catch (error) {
    session.closed('it could not be listened to');
    throw error;
  }
  session.begin();
  return session;
}

function infoOf(bytes: Uint8Array): BleInfo {
  try {
    return decodeInfo(bytes);
  } catch (error) {
    throw new BleError(
      'not_a_board',
      'a device that advertises as a board has no info that can be read; it was let go',
      { cause: error },
    );
  }
}

class MoteSession implements ProfileSession {
  readonly #peer: GattPeer;
  readonly #context: ProfileContext;
  readonly #segments: SegmentLink;
  readonly #path: Path;
  /** ATT payload as the board told it: in its info, then in its HELLO. */
  #boardAtt: number;
  #payload = 0;
  /** Frames that came before the path was open. */
  #early: Uint8Array[] | undefined = [];
  #over = false;

  constructor(
    peer: GattPeer,
    info: BleInfo,
    context: ProfileContext,
    { maxFrame = MAX_FRAME, rxWindow = RX_WINDOW }: MoteProfileOptions,
  ) {
    this.#peer = peer;
    this.#context = context;
    this.#boardAtt = info.att;
    this.#segments = new SegmentLink({
      clock: context.clock,
      sendPacket: (packet) => this.#write(packet),
      message: (frame) => this.#message(frame),
      broken: (reason) => {
        context.count('segments_broken');
        void peer.disconnect(reason);
      },
      rxWindow,
      limit: maxFrame,
    });
    this.#path = {
      boardId: info.boardId,
      via: 'ble',
      mustSeal: true,
      rxWindow,
      send: (frame) => this.#send(frame),
      close: (reason) => {
        this.closed(reason);
        void peer.disconnect(reason);
      },
    };
  }

  begin(): void {
    if (this.#over) return;
    this.#measure();
    const early = this.#early ?? [];
    this.#early = undefined;
    this.#context.listener.opened(this.#path);
    for (const frame of early) {
      if (!this.#over) this.#context.listener.received(this.#path, frame);
    }
  }

  packet(bytes: Uint8Array): void {
    this.#measure();
    this.#segments.packet(bytes);
  }

  closed(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    const { dropped, shed, repeats } = this.#segments.counters;
    this.#segments.close();
    for (const [name, times] of Object.entries({ dropped, shed, repeats })) {
      for (let i = 0; i < Math.min(times, 1_000); i++) this.#context.count(`segments_${name}`);
    }
    if (this.#early === undefined) this.#context.listener.closed(this.#path, reason);
  }

  #send(frame: Uint8Array): void {
    if (this.#over) throw new LinkClosed();
    this.#measure();
    let taken: boolean;
    try {
      taken = this.#segments.send(frame);
    } catch {
      this.#context.count('too_large');
      return;
    }
    if (taken) return;
    this.#context.count('board_too_slow');
    this.#path.close('the board takes nothing any more');
    throw new LinkClosed();
  }

  #message(frame: Uint8Array): void {
    if (this.#over) return;
    this.#greeting(frame);
    if (this.#early) this.#early.push(frame);
    else this.#context.listener.received(this.#path, frame);
  }

  /** A HELLO says how much the board takes ahead, and the payload as it sees it. */
  #greeting(frame: Uint8Array): void {
    if (frame[0] !== SEAL.plain) return;
    try {
      const message = decodeMessage(readFrame(frame).body);
      if (message.type !== 'hello') return;
      if (message.rxWindow !== undefined) this.#segments.setWindow(message.rxWindow);
      if (message.att !== undefined) this.#boardAtt = message.att;
      this.#measure();
    } catch {
      // The gateway refuses it, with the reason.
    }
  }

  /** The payload that both ends have now; it grows once the MTU was exchanged. */
  #measure(): void {
    const own = (this.#peer.mtu() ?? LEAST_MTU) - ATT_HEADER;
    const payload = Math.min(own, this.#boardAtt);
    if (payload === this.#payload) return;
    this.#payload = payload;
    this.#segments.setPayload(payload);
  }

  #write(packet: Uint8Array): void {
    this.#peer.write(BLE_RX, packet, false).catch((error: unknown) => {
      if (error instanceof BleError && error.code === 'disconnected') return;
      this.#context.count('write_failed');
      void this.#peer.disconnect(error instanceof Error ? error.message : String(error));
    });
  }
}
