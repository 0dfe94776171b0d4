import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import { loadNoble } from './noble-load.js';
import { noblePort } from './noble-port.js';
import type { NobleLike, NoblePeripheral } from './noble-types.js';
import { type Advertisement, BleError } from './port.js';

const SERVICE = '6d6f7465-6272-6964-6765-000000000001';
const RX = '6d6f7465-6272-6964-6765-000000000002';
const TX = '6d6f7465-6272-6964-6765-000000000003';
const ADDRESS = 'c0:00:00:00:00:01';

class Characteristic extends EventEmitter {
  readonly written: { data: Buffer; withoutResponse: boolean }[] = [];
  constructor(
    readonly uuid: string,
    readonly properties: string[],
  ) {
    super();
  }
  async readAsync() {
    this.emit('data', Buffer.from([9]), false);
    return Buffer.from([9]);
  }
  async writeAsync(data: Buffer, withoutResponse: boolean) {
    // As one fork reads it.
    data.readUInt8(0);
    this.written.push({ data, withoutResponse });
  }
  async subscribeAsync() {}
}

class Peripheral extends EventEmitter {
  readonly id: string;
  state = 'disconnected';
  mtu: number | null = 99;
  connectable: unknown = true;
  rssi = -50;
  advertisement = {
    localName: 'board' as string | undefined,
    serviceUuids: ['6d6f746562726964676500000000000001'],
    serviceData: [] as { uuid: string; data: Buffer }[],
    manufacturerData: undefined as Buffer | undefined,
  };
  readonly rx = new Characteristic(RX.replaceAll('-', ''), ['write', 'writeWithoutResponse']);
  readonly tx = new Characteristic(TX.replaceAll('-', ''), ['notify']);
  readonly calls: string[] = [];
  /** Answers to `discoverServicesAsync`; a promise that never settles where it is undefined. */
  services: string[] | undefined = [SERVICE.replaceAll('-', '')];
  constructor(readonly address: string) {
    super();
    this.id = address.replaceAll(':', '');
  }
  connect(options: unknown) {
    this.calls.push(`connect ${JSON.stringify(options)}`);
    this.state = 'connecting';
  }
  up() {
    this.state = 'connected';
    this.emit('connect', null);
  }
  down(reason: unknown = 8) {
    this.state = 'disconnected';
    this.emit('disconnect', reason);
  }
  cancelConnect() {
    this.calls.push('cancelConnect');
    this.emit('connect', new Error('connection canceled!'));
  }
  disconnect() {
    this.calls.push('disconnect');
    this.state = 'disconnecting';
  }
  discoverServicesAsync() {
    const { services } = this;
    if (!services) return new Promise<never>(() => {});
    const discoverCharacteristicsAsync = async () => [this.tx, this.rx];
    return Promise.resolve(services.map((uuid) => ({ uuid, discoverCharacteristicsAsync })));
  }
}

class FakeNoble extends EventEmitter {
  state = 'poweredOn';
  readonly calls: string[] = [];
  _peripherals: Record<string, unknown> = {};
  _bindings: Record<string, unknown> = {};
  startScanning() {
    this.calls.push('startScanning');
    // A raw socket echoes the library's own command to stop first.
    this.emit('scanStop');
    this.emit('scanStart');
  }
  stopScanning() {
    this.calls.push('stopScanning');
    this.emit('scanStop');
  }
  reset() {
    this.calls.push('reset');
  }
  turn(state: string) {
    this.state = state;
    this.emit('stateChange', state);
  }
}

function rig(noble = new FakeNoble()) {
  const counted: string[] = [];
  const port = noblePort(noble as unknown as NobleLike, { count: (name) => counted.push(name) });
  const heard: Advertisement[] = [];
  port.onAdvertisement((advertisement) => heard.push(advertisement));
  const hear = (peripheral: Peripheral): void => {
    noble._peripherals[peripheral.id] = peripheral;
    noble.emit('discover', peripheral as unknown as NoblePeripheral);
  };
  return { noble, port, counted, heard, hear };
}

async function connected() {
  const r = rig();
  const peripheral = new Peripheral(ADDRESS);
  r.hear(peripheral);
  const connecting = r.port.connect(ADDRESS);
  peripheral.up();
  const peer = await connecting;
  return { ...r, peripheral, peer };
}

const code = (error: unknown): string => (error instanceof BleError ? error.code : String(error));
const codeOf = (promise: Promise<unknown>): Promise<string> => promise.then(() => 'ok', code);

describe('a scan', () => {
  test('is told to have stopped only when it was running', async () => {
    const { noble, port } = rig();
    let stopped = 0;
    port.onScanStopped(() => stopped++);
    await port.startScan();
    expect(stopped).toBe(0);
    noble.emit('scanStop');
    expect(stopped).toBe(1);
    await port.startScan();
    await port.stopScan();
    expect(stopped).toBe(1);
  });

  test('is refused with the command that helps where this process may not', async () => {
    const { noble, port } = rig();
    noble.turn('unauthorized');
    await expect(port.startScan()).rejects.toThrow(/setcap cap_net_raw,cap_net_admin\+eip/);
    expect(port.state).toBe('unauthorized');
  });

  test('hands on copies, with short UUIDs in full and fields bounded', async () => {
    const { hear, heard } = rig();
    const sensor = new Peripheral(ADDRESS);
    const data = Buffer.from([1, 2]);
    sensor.advertisement.serviceUuids = ['180'];
    sensor.advertisement.serviceData = [{ uuid: 'fcd2', data }];
    sensor.advertisement.localName = 'x'.repeat(5_000);
    hear(sensor);
    data[0] = 7;
    expect(heard[0]).toMatchObject({ services: ['0180'], address: ADDRESS, connectable: true });
    expect(heard[0]?.serviceData[0]?.data).toEqual(Uint8Array.of(1, 2));
    expect(heard[0]?.name).toHaveLength(255);
  });

  test('of ten thousand made-up addresses leaves no more than a thousand behind', () => {
    const { noble, hear } = rig();
    for (let i = 0; i < 10_000; i++) {
      const tail = [i >> 8, i & 255].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
      hear(new Peripheral(`c0:00:00:00:${tail}`));
    }
    expect(Object.keys(noble._peripherals)).toHaveLength(1_024);
  });

  test('forgets a device that invents services without end', () => {
    const { noble, hear, counted } = rig();
    const liar = new Peripheral(ADDRESS);
    liar.advertisement.serviceUuids = Array.from({ length: 500 }, (_, i) => i.toString(16));
    hear(liar);
    expect(counted).toEqual(['overfull_advertisement']);
    expect(noble._peripherals).toEqual({});
  });
});

describe('a connection', () => {
  test('reads its MTU anew and never above what this fork asks for', async () => {
    const { peripheral, peer } = await connected();
    expect(peripheral.calls).toEqual(['connect {"mtu":517}']);
    expect(peer.mtu()).toBeUndefined();
    peripheral.mtu = 185;
    expect(peer.mtu()).toBe(185);
    peripheral.mtu = 517;
    expect(peer.mtu()).toBe(256);
  });

  test('of the fork that heeds the wish may have the whole MTU', async () => {
    const { port, hear } = rig(Object.assign(new FakeNoble(), { waitForPoweredOnAsync() {} }));
    const peripheral = new Peripheral(ADDRESS);
    hear(peripheral);
    const connecting = port.connect(ADDRESS);
    peripheral.up();
    peripheral.mtu = 517;
    expect((await connecting).mtu()).toBe(517);
    expect(port.name).toBe('stoprocent');
  });

  test('finds characteristics by UUID and property, in any order, and writes Buffers', async () => {
    const { peripheral, peer } = await connected();
    await peer.discover(SERVICE);
    await peer.write(RX, Uint8Array.of(1, 2), false);
    await peer.write(RX, Uint8Array.of(3), true);
    expect(peripheral.rx.written).toEqual([
      { data: Buffer.from([1, 2]), withoutResponse: true },
      { data: Buffer.from([3]), withoutResponse: false },
    ]);
    expect(await codeOf(peer.write(TX, Uint8Array.of(1), false))).toBe('no_characteristic');
    expect(await codeOf(peer.read(RX))).toBe('no_characteristic');
    peripheral.services = ['180f'];
    expect(await codeOf(peer.discover(SERVICE))).toBe('no_service');
  });

  test('tells notifications, not reads', async () => {
    const { peripheral, peer } = await connected();
    await peer.discover(SERVICE);
    const got: number[][] = [];
    await peer.subscribe(TX, (bytes) => got.push([...bytes]));
    peripheral.tx.emit('data', Buffer.from([1]), true);
    peripheral.tx.emit('data', Buffer.from([2]), false);
    expect(got).toEqual([[1]]);
    peripheral.down();
    peripheral.tx.emit('data', Buffer.from([3]), true);
    expect(got).toEqual([[1]]);
  });

  test('that is lost rejects what the library leaves pending, and all that comes after', async () => {
    const { peripheral, peer } = await connected();
    peripheral.services = undefined;
    const pending = codeOf(peer.discover(SERVICE));
    const reasons: string[] = [];
    peer.onClosed((reason) => reasons.push(reason));
    peripheral.down(8);
    expect(await pending).toBe('disconnected');
    expect(reasons).toEqual(['the radio link was lost']);
    expect(await codeOf(peer.write(RX, Uint8Array.of(1), false))).toBe('disconnected');
    await peer.disconnect();
  });

  test('that was given up and comes all the same is closed', async () => {
    const { port, hear, counted } = rig();
    const peripheral = new Peripheral(ADDRESS);
    hear(peripheral);
    const connecting = codeOf(port.connect(ADDRESS));
    port.cancelConnect(ADDRESS);
    expect(await connecting).toBe('failed');
    peripheral.up();
    expect(peripheral.calls.at(-1)).toBe('disconnect');
    expect(counted).toEqual(['late_connection']);
  });

  test('that the adapter has no room for says so', async () => {
    const { port, hear } = rig();
    const peripheral = new Peripheral(ADDRESS);
    hear(peripheral);
    const connecting = codeOf(port.connect(ADDRESS));
    peripheral.emit('connect', new Error('Connection Limit Exceeded (0x9)'));
    expect(await connecting).toBe('no_slot');
  });

  test('ends with its adapter, whether or not the library says so', async () => {
    const { noble, peer, port } = await connected();
    const reasons: string[] = [];
    peer.onClosed((reason) => reasons.push(reason));
    noble.turn('poweredOff');
    expect(reasons).toEqual(['the adapter went away']);
    expect(await codeOf(port.connect(ADDRESS))).toBe('adapter_off');
    noble.turn('poweredOn');
    // What was heard before belongs to an adapter that is gone.
    expect(await codeOf(port.connect(ADDRESS))).toBe('failed');
  });
});

test('a packet on which the library throws is dropped and counted', () => {
  const socket = new EventEmitter();
  const hci = {
    _socket: socket,
    onSocketData: (data: Buffer): void => void data.readInt8(0),
  };
  socket.on('data', (data: Buffer) => hci.onSocketData(data));
  const noble = Object.assign(new FakeNoble(), { _bindings: { _hci: hci } });
  const { counted } = rig(noble);
  expect(() => socket.emit('data', Buffer.alloc(0))).not.toThrow();
  expect(counted).toEqual(['bad_packet']);
});

describe('loading a library', () => {
  const missing = (name: string): never => {
    throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
  };
  const unbuilt = (): never => {
    const message =
      "Cannot find module '../build/Release/bluetooth_hci_socket.node'\nRequire stack";
    throw Object.assign(new Error(message), { code: 'MODULE_NOT_FOUND' });
  };

  test('takes the first fork, and the other where its native part is missing', () => {
    const noble = {};
    expect(loadNoble('auto', () => noble)).toEqual({ fork: 'abandonware', noble });
    const either = (name: string) => (name.startsWith('@abandonware') ? unbuilt() : noble);
    expect(loadNoble('auto', either)).toEqual({ fork: 'stoprocent', noble });
  });

  test('says what is missing and which command mends it', () => {
    expect(() => loadNoble('auto', missing)).toThrow(
      /npm install @abandonware\/noble@1\.9\.2-26.*npm install @stoprocent\/noble@2\.8\.0/,
    );
    expect(() => loadNoble('abandonware', unbuilt)).toThrow(
      /apt install build-essential python3 && npm rebuild @abandonware\/bluetooth-hci-socket/,
    );
  });
});
