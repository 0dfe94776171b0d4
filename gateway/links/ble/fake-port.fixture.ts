/** An adapter for tests: devices that do what a test says, steps that hang or fail on demand. */
import {
  BLE_INFO,
  BLE_RX,
  BLE_SERVICE,
  BLE_TX,
  encodeBeacon,
  encodeInfo,
} from '../../../protocol/ble.js';
import { SegmentLink } from '../../../protocol/segment-link.js';
import type { Clock } from '../../core/types.js';
import {
  type AdapterState,
  type Advertisement,
  BleError,
  type BlePort,
  type GattPeer,
  plainUuid,
} from './port.js';

export type Step = 'connect' | 'discover' | 'read' | 'write' | 'subscribe' | 'disconnect';
export type PortStep = Step | 'startScan' | 'stopScan' | 'reset';

const never = <T>(): Promise<T> => new Promise<T>(() => {});

export class FakePeer implements GattPeer {
  readonly device: FakeDevice;
  closed = false;
  readonly #closers: ((reason: string) => void)[] = [];
  #notify: ((bytes: Uint8Array) => void) | undefined;

  constructor(device: FakeDevice) {
    this.device = device;
  }

  get address(): string {
    return this.device.address;
  }

  onClosed(run: (reason: string) => void): void {
    this.#closers.push(run);
  }

  mtu(): number | undefined {
    return this.device.mtu;
  }

  discover(service: string): Promise<void> {
    return this.#step('discover', () => {
      if (!this.device.services.includes(plainUuid(service))) {
        throw new BleError('no_service', 'no such service');
      }
    });
  }

  read(uuid: string): Promise<Uint8Array> {
    return this.#step('read', () => {
      const value = this.device.values.get(uuid);
      if (!value) throw new BleError('no_characteristic', 'no such characteristic');
      return value;
    });
  }

  write(uuid: string, bytes: Uint8Array, withResponse: boolean): Promise<void> {
    return this.#step('write', () => {
      this.device.writes.push({ uuid, bytes: bytes.slice(), withResponse });
      this.device.onWrite(bytes.slice());
    });
  }

  subscribe(_uuid: string, run: (bytes: Uint8Array) => void): Promise<void> {
    return this.#step('subscribe', () => {
      this.#notify = run;
      this.device.onSubscribed();
    });
  }

  disconnect(): Promise<void> {
    if (this.device.hangs.has('disconnect')) return never();
    this.end('closed from this side');
    return Promise.resolve();
  }

  end(reason: string): void {
    if (this.closed) return;
    this.closed = true;
    this.device.peers.delete(this);
    for (const run of this.#closers) run(reason);
    this.device.onClosed();
  }

  /** Delivered even when closed: adapters do. */
  notify(bytes: Uint8Array): void {
    this.#notify?.(bytes);
  }

  #step<T>(step: Step, run: () => T): Promise<T> {
    this.device.steps.push(step);
    if (this.device.loseAt === step) {
      this.end('the radio link was lost');
      return this.device.settlesWhenLost
        ? Promise.reject(new BleError('disconnected', 'lost'))
        : never();
    }
    if (this.device.hangs.has(step) || this.closed) return never();
    const error = this.device.fails.get(step);
    return error ? Promise.reject(error) : Promise.resolve().then(run);
  }
}

export class FakeDevice {
  readonly peers = new Set<FakePeer>();
  readonly hangs = new Set<Step>();
  readonly fails = new Map<Step, Error>();
  readonly values = new Map<string, Uint8Array>();
  readonly steps: Step[] = [];
  readonly writes: { uuid: string; bytes: Uint8Array; withResponse: boolean }[] = [];
  services = [plainUuid(BLE_SERVICE)];
  mtu: number | undefined = 247;
  /** The link is lost when this step begins. */
  loseAt: Step | undefined;
  settlesWhenLost = false;
  connects = 0;
  onWrite: (bytes: Uint8Array) => void = () => {};
  onSubscribed: () => void = () => {};
  onClosed: () => void = () => {};

  constructor(
    readonly address: string,
    public advertisement: Advertisement,
  ) {}

  get peer(): FakePeer | undefined {
    return [...this.peers].at(-1);
  }

  notify(bytes: Uint8Array): void {
    this.peer?.notify(bytes);
  }
}

export class FakePort implements BlePort {
  readonly name = 'fake';
  state: AdapterState;
  scanning = false;
  /** As some adapters do when a link opens. */
  stopsScanOnConnect = false;
  /** The radio hears nothing, and says nothing of it. */
  deaf = false;
  /** Connections that the adapter carries. */
  room = Number.POSITIVE_INFINITY;
  readonly calls: string[] = [];
  readonly hangs = new Set<PortStep>();
  readonly devices = new Map<string, FakeDevice>();
  onReset: () => void = () => {};
  #state: ((state: AdapterState) => void)[] = [];
  #stopped: (() => void)[] = [];
  #heard: ((advertisement: Advertisement) => void)[] = [];
  readonly #pending = new Map<string, (error: Error) => void>();

  constructor(state: AdapterState = 'on') {
    this.state = state;
  }

  get links(): number {
    return [...this.devices.values()].reduce((sum, device) => sum + device.peers.size, 0);
  }

  /** The adapter changes, and with it goes all that it carried. */
  turn(state: AdapterState, telling = true): void {
    this.state = state;
    if (state !== 'on') {
      this.scanning = false;
      for (const device of this.devices.values()) {
        for (const peer of [...device.peers]) {
          if (telling) peer.end('the adapter went away');
          else device.peers.delete(peer);
        }
      }
    }
    for (const run of this.#state) run(state);
  }

  stopScanByItself(): void {
    this.scanning = false;
    for (const run of this.#stopped) run();
  }

  /** Every device advertises once; heard only while scanning. */
  advertise(...devices: FakeDevice[]): void {
    for (const device of devices) this.devices.set(device.address, device);
    for (const device of devices.length > 0 ? devices : this.devices.values()) {
      if (!this.scanning || this.deaf || device.peers.size > 0) continue;
      for (const run of this.#heard) run(device.advertisement);
    }
  }

  onState(run: (state: AdapterState) => void): void {
    this.#state.push(run);
  }
  onScanStopped(run: () => void): void {
    this.#stopped.push(run);
  }
  onAdvertisement(run: (advertisement: Advertisement) => void): void {
    this.#heard.push(run);
  }

  async startScan(): Promise<void> {
    this.calls.push('startScan');
    if (this.hangs.has('startScan')) return never();
    this.scanning = true;
  }

  async stopScan(): Promise<void> {
    this.calls.push('stopScan');
    if (this.hangs.has('stopScan')) return never();
    this.scanning = false;
  }

  async connect(address: string): Promise<GattPeer> {
    this.calls.push(`connect ${address}`);
    const device = this.devices.get(address);
    if (!device) throw new BleError('failed', 'never heard of it');
    device.connects++;
    if (this.links >= this.room) throw new BleError('no_slot', 'Connection Limit Exceeded (0x9)');
    if (this.hangs.has('connect') || device.hangs.has('connect')) {
      return new Promise((_, reject) => this.#pending.set(address, reject));
    }
    const error = device.fails.get('connect');
    if (error) throw error;
    if (this.stopsScanOnConnect && this.scanning) this.stopScanByItself();
    const peer = new FakePeer(device);
    device.peers.add(peer);
    return peer;
  }

  cancelConnect(address: string): void {
    this.calls.push(`cancelConnect ${address}`);
    this.#pending.get(address)?.(new BleError('failed', 'given up'));
    this.#pending.delete(address);
  }

  async reset(): Promise<void> {
    this.calls.push('reset');
    if (this.hangs.has('reset')) return never();
    this.scanning = false;
    this.onReset();
  }

  async close(): Promise<void> {
    this.calls.push('close');
  }
}

export function addressOf(n: number): string {
  return `c0:00:00:00:${[n >> 8, n & 255].map((b) => b.toString(16).padStart(2, '0')).join(':')}`;
}

/** A board of ours as a device: what it got as whole frames, and frames that it sends. */
export class FakeMote extends FakeDevice {
  readonly frames: Uint8Array[] = [];
  segments: SegmentLink | undefined;

  constructor(
    clock: Clock,
    readonly boardId: string,
    address: string,
    {
      att = 244,
      name = 'lamp',
      paired = true,
    }: { att?: number; name?: string; paired?: boolean } = {},
  ) {
    super(address, {
      address,
      rssi: -60,
      name,
      services: [plainUuid(BLE_SERVICE)],
      serviceData: [],
      manufacturerData: encodeBeacon({ boardId, paired }),
      connectable: true,
    });
    this.values.set(BLE_INFO, encodeInfo({ paired, boardId, att, name }));
    this.onSubscribed = () => {
      this.segments = new SegmentLink({
        clock,
        sendPacket: (packet) => this.notify(packet),
        message: (frame) => this.frames.push(frame),
        broken: () => this.peer?.end('the board gave the link up'),
        payload: Math.min(att, (this.mtu ?? 23) - 3),
        rxWindow: 2_048,
        limit: 4_096,
      });
    };
    this.onWrite = (packet) => this.segments?.packet(packet);
    this.onClosed = () => this.segments?.close();
  }

  send(frame: Uint8Array): void {
    this.segments?.send(frame);
  }
}

export const MOTE_UUIDS = { rx: BLE_RX, tx: BLE_TX };
