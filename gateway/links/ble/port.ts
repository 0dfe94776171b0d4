/**
 * What the BLE link needs of an adapter, and no more. An adapter (noble, in tests a fake) does
 * one thing per call and neither waits, repeats nor paces: deadlines, rediscovery, segments,
 * credits and reconnection stand above it, once (`central.ts`, `connection.ts`).
 *
 * UUIDs are lower case without hyphens where they are compared (`plainUuid`).
 */

/**
 * `absent`: there is no adapter; `unauthorized`: there is one that this process may not use;
 * `unknown`: it has not said yet.
 */
export type AdapterState = 'unknown' | 'absent' | 'unauthorized' | 'off' | 'on';

export interface Advertisement {
  /** The adapter's name for the peer; good for `connect` while the adapter lives. */
  readonly address: string;
  /** dBm; 127 where the adapter does not know. */
  readonly rssi: number;
  readonly name?: string;
  readonly services: readonly string[];
  readonly serviceData: readonly { uuid: string; data: Uint8Array }[];
  /** Company identifier included. */
  readonly manufacturerData?: Uint8Array;
  readonly connectable: boolean;
}

/** One connection. After `onClosed` has run every operation rejects, or never settles. */
export interface GattPeer {
  readonly address: string;
  onClosed(run: (reason: string) => void): void;
  /** Finds services and characteristics anew; must be called after each connect. */
  discover(service: string): Promise<void>;
  /** The ATT MTU in bytes; undefined before it is known. Read it after `discover`. */
  mtu(): number | undefined;
  /** Rejects with `BleError` `no_characteristic` where the peer has none of that UUID. */
  read(characteristic: string): Promise<Uint8Array>;
  write(characteristic: string, bytes: Uint8Array, withResponse: boolean): Promise<void>;
  subscribe(characteristic: string, run: (bytes: Uint8Array) => void): Promise<void>;
  /** `why` is for the log. */
  disconnect(why?: string): Promise<void>;
}

export interface BlePort {
  /** `abandonware`, `stoprocent`, `fake`: for health pages and `doctor`. */
  readonly name: string;
  readonly state: AdapterState;
  onState(run: (state: AdapterState) => void): void;
  /** Asks for everything, repeats included. Resolves when the adapter says that it scans. */
  startScan(): Promise<void>;
  stopScan(): Promise<void>;
  /** The adapter stopped by itself (some do when a link opens). */
  onScanStopped(run: () => void): void;
  onAdvertisement(run: (advertisement: Advertisement) => void): void;
  /** Only an address that was advertised since the adapter came up. */
  connect(address: string): Promise<GattPeer>;
  /** Gives up a `connect` that is under way; it rejects. */
  cancelConnect(address: string): void;
  /** Resets the adapter, where that is possible; a last means against a deaf one. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

export type BleErrorCode =
  /** No BLE library could be loaded; `message` says what to install. */
  | 'unavailable'
  | 'no_adapter'
  | 'unauthorized'
  | 'adapter_off'
  /** An operation did not end within its deadline. */
  | 'deadline'
  | 'disconnected'
  | 'no_service'
  | 'no_characteristic'
  /** The peer's side refused, or the library failed. */
  | 'failed'
  /** Every connection of the adapter is taken. */
  | 'no_slot'
  /** It advertised as a board and does not speak as one. */
  | 'not_a_board';

/** What went wrong with the radio; the message says what was not done and what to do. */
export class BleError extends Error {
  override readonly name = 'BleError';
  constructor(
    readonly code: BleErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** As libraries on either side write UUIDs: hyphens or none, either case. */
export function plainUuid(uuid: string): string {
  return uuid.toLowerCase().replaceAll('-', '');
}
