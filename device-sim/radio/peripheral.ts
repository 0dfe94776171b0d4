/**
 * What a simulated board needs of a BLE peripheral: to be seen, to be connected to, and one
 * service. `bleno-peripheral.ts` is one over `@stoprocent/bleno`, on a real adapter or on the
 * virtual controller.
 */

export interface PeripheralCharacteristic {
  readonly uuid: string;
  readonly read?: () => Uint8Array;
  /** A write, with or without response; what it throws is answered as an ATT error. */
  readonly write?: (bytes: Uint8Array) => void;
  readonly notify?: boolean;
}

export interface PeripheralAdvertising {
  /** Goes into the scan response. */
  readonly name: string;
  readonly services: readonly string[];
  /** Company identifier included. */
  readonly manufacturerData?: Uint8Array;
  readonly serviceData?: readonly { uuid: string; data: Uint8Array }[];
}

export interface PeripheralEvents {
  connected(central: string): void;
  /** The ATT payload in bytes has changed; 20 until then. */
  payload?(bytes: number): void;
  /** Everything of the connection is void: subscriptions too. */
  disconnected(reason: string): void;
  /** The central asked for notifications; `payload` is the ATT payload in bytes (MTU − 3). */
  subscribed(characteristic: string, payload: number): void;
  unsubscribed(characteristic: string): void;
}

export interface Peripheral {
  /** Comes up with its service; rejects where there is no adapter. */
  start(
    service: { uuid: string; characteristics: readonly PeripheralCharacteristic[] } | undefined,
    events: PeripheralEvents,
  ): Promise<void>;
  /** Starts, or changes what is advertised. Stops by itself while a central is connected. */
  advertise(what: PeripheralAdvertising): Promise<void>;
  stopAdvertising(): Promise<void>;
  /** At most `payload` bytes; false if nobody is subscribed. Never paced: credits do that. */
  notify(characteristic: string, bytes: Uint8Array): boolean;
  disconnect(): void;
  stop(): Promise<void>;
}
