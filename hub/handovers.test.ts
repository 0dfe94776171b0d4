import { describe, expect, test } from 'vitest';
import { HANDOVER_MS } from './handovers.js';
import { testHub, withBoard } from './hub.fixture.js';
import { gatewayStream } from './stream.fixture.js';

const BOARD = '00000000000000aa';
const PUBLIC = 'A'.repeat(43);
const wishFor = (device_id: string) => ({ device_id, public_key: PUBLIC });

/** A board behind `old`, and a second gateway of the same owner, both with their streams. */
async function two() {
  const { t, gateway: old, board } = await withBoard();
  const newer = await t.gateway('new pi');
  const oldStream = await gatewayStream(t, old.token);
  const newStream = await gatewayStream(t, newer.token);
  return { t, old, board, newer, oldStream, newStream };
}

/** The whole way, up to and with `done`. */
async function handOver({ old, board, newer, oldStream }: Awaited<ReturnType<typeof two>>) {
  const asked = newer.post('handover', wishFor(board));
  const [event] = (await oldStream.items(1)).slice(-1);
  const handover_id = String(event?.data.handover_id);
  await old.post('handover/answer', { handover_id, sealed_key: 'c2VhbGVk' });
  await asked;
  await newer.post('handover/done', { handover_id });
  return handover_id;
}

describe('a board changes its gateway', () => {
  test('the wish reaches the gateway that has it, and its sealed key the one that asks', async () => {
    const { t, old, board, newer, oldStream } = await two();
    const asked = newer.post('handover', wishFor(board));
    const [event] = await oldStream.items(1);
    expect(event).toMatchObject({
      event: 'handover',
      data: { board_id: BOARD, public_key: PUBLIC, to: 'new pi' },
    });
    const handover_id = event?.data.handover_id;
    const told = await old.post('handover/answer', { handover_id, sealed_key: 'c2VhbGVk' });
    expect(told.status).toBe(200);
    expect(await asked).toMatchObject({
      status: 200,
      body: { ok: true, handover_id, board_id: BOARD, name: 'eink', sealed_key: 'c2VhbGVk' },
    });
    // Nothing has moved before the key is stored.
    await old.online(board);
    expect((await t.row(board))?.online).toBe(true);
    expect((await newer.online(board)).body.refused).toHaveLength(1);
  });

  test('once its key is stored the device is the other gateway’s, with what waits for it', async () => {
    const world = await two();
    const { t, old, board, newer, oldStream, newStream } = world;
    const waiting = await t.send(board, 1);
    await oldStream.items(1);
    const asked = newer.post('handover', wishFor(board));
    const event = (await oldStream.items(2))[1];
    const handover_id = event?.data.handover_id;
    await old.post('handover/answer', { handover_id, sealed_key: 'c2VhbGVk' });
    await asked;
    for (let again = 0; again < 2; again++) {
      expect((await newer.post('handover/done', { handover_id })).status).toBe(200);
    }
    expect((await newStream.items(1))[0]?.data.envelope_id).toBe(waiting);
    expect((await oldStream.items(3))[2]).toMatchObject({
      event: 'handed_over',
      data: { handover_id, board_id: BOARD },
    });
    await newer.online(board);
    expect(await t.row(board)).toMatchObject({ id: board, online: true });
    expect((await old.online(board)).body.refused).toHaveLength(1);
    expect((await old.post('claim', { envelope_ids: [waiting] })).body.claimed).toEqual([]);
  });

  test('the older gateway hears of it at each connect until it says that it let go', async () => {
    const world = await two();
    const handover_id = await handOver(world);
    const { t, old } = world;
    const again = await gatewayStream(t, old.token);
    expect((await again.items(1))[0]).toMatchObject({
      event: 'handed_over',
      data: { handover_id, board_id: BOARD },
    });
    expect(await old.tryBoard(BOARD)).toMatchObject({
      status: 409,
      body: { error: 'this board was handed over to another gateway of its owner' },
    });
    for (let n = 0; n < 2; n++) {
      expect((await old.post('handover/gone', { handover_id })).status).toBe(200);
    }
    const last = await gatewayStream(t, old.token);
    await t.send(world.board, 1);
    // From here on it may pair the board anew, as any gateway of the owner may.
    expect((await old.tryBoard(BOARD)).status).toBe(200);
    expect((await last.items(1))[0]?.event).toBe('offer');
  });

  test('a board that comes back is not forgotten by the gateway it came back to', async () => {
    const world = await two();
    await handOver(world);
    const { t, old, board, newer, newStream } = world;
    const asked = old.post('handover', wishFor(board));
    const event = (await newStream.items(1))[0];
    const handover_id = event?.data.handover_id;
    await newer.post('handover/answer', { handover_id, sealed_key: 'YmFjaw' });
    await asked;
    await old.post('handover/done', { handover_id });
    const again = await gatewayStream(t, old.token);
    await t.send(String((await old.tryBoard(BOARD)).body.device_id), 1);
    expect((await again.items(1))[0]?.event).toBe('offer');
  });

  test('done may be told again after a crash, also once the old gateway has forgotten the board', async () => {
    const world = await two();
    const handover_id = await handOver(world);
    const { t, old, board, newer, newStream } = world;
    expect((await old.post('handover/gone', { handover_id })).status).toBe(200);
    expect((await newer.post('handover/done', { handover_id })).status).toBe(200);
    await t.send(board, 1);
    // Refused once the board has gone on.
    const third = await t.gateway('third');
    await gatewayStream(t, third.token);
    const asked = third.post('handover', wishFor(board));
    const event = (await newStream.items(2)).find((each) => each.event === 'handover');
    const next = event?.data.handover_id;
    await newer.post('handover/answer', { handover_id: next, sealed_key: 'b24' });
    await asked;
    expect((await third.post('handover/done', { handover_id: next })).status).toBe(200);
    expect((await newer.post('handover/done', { handover_id })).status).toBe(404);
    expect((await third.post('handover/done', { handover_id: next })).status).toBe(200);
  });

  test('a refusal, or no answer in time, leaves the board where it is', async () => {
    const { t, old, board, newer, oldStream } = await two();
    const refused = newer.post('handover', wishFor(board));
    const first = (await oldStream.items(1))[0]?.data.handover_id;
    await old.post('handover/answer', { handover_id: first, refused: 'The board is asleep' });
    expect(await refused).toMatchObject({
      status: 409,
      body: { error: 'The board is asleep; the board stays with it', retryable: true },
    });
    const late = newer.post('handover', wishFor(board));
    const second = (await oldStream.items(2))[1]?.data.handover_id;
    t.clock.advance(HANDOVER_MS);
    expect((await late).status).toBe(409);
    const tooLate = { handover_id: second, sealed_key: 'c2VhbGVk' };
    expect((await old.post('handover/answer', tooLate)).status).toBe(404);
    expect((await newer.post('handover/done', { handover_id: second })).status).toBe(404);
    await old.online(board);
    expect((await t.row(board))?.online).toBe(true);
  });

  test('what was asked for long ago does not take the board from where it is now', async () => {
    const { t, old, board, newer, oldStream } = await two();
    const asked = newer.post('handover', wishFor(board));
    const handover_id = (await oldStream.items(1))[0]?.data.handover_id;
    await old.post('handover/answer', { handover_id, sealed_key: 'c2VhbGVk' });
    await asked;
    const third = await t.gateway('third');
    expect((await third.tryBoard(BOARD)).body.device_id).toBe(board);
    const late = await newer.post('handover/done', { handover_id });
    expect([late.status, late.body.error]).toEqual([
      409,
      'the board is no longer where it was; nothing was changed',
    ]);
    expect((await third.online(board)).body.refused).toEqual([]);
    // Nor is anybody told to forget its key.
    const again = await gatewayStream(t, old.token);
    await old.tryBoard(BOARD);
    await t.send(board, 1);
    expect((await again.items(1))[0]?.event).toBe('offer');
  });

  test('only where there is something to hand over', async () => {
    const { t, gateway: old, board } = await withBoard();
    const newer = await t.gateway('new pi');
    const away = await newer.post('handover', wishFor(board));
    expect(away.status).toBe(409);
    expect(away.body.error).toMatch(/not connected.*reset the board by hand/);
    await gatewayStream(t, old.token);
    expect((await old.post('handover', wishFor(board))).status).toBe(409);
    const unknown = wishFor('nowhere');
    expect((await newer.post('handover', unknown)).status).toBe(404);
    const daemon = await t.enrol('desk');
    expect((await newer.post('handover', wishFor(daemon.deviceId))).status).toBe(404);
    for (const public_key of ['', 'AAAA', 'A'.repeat(44), `${'A'.repeat(42)}B`, '!'.repeat(43)]) {
      expect((await newer.post('handover', { device_id: board, public_key })).status).toBe(400);
    }
  });

  test('another owner’s gateway neither sees the board nor answers for it', async () => {
    const { t, board, oldStream, newer, old } = await two();
    const other = await t.hub.createOwner('bob');
    const theirs = await t.gatewayOf(other.ownerId);
    const unknown = await theirs.post('handover', wishFor('nowhere'));
    expect(await theirs.post('handover', wishFor(board))).toEqual(unknown);
    const asked = newer.post('handover', wishFor(board));
    const handover_id = (await oldStream.items(1))[0]?.data.handover_id;
    for (const step of ['answer', 'done']) {
      const body = { handover_id, sealed_key: 'c2VhbGVk' };
      expect((await theirs.post(`handover/${step}`, body)).status).toBe(404);
    }
    // The one that asks can't answer itself, and the one that has it can't finish.
    const own = { handover_id, sealed_key: 'c2VhbGVk' };
    expect((await newer.post('handover/answer', own)).status).toBe(404);
    expect((await old.post('handover/done', { handover_id })).status).toBe(404);
    await old.post('handover/answer', { handover_id, refused: 'no' });
    await asked;
  });

  test('a hub for tiny clients alone has none of these routes', async () => {
    const t = await testHub({ tinyOnly: true });
    expect((await t.ask('POST', '/api/gateway/v1/handover', { body: wishFor('x') })).status).toBe(
      404,
    );
  });
});
