/** Whole gateways on one virtual air, and boards that no gateway's process plays. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { createAir } from '../device-sim/radio/air.js';
import { nodeClock } from '../gateway/node/clock.js';
import { type BleSims, startBleSims } from './ble-sims.js';
import { startControl } from './control.js';
import { writeCredentials } from './home.js';
import { testIo } from './hub.fixture.js';
import { run } from './run.js';
import { startStack } from './stack.js';
import type { Stack, StackOptions } from './stack-types.js';

const homes: string[] = [];
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  air.rule = undefined;
  for (const end of ends.splice(0).reverse()) await end();
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
});

const clock = nodeClock();
export const air = createAir({ clock });

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'mote-air-'));
  homes.push(made);
  return made;
}

/** An environment sensor; its set-up code, and what takes its battery out. */
export async function boardOnAir(name: string): Promise<{ code: string; end(): Promise<void> }> {
  const sims: BleSims = await startBleSims({
    air,
    folder: folder(),
    choices: [{ kind: 'env', name }],
    clock,
    log: () => undefined,
  });
  ends.push(() => sims.stop());
  return { code: sims.own[0]?.setupCode ?? '', end: () => sims.stop() };
}

/** A gateway, and `motebridge … --json` beside it. */
export async function gatewayOn(more: Partial<StackOptions> = {}) {
  const home = folder();
  const stack = await startStack({
    home,
    hub: { host: '127.0.0.1', port: 0 },
    broker: undefined,
    sims: [],
    ble: { adapter: 'virtual', unpaired: false },
    between: { air },
    ...more,
  });
  ends.push(() => stack.stop());
  return { stack, states: () => states(stack), motebridge: await commandOf(home, stack) };
}

/** The presence of each of its boards. */
const states = (stack: Stack): string[] => stack.boards().map(({ presence }) => presence.state);

async function commandOf(home: string, stack: Stack) {
  const { admin: boards, owners, pairing, url, token } = stack;
  const control = await startControl({ boards, owners, pairing });
  ends.push(() => control.close());
  writeCredentials(home, { url, token, control: { url: control.url, token: control.token } });
  return async (...argv: string[]) => {
    const io = testIo();
    const code = await run([...argv, '--home', home, '--json'], io);
    return { code, answer: JSON.parse(io.out()) };
  };
}
