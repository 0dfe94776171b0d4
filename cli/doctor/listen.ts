/** Listens for advertisements with the machine's adapter and says as a line of JSON what it heard. */
import { loadNoble } from '../../gateway/links/ble/noble-load.js';
import { noblePort } from '../../gateway/links/ble/noble-port.js';
import { nodeClock } from '../../gateway/node/clock.js';
import { type Hearing, hearing } from './radio.js';

const heard = await listen();
process.stdout.write(`${JSON.stringify(heard)}\n`, () => process.exit(0));

async function listen(): Promise<Hearing> {
  try {
    return await hearing(noblePort(loadNoble().noble), nodeClock());
  } catch (error) {
    const trouble = error instanceof Error ? error.message : 'the library failed';
    return { state: 'unknown', heard: 0, trouble };
  }
}
