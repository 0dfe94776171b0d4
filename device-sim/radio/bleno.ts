/** What is used of `@stoprocent/bleno`, and how it is loaded: only when somebody asks for it. */
import { RadioUnavailable } from './unavailable.js';

export interface BlenoCharacteristicOptions {
  uuid: string;
  properties: string[];
  onReadRequest?(
    connection: number,
    offset: number,
    answer: (status: number, value?: Buffer) => void,
  ): void;
  onWriteRequest?(
    connection: number,
    value: Buffer,
    offset: number,
    withoutResponse: boolean,
    answer: (status: number) => void,
  ): void;
  onSubscribe?(connection: number, payload: number, update: (value: Buffer) => void): void;
  onUnsubscribe?(connection: number): void;
}

export interface Bleno {
  readonly state: string;
  readonly Characteristic: new (options: BlenoCharacteristicOptions) => object;
  readonly PrimaryService: new (options: { uuid: string; characteristics: object[] }) => object;
  on(event: 'stateChange', run: (state: string) => void): unknown;
  on(event: 'accept' | 'disconnect', run: (address: string, connection: number) => void): unknown;
  on(event: 'mtuChange', run: (mtu: number) => void): unknown;
  removeListener(event: string, run: (...args: never[]) => void): unknown;
  setServices(services: object[]): void;
  startAdvertisingWithEIRData(
    data: Buffer,
    scan: Buffer,
    started: (error?: Error | null) => void,
  ): void;
  stopAdvertising(): void;
  disconnect(connection?: number): void;
  stop(): void;
  /** Not of its public face; without it some things are left as they are. */
  readonly _bindings?: {
    readonly _gatt?: { maxMtu: number; updateName(name: string): void };
    readonly _hci?: { pollIsDevUp(): void };
  };
}

/** A new instance for the machine's adapter. @throws RadioUnavailable */
export async function loadBleno(): Promise<Bleno> {
  const name = '@stoprocent/bleno';
  try {
    const module: { default: { withBindings(): Bleno } } = await import(name);
    // One that was stopped can't be started again: it would hear everything twice.
    return module.default.withBindings();
  } catch (error) {
    throw new RadioUnavailable(
      `${name} could not be loaded, so no board shows itself over Bluetooth. Install it with: npm install --ignore-scripts ${name}`,
      { cause: error },
    );
  }
}
