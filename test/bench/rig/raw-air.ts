/** The baseline: the same noble and bleno with nothing of ours between them. */
import { createAir } from '../../../device-sim/radio/air.js';
import { blenoPeripheral } from '../../../device-sim/radio/bleno-peripheral.js';
import { virtualBleno, virtualNoble } from '../../../device-sim/radio/wire.js';
import { noblePort } from '../../../gateway/links/ble/noble-port.js';
import type { NobleLike } from '../../../gateway/links/ble/noble-types.js';
import type { Advertisement } from '../../../gateway/links/ble/port.js';
import { BLE_RX, BLE_SERVICE, BLE_TX, encodeBeacon } from '../../../protocol/ble.js';
import { FORK } from './air.js';

const MTU = 247;
const VALUE = MTU - 3;

/** A peripheral that answers each write with its own bytes, or sends so many on request. */
export async function rawPair() {
  const air = createAir();
  const radio = virtualBleno(air, { name: 'raw' });
  const peripheral = blenoPeripheral({ bleno: radio.instance, maxMtu: MTU });
  const write = (bytes: Uint8Array): void => {
    const asked = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
    if (asked === 0) peripheral.notify(BLE_TX, bytes);
    for (let left = asked; left > 0; left -= VALUE) {
      peripheral.notify(BLE_TX, new Uint8Array(Math.min(left, VALUE)));
    }
  };
  const nothing = (): undefined => undefined;
  await peripheral.start(
    {
      uuid: BLE_SERVICE,
      characteristics: [
        { uuid: BLE_RX, write },
        { uuid: BLE_TX, notify: true },
      ],
    },
    { connected: nothing, disconnected: nothing, subscribed: nothing, unsubscribed: nothing },
  );
  const boardId = '00000000000000ff';
  await peripheral.advertise({
    name: 'raw',
    services: [BLE_SERVICE],
    manufacturerData: encodeBeacon({ boardId, paired: true }),
  });
  const central = virtualNoble(air, FORK, { name: 'central' });
  const port = noblePort(central.instance as unknown as NobleLike);
  const heard = new Promise<Advertisement>((done) => port.onAdvertisement(done));
  if (port.state !== 'on') {
    await new Promise<void>((done) => port.onState((state) => state === 'on' && done()));
  }
  await port.startScan();
  const { address } = await heard;
  await port.stopScan();
  const peer = await port.connect(address);
  await peer.discover(BLE_SERVICE);
  let got: (bytes: number) => void = nothing;
  await peer.subscribe(BLE_TX, (bytes) => got(bytes.length));

  const ask = (bytes: Uint8Array, expected: number): Promise<void> =>
    new Promise((done, fail) => {
      let left = expected;
      got = (count) => {
        left -= count;
        if (left <= 0) done();
      };
      peer.write(BLE_RX, bytes, false).catch(fail);
    });

  return {
    /** There and back, `size` bytes each way. */
    echo: (size: number) => ask(new Uint8Array(size), size),
    /** `size` bytes from the peripheral in notifications that fill the MTU. */
    notifications(size: number): Promise<void> {
      const asked = new Uint8Array(4);
      new DataView(asked.buffer).setUint32(0, size);
      return ask(asked, size);
    },
    async close(): Promise<void> {
      await peer.disconnect();
      await port.close();
      await peripheral.stop();
      radio.stop();
      central.stop();
    },
  };
}
