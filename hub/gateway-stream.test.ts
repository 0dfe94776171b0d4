import { describe, expect, test } from 'vitest';
import { invoke, withBoard } from './hub.fixture.js';
import { gatewayStream, nextClose, ownerStream } from './stream.fixture.js';

describe('the push stream', () => {
  test('it is told in health, kept open for proxies, and offers what is sent at once', async () => {
    const { t, gateway, board } = await withBoard();
    const { body } = await t.ask('GET', '/api/health');
    expect(body.gateway).toEqual({ version: 1, stream: '/api/gateway/v1/stream' });
    const waiting = await t.send(board, invoke('waits'));
    const stream = await gatewayStream(t, gateway.token);
    expect(Object.fromEntries(stream.response?.headers ?? [])).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    const live = await t.send(board, invoke('live'));
    const heard = await stream.items(2);
    expect(heard.map((h) => [h.event, h.data.envelope_id])).toEqual([
      ['offer', waiting],
      ['offer', live],
    ]);
    expect(heard[0]?.data).toEqual({
      envelope_id: waiting,
      device_id: board,
      payload: '{"type":"invoke","prompt":"waits"}',
      created_at: 1_800_000_000,
      expires_at: 1_800_003_600,
    });
    const comments = stream.comments;
    t.clock.advance(15_000);
    await stream.until(() => stream.comments > comments);
  });

  test('it resumes after Last-Event-ID without loss; a number from the future starts over', async () => {
    const { t, gateway, board } = await withBoard();
    const sent = [];
    for (let i = 0; i < 3; i++) sent.push(await t.send(board, i));
    const first = await (await gatewayStream(t, gateway.token)).items(3);
    const resumed = await gatewayStream(t, gateway.token, first[1]?.id);
    expect((await resumed.items(1)).map((h) => h.data.envelope_id)).toEqual([sent[2]]);
    const future = await gatewayStream(t, gateway.token, '999999');
    expect((await future.items(3)).map((h) => h.data.envelope_id)).toEqual(sent);
    await gateway.post('claim', { envelope_ids: [sent[0]] });
    const junk = await gatewayStream(t, gateway.token, 'junk');
    expect((await junk.items(2)).map((h) => h.data.envelope_id)).toEqual(sent.slice(1));
  });

  test('a newer stream of the same gateway takes the older one’s place', async () => {
    const { t, gateway, board } = await withBoard();
    const old = await gatewayStream(t, gateway.token);
    const fresh = await gatewayStream(t, gateway.token);
    await old.until(() => old.closed);
    await t.send(board, 1);
    expect(await fresh.items(1)).toHaveLength(1);
    expect(old.seen).toEqual([]);
  });

  test('offers and cancels reach only the gateway that has the board', async () => {
    const { t, gateway, board } = await withBoard();
    const stranger = await t.gateway('stranger');
    const theirs = await gatewayStream(t, stranger.token);
    const ours = await gatewayStream(t, gateway.token);
    const id = await t.send(board, invoke('x'));
    await t.own('DELETE', '/api/devices', { deviceId: board });
    const heard = await ours.items(2);
    expect(heard.map((h) => [h.event, h.data.envelope_id])).toEqual([
      ['offer', id],
      ['cancel', id],
    ]);
    expect(theirs.seen).toEqual([]);
    await t.own('DELETE', '/api/gateway/v1/enrol', { gateway_id: gateway.id });
    await ours.until(() => ours.closed);
    const bad = await t.ask('GET', '/api/gateway/v1/stream', { as: gateway.token });
    expect(bad.status).toBe(401);
  });

  test('what waits for a board is offered again when it comes back or changes its gateway', async () => {
    const { t, gateway, board } = await withBoard();
    const id = await t.send(board, 1);
    const stream = await gatewayStream(t, gateway.token);
    await stream.items(1);
    await gateway.online(board);
    const again = await stream.items(2);
    expect(again.map((h) => [h.id, h.data.envelope_id])).toEqual([
      [expect.any(String), id],
      [undefined, id],
    ]);
    const newer = await t.gateway('newer');
    const theirs = await gatewayStream(t, newer.token);
    await newer.board();
    expect((await theirs.items(1))[0]?.data.envelope_id).toBe(id);
  });

  test('a board is online while its gateway says so and is there, with 5 s of grace', async () => {
    const { t, gateway, board } = await withBoard();
    await gateway.online(board);
    expect((await t.row(board))?.online).toBe(true);
    t.clock.advance(5_000);
    expect((await t.row(board))?.presence).toMatchObject({ state: 'unreachable' });
    const owner = await ownerStream(t);
    const closed = nextClose(t);
    const stream = await gatewayStream(t, gateway.token);
    expect((await t.row(board))?.online).toBe(true);
    t.clock.advance(600_000);
    expect((await t.row(board))?.online).toBe(true);
    stream.close();
    await closed;
    t.clock.advance(4_999);
    expect((await t.row(board))?.online).toBe(true);
    t.clock.advance(1);
    const gonePresence = { state: 'unreachable', since: t.clock.wall() - 5_000 };
    expect(await t.row(board)).toMatchObject({ online: false, presence: gonePresence });
    const told = await owner.items(2);
    expect(told.map((h) => [h.event, (h.data.presence as { state: string }).state])).toEqual([
      ['presence', 'online'],
      ['presence', 'unreachable'],
    ]);
  });

  test('a gateway that is back within the grace was never away', async () => {
    const { t, gateway, board } = await withBoard();
    await gateway.online(board);
    const closed = nextClose(t);
    const stream = await gatewayStream(t, gateway.token);
    stream.close();
    await closed;
    t.clock.advance(4_000);
    await gatewayStream(t, gateway.token);
    t.clock.advance(60_000);
    expect((await t.row(board))?.online).toBe(true);
  });
});
