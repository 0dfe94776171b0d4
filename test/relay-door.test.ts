/** The relay door against the real hub, over real sockets, with a switchboard written by hand. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { memoryJournal } from '../gateway/core/memory-journal.js';
import type { BlobRef, Outcome } from '../gateway/core/types.js';
import { createRelayDoor, type RelayDoor } from '../gateway/doors/relay/index.js';
import { A, FakeSwitchboard } from '../gateway/doors/relay/world.fixture.js';
import { nodeClock } from '../gateway/node/clock.js';
import { createHub, type Hub } from '../hub/index.js';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

const clock = nodeClock();
const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  const end = performance.now() + 10_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('it did not come to pass within 10 s');
    await new Promise((resolve) => clock.after(5, () => resolve(undefined)));
  }
};

async function stack(tinyOnly: boolean) {
  const home = mkdtempSync(join(tmpdir(), 'relay-'));
  cleanups.push(() => rmSync(home, { recursive: true, force: true }));
  let hub: Hub = await createHub({ home, tinyOnly });
  cleanups.push(() => hub.close());
  const { url, port } = await hub.listen({ port: 0 });
  const owner = await hub.bootstrap('ann');
  if (!owner) throw new Error('no owner');
  const journal = memoryJournal();
  const switchboard = new FakeSwitchboard(journal, clock);
  switchboard.set(A, 'online');
  const door: RelayDoor = createRelayDoor({
    switchboard,
    journal,
    blobs: { read: async () => new Uint8Array([1, 2, 3]) },
    hub: { url, ownerToken: owner.token },
    clock,
    random: Math.random,
  });
  cleanups.push(() => {
    door.stop();
    switchboard.stop();
  });
  door.start();
  await until(() => door.state().boards === 1 && door.state().connected);
  return {
    door,
    switchboard,
    journal,
    invoke: (prompt: string, more: object = {}) =>
      hub.useDevice(owner.ownerId, {
        action: 'invoke',
        device_id: 'board aa',
        prompt,
        timeout_ms: 8_000,
        ...more,
      }),
    result: (envelope_id: string) =>
      hub.useDevice(owner.ownerId, { action: 'result', envelope_id }),
    list: () => hub.useDevice(owner.ownerId, { action: 'list' }),
    async restartHub(whileDown: () => void = () => undefined): Promise<void> {
      await hub.close();
      whileDown();
      hub = await createHub({ home, tinyOnly });
      await hub.listen({ port });
    },
  };
}

const ran = (switchboard: FakeSwitchboard): Promise<void> =>
  until(() => switchboard.released.length > 0);

test('a prompt reaches a board of our own hub and its picture comes back', async () => {
  const { invoke, switchboard, door } = await stack(false);
  expect(door.state().mode).toBe('push');
  const answer = invoke('tap 1 2');
  await ran(switchboard);
  const [key = ''] = switchboard.released;
  expect(switchboard.admitted[0]?.args).toEqual({ x: 1, y: 2 });
  const picture: BlobRef = { key: 'b', size: 3, mediaType: 'image/png', purpose: 'snapshot' };
  await switchboard.finish(key, { kind: 'ok', value: { t: 21.5 }, blobs: [picture] });
  expect(await answer).toMatchObject({
    ok: true,
    result: { t: 21.5 },
    images: [expect.stringMatching(/\/media\/[0-9a-f-]{36}\.png$/)],
  });
  expect(await invoke('frobnicate')).toMatchObject({
    ok: false,
    outcome: 'refused',
    error: { code: 'unknown_verb', message: expect.stringContaining('- tap x:i0..799 y:i0..479') },
  });
});

test('a restart of the hub loses no call, no reply and no event', async () => {
  const { invoke, result, switchboard, journal, door, restartHub } = await stack(false);
  const running = await invoke('status', { wait: false });
  if (!('envelope_id' in running) || running.envelope_id === undefined) throw new Error('not sent');
  await ran(switchboard);
  const done: Outcome = { kind: 'ok', value: 'done', blobs: [] };
  await restartHub(() => {
    void switchboard.finish(switchboard.released[0] ?? '', done);
    void switchboard.keep({
      boardId: A,
      kind: 'event',
      seq: 1,
      body: { kind: 'button', detail: 'x' },
    });
  });
  const id = running.envelope_id;
  await until(async () => !('pending' in (await result(id))));
  expect(await result(id)).toMatchObject({ ok: true, result: 'done' });
  await until(() => journal.pending(1).length === 0 && door.state().connected);
  expect(switchboard.released.length).toBe(1);
  const again = invoke('status');
  await until(() => switchboard.released.length === 2);
  await switchboard.finish(switchboard.released[1] ?? '', done);
  expect(await again).toMatchObject({ ok: true, result: 'done' });
});

test('a sleeping board is not called, and its mail waits for it', async () => {
  const { invoke, list, switchboard } = await stack(false);
  const isOnline = async (): Promise<unknown> => {
    const listed = await list();
    const [board] = 'devices' in listed ? (listed.devices as { online: boolean }[]) : [];
    return board?.online;
  };
  await until(async () => (await isOnline()) === true);
  switchboard.set(A, 'asleep');
  await until(async () => (await isOnline()) === false);
  expect(await invoke('status', { wait: false })).toMatchObject({ ok: true, pending: true });
  expect(switchboard.released).toEqual([]);
  switchboard.set(A, 'online');
  await ran(switchboard);
  await until(async () => (await isOnline()) === true);
});

test('a hub with the tiny routes alone is polled', async () => {
  const { invoke, switchboard, door } = await stack(true);
  expect(door.state().mode).toBe('tiny');
  const answer = invoke('say hello there');
  await ran(switchboard);
  expect(switchboard.admitted[0]?.args).toEqual({ text: 'hello there' });
  await switchboard.finish(switchboard.released[0] ?? '', { kind: 'ok', value: 'said', blobs: [] });
  expect(await answer).toMatchObject({ ok: true, result: 'said' });
});
