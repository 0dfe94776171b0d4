/**
 * A board as a BLE peripheral (frame.md "Links", "Segments"): it shows who it is, and speaks
 * frames in segments with whoever connects and asks for its notifications.
 */
import {
  BLE_INFO,
  BLE_RX,
  BLE_SERVICE,
  BLE_TX,
  encodeBeacon,
  encodeInfo,
  LEAST_MTU,
} from '../../protocol/ble.js';
import { type SegmentCounters, SegmentLink } from '../../protocol/segment-link.js';
import type { Transport, TransportOwner } from '../board.js';
import type { Peripheral } from '../radio/peripheral.js';
import type { BoardClock } from '../types.js';

export interface BleTransportOptions {
  peripheral: Peripheral;
  clock: BoardClock;
  /** From 0 up to, but not including, 1: jitter. */
  random: () => number;
  /** What people read in a list; asked for whenever it is shown. */
  name: string | (() => string);
  /** Bytes of segments that it takes in before it says CREDIT. Default 2,048. */
  rxWindow?: number;
  /** First pause before trying a peripheral again that does not start, in ms. Default 1,000. */
  backoffMs?: number;
  /** Why something failed or ended, for a log; it holds no secret. */
  onTrouble?(why: string): void;
}

export interface BleTransport extends Transport {
  /** The name has changed: it is shown anew. */
  renamed(): void;
  /** Of the present connection, undefined between connections. */
  readonly counters: Readonly<SegmentCounters> | undefined;
}

const BACKOFF_MAX_MS = 60_000;
/** What a seal and its first byte add to a message, with some to spare. */
const SEAL = 64;
/** A connection that the board leaves by itself waits so long for what is under way. */
const LEAVE_MS = 1_000;
const LEAVE_STEP_MS = 50;

export function bleTransport(options: BleTransportOptions): BleTransport {
  const { peripheral, clock, random, rxWindow = 2_048 } = options;
  const nameNow = (): string => (typeof options.name === 'string' ? options.name : options.name());
  /** A board that does not say has had its key from the beginning. */
  const paired = (): boolean => owner?.paired ?? true;
  let owner: TransportOwner | undefined;
  let link: SegmentLink | undefined;
  let timer: { cancel(): void } | undefined;
  let started = false;
  let asleep = false;
  /** What is advertised, or will be when the central has gone. */
  let shown: string | undefined;
  let payload = LEAST_MTU - 3;
  let connection = 0;
  let bootId = -1;
  let failures = 0;

  const service = {
    uuid: BLE_SERVICE,
    characteristics: [
      { uuid: BLE_RX, write: (bytes: Uint8Array) => link?.packet(bytes) },
      { uuid: BLE_TX, notify: true },
      { uuid: BLE_INFO, read: info },
    ],
  };

  function info(): Uint8Array {
    const boardId = owner?.boardId ?? '0000000000000000';
    return encodeInfo({ paired: paired(), boardId, att: payload, name: nameNow() });
  }

  function start(): void {
    if (!owner || started) return;
    timer?.cancel();
    const mine = owner;
    peripheral
      .start(service, { connected, payload: resized, subscribed, unsubscribed, disconnected })
      .then(() => {
        if (owner !== mine) return peripheral.stop();
        started = true;
        return show();
      })
      .catch((error: unknown) => {
        if (owner === mine) failed(error);
      });
  }

  function again(): void {
    const pause = Math.min(
      BACKOFF_MAX_MS,
      (options.backoffMs ?? 1_000) * 2 ** Math.min(failures++, 10),
    );
    timer?.cancel();
    timer = clock.after(Math.round(pause * (0.5 + random())), wake);
  }

  function wake(): void {
    if (started) refresh();
    else start();
  }

  async function show(): Promise<void> {
    if (!owner || !started || asleep) return;
    const name = nameNow();
    const now = `${paired()} ${name}`;
    if (now === shown) return;
    shown = now;
    await peripheral.advertise({
      name,
      services: [BLE_SERVICE],
      manufacturerData: encodeBeacon({ boardId: owner.boardId, paired: paired() }),
    });
  }

  function refresh(): void {
    show().catch(failed);
  }

  function failed(error: unknown): void {
    shown = undefined;
    options.onTrouble?.(error instanceof Error ? error.message : String(error));
    again();
  }

  function connected(): void {
    payload = LEAST_MTU - 3;
  }

  function resized(bytes: number): void {
    payload = bytes;
    link?.setPayload(bytes);
  }

  function subscribed(_: string, bytes: number): void {
    if (!owner) return;
    failures = 0;
    lost('the central subscribed anew');
    payload = bytes;
    if (owner.bootId !== bootId) {
      bootId = owner.bootId;
      connection = 0;
    }
    connection++;
    const mine = new SegmentLink({
      clock,
      payload,
      rxWindow,
      limit: owner.maxMessage + SEAL,
      sendPacket: (packet) => void peripheral.notify(BLE_TX, packet),
      message: (frame) => {
        if (link === mine) owner?.received(frame);
      },
      broken: (why) => drop(mine, why),
    });
    link = mine;
    owner.opened(
      {
        send: (frame) => void mine.send(frame),
        close: (why) => drop(mine, why),
        packets: { att: payload, rxWindow },
        peerWindow: (window) => mine.setWindow(window),
      },
      connection,
    );
  }

  function unsubscribed(): void {
    lost('the central wants no more notifications');
  }

  function disconnected(why: string): void {
    lost(why);
    // Name or pairing may have changed meanwhile.
    refresh();
  }

  /** The connection is over for the board, whoever ended it. */
  function lost(why: string): void {
    const mine = link;
    link = undefined;
    if (!mine) return;
    mine.close();
    options.onTrouble?.(why);
    owner?.closed(why);
  }

  function drop(mine: SegmentLink, why: string): void {
    if (link !== mine) return;
    lost(why);
    peripheral.disconnect();
  }

  /** What was said last (SLEEP) is acknowledged first, or given up after a while. */
  function leave(left: number, then: () => void): void {
    timer?.cancel();
    // Sealing is not done at once, so even an idle link is given a moment.
    timer = clock.after(LEAVE_STEP_MS, () => {
      if (link && !link.idle && left > 0) leave(left - LEAVE_STEP_MS, then);
      else then();
    });
  }

  return {
    start(of) {
      owner = of;
      start();
    },
    restart() {
      timer?.cancel();
      asleep = false;
      lost('the power failed');
      peripheral.disconnect();
      wake();
    },
    pause(ms) {
      const back = clock.now() + ms;
      asleep = true;
      leave(LEAVE_MS, () => {
        shown = undefined;
        peripheral.stopAdvertising().catch(() => undefined);
        lost('the board left');
        peripheral.disconnect();
        timer = clock.after(Math.max(0, back - clock.now()), () => {
          asleep = false;
          wake();
        });
      });
    },
    async stop() {
      timer?.cancel();
      lost('the board left');
      owner = undefined;
      asleep = false;
      if (!started) return;
      started = false;
      shown = undefined;
      await peripheral.stop();
    },
    pairingChanged: refresh,
    renamed: refresh,
    get counters() {
      return link?.counters;
    },
  };
}
