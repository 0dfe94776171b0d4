/**
 * A sensor of another maker that only broadcasts (BTHome v2, `protocol/bthome.ts`): temperature,
 * humidity and its battery, in plain or under its bind key, and a button. Nothing connects to it.
 */
import {
  BTHOME_MIC_BYTES,
  BTHOME_UUID,
  bthomeInfo,
  bthomeNumber,
  sealBthome,
} from '../../protocol/bthome.js';
import { BUTTON_EVENTS } from '../../protocol/bthome-objects.js';
import { fromHex } from '../../protocol/identity.js';
import type { Ccm, CcmMaker } from '../../protocol/sealing.js';
import { webCcm } from '../../protocol/web-ccm.js';
import type { Peripheral } from '../radio/peripheral.js';
import type { BoardClock } from '../types.js';
import { Room } from './room.js';

/** Where a sensor keeps the counter of its encrypted packets; `save` is durable when it returns. */
export interface CounterStore {
  load(): number;
  save(counter: number): void;
}

export interface BthomeSensorOptions {
  peripheral: Peripheral;
  clock: BoardClock;
  /** From 0 up to, but not including, 1. */
  random: () => number;
  name: string;
  /** Seconds between what it measures; default 30. Between them the air repeats the last packet. */
  intervalS?: number;
  /** Encrypts what it says. */
  lock?: {
    /** 16 bytes. */
    bindKey: Uint8Array;
    /** Its own, as `c0:fe:ca:00:00:01`: it is part of what is sealed. */
    address: string;
    counter: CounterStore;
    /** Default Web Crypto's. */
    ccm?: CcmMaker;
  };
  /** Why something was not said, for a log. */
  onTrouble?(why: string): void;
}

export type BthomePress = 'press' | 'double_press' | 'long_press';

export interface BthomeSensor {
  /** Shows itself; rejects with RadioUnavailable. */
  start(): Promise<void>;
  /** Somebody presses its button: it says so until it measures again. */
  press(how?: BthomePress): Promise<void>;
  stop(): Promise<void>;
}

const ID = {
  packet: 0x00,
  battery: 0x01,
  temperature: 0x02,
  humidity: 0x03,
  button: 0x3a,
} as const;
/** The counter is kept once for so many packets; after a restart the rest of them is left out. */
const RESERVE = 1_000;
const SILENT = { connected() {}, disconnected() {}, subscribed() {}, unsubscribed() {} } as const;

type Encode = (objects: Uint8Array) => Uint8Array | Promise<Uint8Array>;

export function bthomeSensor(options: BthomeSensorOptions): BthomeSensor {
  const { peripheral, clock, random, name, intervalS = 30, lock } = options;
  const room = new Room({ clock, random, gatewayTime: () => undefined });
  const encode = lock ? locked(lock) : plain(random);
  let timer: { cancel(): void } | undefined;
  let running = false;
  /** Packets go out in the order in which they were asked for. */
  let turn: Promise<void> = Promise.resolve();

  function say(objects: Uint8Array): Promise<void> {
    const said = turn.then(async () => {
      const data = await encode(objects);
      if (!running) return;
      const serviceData = [{ uuid: BTHOME_UUID, data }];
      await peripheral.advertise({ name, services: [], serviceData });
    });
    turn = said.catch(() => undefined);
    return said;
  }

  function measure(): Promise<void> {
    timer?.cancel();
    timer = clock.after(intervalS * 1_000, () => {
      measure().catch((error: unknown) => {
        options.onTrouble?.(error instanceof Error ? error.message : String(error));
      });
    });
    const parts = [
      bthomeNumber(ID.battery, room.battery()),
      bthomeNumber(ID.temperature, room.temperature()),
      bthomeNumber(ID.humidity, room.humidity()),
    ];
    return say(Uint8Array.from(parts.flatMap((part) => [...part])));
  }

  return {
    async start() {
      if (running) return;
      await peripheral.start(undefined, SILENT);
      running = true;
      await measure();
    },
    async press(how = 'press') {
      const code = Object.entries(BUTTON_EVENTS).find(([, event]) => event === how)?.[0];
      if (running) await say(Uint8Array.of(ID.button, Number(code)));
    },
    async stop() {
      if (!running) return;
      running = false;
      timer?.cancel();
      await turn;
      await peripheral.stop();
    },
  };
}

/** The packet id goes first: objects stand in the order of their ids. */
function plain(random: () => number): Encode {
  let packet = Math.floor(random() * 256);
  return (objects) => {
    packet = (packet + 1) & 0xff;
    return Uint8Array.of(bthomeInfo(), ID.packet, packet, ...objects);
  };
}

function locked(lock: NonNullable<BthomeSensorOptions['lock']>): Encode {
  const { bindKey, counter, ccm: make = webCcm } = lock;
  const address = fromHex(lock.address.replaceAll(':', ''));
  let next = counter.load();
  let reserved = next;
  let ccm: Promise<Ccm> | undefined;
  return async (objects) => {
    if (next >= reserved) {
      reserved = next + RESERVE;
      counter.save(reserved);
    }
    ccm ??= make(bindKey, BTHOME_MIC_BYTES);
    return sealBthome(await ccm, address, next++, objects);
  };
}
