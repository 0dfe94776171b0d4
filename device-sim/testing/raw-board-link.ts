/** The gateway's end of a board's BLE connection, by hand: noble, segments and plain frames. */
import {
  BLE_INFO,
  BLE_RX,
  BLE_SERVICE,
  BLE_TX,
  type BleInfo,
  decodeInfo,
} from '../../protocol/ble.js';
import { decodeMessage } from '../../protocol/codec.js';
import { plainFrame, readFrame, SEAL } from '../../protocol/frame.js';
import type { Message, MessageName, MessageOf } from '../../protocol/messages.js';
import { SegmentLink } from '../../protocol/segment-link.js';
import type { BoardClock } from '../types.js';
import { pick, type RawPeripheral } from './raw-central.js';

export interface RawBoardLink {
  readonly info: BleInfo;
  readonly link: SegmentLink;
  /** Plain messages of the board, as they came. */
  readonly got: Message[];
  /** Lengths of the notifications. */
  readonly packets: number[];
  readonly broken: string[];
  say(message: Message): void;
  last<N extends MessageName>(type: N): MessageOf<N> | undefined;
}

/** Connects, reads info, subscribes, and sizes segments on what the connection carries. */
export async function openBoard(
  peer: RawPeripheral,
  clock: BoardClock,
  rxWindow = 4_096,
): Promise<RawBoardLink> {
  await peer.connectAsync();
  const service = BLE_SERVICE.replaceAll('-', '');
  const { characteristics } = await peer.discoverSomeServicesAndCharacteristicsAsync([service], []);
  const rx = pick(characteristics, BLE_RX);
  const tx = pick(characteristics, BLE_TX);
  const info = decodeInfo(await pick(characteristics, BLE_INFO).readAsync());
  const got: Message[] = [];
  const packets: number[] = [];
  const broken: string[] = [];
  const link = new SegmentLink({
    clock,
    payload: (peer.mtu ?? 23) - 3,
    rxWindow,
    limit: 20_000,
    // noble keeps the order of writes that are under way; those at a lost link reject.
    sendPacket: (packet) => void rx.writeAsync(Buffer.from(packet), true).catch(() => undefined),
    message: (frame) => {
      const { seal, body } = readFrame(frame);
      if (seal === SEAL.plain) got.push(decodeMessage(body));
    },
    broken: (why) => void broken.push(why),
  });
  tx.on('data', (bytes: Buffer) => {
    packets.push(bytes.length);
    link.packet(Uint8Array.from(bytes));
  });
  peer.once('disconnect', () => link.close());
  await tx.subscribeAsync();
  return {
    info,
    link,
    got,
    packets,
    broken,
    say: (message) => void link.send(plainFrame(message)),
    last: <N extends MessageName>(type: N) =>
      got.findLast((message): message is MessageOf<N> & Message => message.type === type),
  };
}
