/** A board that changes its gateway, with two whole gateways, the hub of one, and one air. */
import { expect, it } from 'vitest';
import { boardOnAir, gatewayOn } from './air.fixture.js';
import { HubClient } from './client.js';

it('boards adopt brings a board here, the hub’s device with it, and its old gateway lets go', {
  timeout: 60_000,
}, async () => {
  const { code } = await boardOnAir('air');
  const kitchen = await gatewayOn();
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
  await expect.poll(() => hall.states(), { timeout: 20_000 }).toEqual(['online']);
  await expect.poll(() => kitchen.states(), { timeout: 10_000 }).toEqual([]);
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
  expect(hall.states()).toEqual(['online']);
});
