/**
 * What both forks of noble have in common, as far as we use it: `@abandonware/noble` 1.9.2 and
 * `@stoprocent/noble` 2.8.0. Optional at install, so these are our own declarations.
 */

export interface NobleCharacteristic {
  readonly uuid: string;
  readonly properties: readonly string[];
  readAsync(): Promise<Uint8Array>;
  /** `data` must be a Buffer: one fork reads it by Buffer's methods. */
  writeAsync(data: Buffer, withoutResponse: boolean): Promise<unknown>;
  subscribeAsync(): Promise<unknown>;
  /** Fires for reads too; only notifications say `true`. */
  on(event: 'data', run: (data: Uint8Array, isNotification?: boolean) => void): unknown;
}

export interface NobleService {
  readonly uuid: string;
  discoverCharacteristicsAsync(uuids: string[]): Promise<NobleCharacteristic[]>;
}

export interface NobleAdvertisement {
  readonly localName?: string | undefined;
  readonly manufacturerData?: Uint8Array | undefined;
  readonly serviceUuids?: readonly string[] | undefined;
  readonly serviceData?: readonly { uuid: string; data: Uint8Array }[] | undefined;
}

export interface NoblePeripheral {
  readonly id: string;
  readonly address: string;
  readonly connectable: unknown;
  readonly rssi: number;
  readonly state: string;
  readonly advertisement: NobleAdvertisement;
  /** Null until the exchange after connecting, and stale after a reconnection. */
  mtu: number | null;
  /** `mtu` is heeded by one fork only; the other asks for 256 whatever it is told. */
  connect(options: { mtu: number }): void;
  cancelConnect(): void;
  disconnect(): void;
  discoverServicesAsync(uuids: string[]): Promise<NobleService[]>;
  on(event: 'connect', run: (error?: unknown) => void): unknown;
  on(event: 'disconnect', run: (reason?: unknown) => void): unknown;
}

export interface NobleLike {
  /** Reading it starts the library. */
  readonly state: string;
  startScanning(services: string[], allowDuplicates: boolean): void;
  stopScanning(): void;
  reset?(): void;
  stop?(): void;
  on(event: 'stateChange', run: (state: string) => void): unknown;
  on(event: 'scanStart' | 'scanStop', run: () => void): unknown;
  on(event: 'discover', run: (peripheral: NoblePeripheral) => void): unknown;
  on(event: 'warning', run: (message: string) => void): unknown;
  removeAllListeners(event: 'warning'): unknown;
}
