/** The whole system over a virtual radio, as `start --ble virtual` runs it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseBle } from './ble-options.js';
import { HubClient } from './client.js';
import { startStack } from './stack.js';
import type { Stack, StackOptions } from './stack-types.js';

let home: string;
let running: Stack | undefined;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'mote-ble-'));
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
  rmSync(home, { recursive: true });
});

async function start(more: Partial<StackOptions> = {}): Promise<Stack> {
  running = await startStack({
    home,
    hub: { host: '127.0.0.1', port: 0 },
    broker: undefined,
    sims: [
      { kind: 'eink', name: 'eink' },
      { kind: 'env', name: 'env' },
    ],
    ble: { adapter: 'virtual', unpaired: false },
    ...more,
  });
  return running;
}

async function stop(): Promise<void> {
  await running?.stop();
  running = undefined;
}

const ids = (stack: Stack): string[] =>
  stack
    .boards()
    .map(({ id }) => id)
    .sort();

describe('start --ble virtual', () => {
  it('pairs its simulated boards by their codes, and calls are answered over BLE', async () => {
    const stack = await start();
    expect(await stack.simsReady(15_000)).toBe(true);
    const hub = new HubClient({ url: stack.url, token: stack.token });
    const devices = await hub.devices();
    expect(devices.map(({ name }) => name).sort()).toEqual(['eink', 'env']);
    expect(stack.boards().map(({ via }) => via)).toEqual(['ble', 'ble']);
    const prompt = 'render_ui {"type":"kv","title":"Over the air","rows":{"in":"19:30"}}';
    const id = devices.find(({ name }) => name === 'eink')?.id ?? '';
    const call = {
      action: 'invoke',
      device_id: id,
      prompt,
      wait: true,
      timeout_ms: 10_000,
    } as const;
    const answer = await hub.useDevice(call);
    expect(answer).toMatchObject({ ok: true, result: { status: 'shown', type: 'kv' } });
  });

  it('hears boards of other makers and answers calls to them', async () => {
    const stack = await start({
      sims: [
        { kind: 'necklace', name: 'necklace' },
        { kind: 'bthome', name: 'bthome' },
      ],
    });
    expect(await stack.simsReady(15_000)).toBe(true);
    const hub = new HubClient({ url: stack.url, token: stack.token });
    for (const { id, name } of await hub.devices()) {
      const call = { action: 'invoke', device_id: id, prompt: 'status', wait: true } as const;
      const answer = await hub.useDevice({ ...call, timeout_ms: 10_000 });
      const result = name === 'bthome' ? { battery: 97 } : { wakes: 0 };
      expect(answer).toMatchObject({ ok: true, result });
    }
  });

  it('finds them again after a restart, with the keys they have', async () => {
    const first = await start();
    expect(await first.simsReady(15_000)).toBe(true);
    const before = ids(first);
    await stop();
    const again = await start();
    expect(await again.simsReady(15_000)).toBe(true);
    expect(ids(again)).toEqual(before);
  });

  it('leaves boards to a person and tells their codes', async () => {
    const stack = await start({ ble: { adapter: 'virtual', unpaired: true } });
    expect(stack.codes.map(({ name }) => name)).toEqual(['eink', 'env']);
    for (const { code } of stack.codes) expect(code).toMatch(/^MOTE1:/);
    expect(stack.boards()).toEqual([]);
  });

  it('takes no name that another board has', async () => {
    const first = await start({ sims: [] });
    await first.admin.ask({ op: 'add', name: 'env' });
    await stop();
    await expect(start()).rejects.toMatchObject({ code: 'name_taken' });
  });
});

describe('what start can be told about BLE', () => {
  it('takes an adapter of this machine or a virtual one', () => {
    expect(parseBle({})).toBeUndefined();
    expect(parseBle({ ble: 'virtual', unpaired: true })).toEqual({
      adapter: 'virtual',
      unpaired: true,
    });
    expect(parseBle({ ble: 'hci1', bleSlots: 3 })).toEqual({
      adapter: 1,
      unpaired: false,
      slots: 3,
    });
  });

  it.each([
    [{ ble: 'bluetooth' }, /hci0, or virtual/],
    [{ ble: 'hci0', unpaired: true }, /simulated boards/],
    [{ bleSlots: 2 }, /--ble-slots needs --ble/],
    [{ unpaired: true }, /--unpaired needs --ble/],
  ])('refuses %o in words', (flags, words) => {
    expect(() => parseBle(flags)).toThrow(words);
  });
});
