import { expect, test } from 'vitest';
import { tempFolder } from './cleanup.fixture.js';
import { TestClock } from './clock.fixture.js';
import { invoke, testHub } from './hub.fixture.js';
import { gatewayStream } from './stream.fixture.js';

test('after a restart of the hub everything is as it was', async () => {
  const home = tempFolder();
  const clock = new TestClock();
  const before = await testHub({ home, clock });
  const gateway = await before.gateway();
  const board = await gateway.board();
  await gateway.online(board);
  const device = await before.enrol('dials in');
  const claimed = await before.send(board, invoke('claimed'));
  const waiting = await before.send(board, invoke('waiting'));
  await gateway.post('claim', { envelope_ids: [claimed] });
  await gateway.up({
    kind: 'event',
    device_id: board,
    boot: 1,
    board_seq: 7,
    event: 'tap',
    detail: 'x',
  });
  const media = await before.own('POST', '/api/media', { data: 'AAAA', contentType: 'image/png' });
  await before.hub.close();

  const after = await testHub({ home, clock });
  expect(await after.hub.bootstrap()).toBeUndefined();
  const t = after.as(before.token, before.ownerId);
  const again = gateway.at(t);
  expect(await again.board()).toBe(board);
  expect((await t.row(board))?.online).toBe(true);
  expect((await t.row(device.deviceId))?.online).toBe(true);
  const stream = await gatewayStream(t, gateway.token);
  expect((await stream.items(1)).map((h) => h.data.envelope_id)).toEqual([waiting]);
  expect((await again.post('claim', { envelope_ids: [claimed] })).body.claimed).toEqual([claimed]);
  await again.post('reply', { replies: [{ envelope_id: claimed, payload: '1' }] });
  expect(await t.read(claimed)).toBe('1');
  await again.up({
    kind: 'event',
    device_id: board,
    boot: 1,
    board_seq: 7,
    event: 'tap',
    detail: 'x',
  });
  expect(await t.events()).toHaveLength(1);
  expect((await t.ask('GET', String(media.body.url))).status).toBe(200);
});
