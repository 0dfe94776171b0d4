/** A board that changes its gateway, with two whole gateways, the hub of one, and one air. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { createAir } from '../device-sim/radio/air.js';
import { nodeClock } from '../gateway/node/clock.js';
import { startBleSims } from './ble-sims.js';
import { HubClient } from './client.js';
import { type ControlServer, startControl } from './control.js';
import { writeCredentials } from './home.js';
import { testIo } from './hub.fixture.js';
import { run } from './run.js';
import { startStack } from './stack.js';
import type { Stack, StackOptions } from './stack-types.js';

const homes: string[] = [];
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
});

const clock = nodeClock();
const air = createAir({ clock });

/** A board that no gateway's process plays; answers its set-up code. */
async function boardOnAir(name: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'mote-handover-board-'));
  homes.push(folder);
  const sims = await startBleSims({
    air,
    folder,
    choices: [{ kind: 'env', name }],
    clock,
    log: () => undefined,
  });
  ends.push(() => sims.stop());
  return sims.own[0]?.setupCode ?? '';
}

async function gatewayOn(more: Partial<StackOptions>) {
  const home = mkdtempSync(join(tmpdir(), 'mote-handover-'));
  homes.push(home);
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
  return { stack, motebridge: await commandOf(home, stack) };
}

/** `motebridge … --home <this one> --json`. */
async function commandOf(home: string, stack: Stack) {
  const { admin: boards, owners, pairing, url, token } = stack;
  const control: ControlServer = await startControl({ boards, owners, pairing });
  ends.push(() => control.close());
  writeCredentials(home, { url, token, control: { url: control.url, token: control.token } });
  return async (...argv: string[]) => {
    const io = testIo();
    const code = await run([...argv, '--home', home, '--json'], io);
    return { code, answer: JSON.parse(io.out()) };
  };
}

const via = ({ stack }: { stack: Stack }) => stack.boards().map(({ presence }) => presence.state);

it('boards adopt brings a board here, the hub’s device with it, and its old gateway lets go', {
  timeout: 60_000,
}, async () => {
  const code = await boardOnAir('air');
  const kitchen = await gatewayOn({});
  expect(await kitchen.motebridge('pair', code)).toMatchObject({ code: 0 });
  const hub = new HubClient({ url: kitchen.stack.url, token: kitchen.stack.token });
  await expect
    .poll(() => hub.devices(), { timeout: 10_000 })
    .toMatchObject([{ name: 'air', online: true }]);
  const [before] = await hub.devices();

  const hall = await gatewayOn({ hub: { url: kitchen.stack.url, token: kitchen.stack.token } });
  await expect
    .poll(() => hall.motebridge('boards', 'adopt', 'nothing'), { timeout: 10_000 })
    .toMatchObject({
      code: 4,
      answer: { error: { code: 'no_such_device' } },
    });
  const id = kitchen.stack.boards()[0]?.id;
  expect(await hall.motebridge('boards', 'adopt', 'air')).toEqual({
    code: 0,
    answer: { ok: true, id, name: 'air', addedAt: expect.any(Number), pairedVia: 'ble' },
  });
  await expect.poll(() => via(hall), { timeout: 20_000 }).toEqual(['online']);
  await expect.poll(() => via(kitchen), { timeout: 10_000 }).toEqual([]);
  expect((await kitchen.motebridge('boards', 'list')).answer).toEqual([]);

  await expect
    .poll(() => hub.devices(), { timeout: 10_000 })
    .toMatchObject([{ ...before, last_seen: expect.any(Number) }]);
  const asked = { action: 'invoke', device_id: before?.id ?? '', prompt: 'status {}' } as const;
  expect(await hub.useDevice({ ...asked, wait: true, timeout_ms: 10_000 })).toMatchObject({
    ok: true,
  });

  // Asking again changes nothing.
  expect(await hall.motebridge('boards', 'adopt', 'air')).toMatchObject({ code: 4 });
  expect(via(hall)).toEqual(['online']);
});
