/**
 * A necklace of tiny's (wire part B1, `protocol/necklace.ts`) as a peripheral: it hears its word
 * now and then, says so, tells its status, and takes an identity.
 */
import {
  encodeNecklaceBeacon,
  NECKLACE_CONFIG,
  NECKLACE_MAX_IDENTITY,
  NECKLACE_SERVICE,
  NECKLACE_STATUS,
  NECKLACE_WAKE,
  type NecklaceKind,
} from '../../protocol/necklace.js';
import type { Peripheral, PeripheralEvents } from '../radio/peripheral.js';
import type { BoardClock } from '../types.js';
import { IdentityWriter, type NecklaceFlash } from './necklace-identity.js';

export interface NecklaceOptions {
  peripheral: Peripheral;
  clock: BoardClock;
  /** From 0 up to, but not including, 1. */
  random: () => number;
  name: string;
  store: NecklaceFlash;
  /** Default `voice`. */
  kind?: NecklaceKind;
  /** Seconds from one word to the next, on average; 0: it hears none by itself. Default 60. */
  wakeS?: number;
  /** Why something was not said, for a log. */
  onTrouble?(why: string): void;
}

export interface SimNecklace {
  /** It has all of its identity. */
  readonly provisioned: boolean;
  /** Boots and shows itself; rejects with RadioUnavailable. */
  start(): Promise<void>;
  /** Somebody says its word. While its microphone is off it hears nothing. */
  hear(label?: string): void;
  microphone(on: boolean): void;
  /** It forgets its identity and boots anew. */
  factoryReset(): void;
  stop(): Promise<void>;
}

/** It says its verdict, and boots anew this long after. */
const REBOOT_MS = 1_000;
const LEAST_PAYLOAD = 20;

export function simNecklace(options: NecklaceOptions): SimNecklace {
  const { peripheral, clock, random, name, store, kind = 'voice', wakeS = 60 } = options;
  let running = false;
  let bootedAt = 0;
  let wakes = 0;
  let lastLabel = '';
  let microphoneOn = true;
  let payload = LEAST_PAYLOAD;
  let waking: { cancel(): void } | undefined;
  let rebooting: { cancel(): void } | undefined;
  const writer = new IdentityWriter({ kind, store, most: NECKLACE_MAX_IDENTITY[kind] });

  const events: PeripheralEvents = {
    connected() {
      payload = LEAST_PAYLOAD;
    },
    payload(bytes) {
      payload = bytes;
    },
    subscribed(_, bytes) {
      payload = bytes;
    },
    unsubscribed() {},
    disconnected() {
      writer.reset();
    },
  };
  const service = {
    uuid: NECKLACE_SERVICE,
    characteristics: [
      { uuid: NECKLACE_CONFIG, notify: true, write: written },
      { uuid: NECKLACE_WAKE, notify: true },
      { uuid: NECKLACE_STATUS, notify: true, read: () => line(status()) },
    ],
  };

  function status() {
    const up = Math.floor((clock.now() - bootedAt) / 1_000);
    return { ndp: true, mic: microphoneOn, w: wakes, l: lastLabel, up };
  }

  /** In as many notifications as it takes. */
  function tell(characteristic: string, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += payload) {
      peripheral.notify(characteristic, bytes.subarray(at, at + payload));
    }
  }

  function written(bytes: Uint8Array): void {
    // As the boards do: whatever is written comes back before any verdict.
    tell(NECKLACE_CONFIG, bytes);
    for (const verdict of writer.push(bytes)) {
      tell(NECKLACE_CONFIG, line(verdict));
      if (verdict.ok && verdict.complete) rebootSoon();
    }
  }

  function rebootSoon(): void {
    rebooting?.cancel();
    rebooting = clock.after(REBOOT_MS, reboot);
  }

  function reboot(): void {
    peripheral.disconnect();
    boot();
    show().catch((error: unknown) => {
      options.onTrouble?.(error instanceof Error ? error.message : String(error));
    });
  }

  function boot(): void {
    rebooting?.cancel();
    writer.reset();
    bootedAt = clock.now();
    wakes = 0;
    lastLabel = '';
    wakeLater();
  }

  function show(): Promise<void> {
    return peripheral.advertise({
      name,
      services: [NECKLACE_SERVICE],
      manufacturerData: encodeNecklaceBeacon(kind, writer.complete),
    });
  }

  function wakeLater(): void {
    waking?.cancel();
    if (wakeS <= 0) return;
    waking = clock.after(Math.round(wakeS * 1_000 * (0.5 + random())), () => {
      hear('alexa');
      wakeLater();
    });
  }

  function hear(label: string): void {
    if (!running || !microphoneOn) return;
    wakes++;
    lastLabel = label;
    tell(NECKLACE_WAKE, line({ wake: wakes, label }));
    tell(NECKLACE_STATUS, line(status()));
  }

  return {
    get provisioned() {
      return writer.complete;
    },
    async start() {
      if (running) return;
      await peripheral.start(service, events);
      running = true;
      boot();
      await show();
    },
    hear: (label = 'alexa') => hear(label),
    microphone(on) {
      microphoneOn = on;
      if (running) tell(NECKLACE_STATUS, line(status()));
    },
    factoryReset() {
      store.save({});
      if (running) reboot();
    },
    async stop() {
      if (!running) return;
      running = false;
      waking?.cancel();
      rebooting?.cancel();
      await peripheral.stop();
    },
  };
}

export type { NecklaceFlash };

function line(object: object): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(object)}\n`);
}
