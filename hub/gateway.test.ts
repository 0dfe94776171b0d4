import { describe, expect, test } from 'vitest';
import { breakableStore, invoke, testHub, withBoard } from './hub.fixture.js';

describe('gateways and their boards', () => {
  test('a gateway is enrolled by its owner, and its token is told once', async () => {
    const t = await testHub();
    const made = await t.own('POST', '/api/gateway/v1/enrol', { name: 'pi' });
    expect(made.body).toEqual({
      ok: true,
      gateway_id: expect.any(String),
      gateway_token: expect.stringMatching(/^mgw_[A-Za-z0-9_-]{43}$/),
    });
    expect((await t.ask('POST', '/api/gateway/v1/enrol', { body: { name: 'x' } })).status).toBe(
      401,
    );
    expect((await t.own('POST', '/api/gateway/v1/enrol', { name: ' ' })).status).toBe(400);
    const up = { as: String(made.body.gateway_token), body: { items: [] } };
    expect((await t.ask('POST', '/api/gateway/v1/up', up)).status).toBe(200);
    await t.own('DELETE', '/api/gateway/v1/enrol', { gateway_id: made.body.gateway_id });
    expect((await t.ask('POST', '/api/gateway/v1/up', up)).status).toBe(401);
    expect((await t.own('POST', '/api/gateway/v1/up', { items: [] })).status).toBe(401);
  });

  test('a board has one device id, and refreshes what it says of itself', async () => {
    const { t, gateway, board } = await withBoard();
    expect(await gateway.board('renamed')).toBe(board);
    expect(await t.row(board)).toMatchObject({ name: 'renamed', kind: 'daemon', online: false });
    const newer = await t.gateway('newer');
    expect(await newer.board('renamed')).toBe(board);
  });

  test('a board of another owner is refused with 409', async () => {
    const { t } = await withBoard();
    const bob = await t.hub.createOwner('bob');
    const his = await t.gatewayOf(bob.ownerId);
    expect((await his.tryBoard('00000000000000aa')).status).toBe(409);
    expect((await his.tryBoard('00000000000000bb')).status).toBe(200);
  });

  test('a revoked board stays out until its owner restores it', async () => {
    const { t, gateway, board } = await withBoard();
    await t.own('DELETE', '/api/devices', { deviceId: board });
    const again = await gateway.tryBoard('00000000000000aa');
    expect([again.status, again.body.revoked]).toEqual([409, true]);
    expect((await t.own('POST', '/api/devices/restore', { deviceId: board })).status).toBe(200);
    expect(await gateway.board()).toBe(board);
    expect((await t.own('POST', '/api/devices/restore', { deviceId: board })).status).toBe(404);
  });

  test('boards count for the owner’s limit', async () => {
    const { gateway } = await withBoard({ limits: { devices: 1 } });
    const answer = await gateway.tryBoard('00000000000000bb');
    expect([answer.status, answer.body.error]).toEqual([
      424,
      'device limit reached (1) — revoke one first',
    ]);
  });

  test('a gateway uses the device routes for its own boards, by its bearer', async () => {
    const { t, gateway, board } = await withBoard();
    const id = await t.send(board, invoke('x'));
    const as = gateway.token;
    const poll = await t.ask('PUT', '/api/devices/relay', { as, body: { deviceId: board } });
    expect(poll.body.messages).toMatchObject([{ id }]);
    const body = { deviceId: board, inReplyTo: id, payload: { result: 1 } };
    expect((await t.ask('PATCH', '/api/devices/relay', { as, body })).status).toBe(200);
    const device = await t.enrol('dials in');
    const foreign = { as, body: { deviceId: device.deviceId } };
    expect((await t.ask('PUT', '/api/devices/relay', foreign)).status).toBe(401);
    expect((await t.ask('PUT', '/api/devices/relay', { body: { deviceId: board } })).status).toBe(
      400,
    );
  });

  test('tinyOnly serves none of this', async () => {
    const t = await testHub({ tinyOnly: true });
    expect((await t.ask('GET', '/api/health')).body).not.toHaveProperty('gateway');
    expect((await t.own('POST', '/api/gateway/v1/enrol', { name: 'x' })).status).toBe(404);
    const { gateway_token } = await t.hub.enrolGateway(t.ownerId, 'x');
    const answer = await t.ask('PUT', '/api/devices/relay', { as: gateway_token, body: {} });
    expect(answer.status).toBe(400);
  });
});

describe('claiming and replying', () => {
  test('D42 a claim is compare-and-set: one side gets the envelope, and may claim it again', async () => {
    const { t, gateway, board } = await withBoard();
    const adopted = await t.own('POST', '/api/devices/adopt', { deviceId: board });
    const device = { deviceId: board, token: adopted.body.device_token };
    for (let round = 0; round < 5; round++) {
      const id = await t.send(board, invoke('x'));
      const claims = () => gateway.post('claim', { envelope_ids: [id, 'nope'] });
      const both = [claims(), t.poll(device), claims(), t.poll(device)] as const;
      const [one, polled, two, polledToo] = await Promise.all(both);
      const byDevice = polled.length + polledToo.length;
      for (const { body } of [one, two, await claims()]) {
        const mine = byDevice === 0;
        expect(body.claimed).toEqual(mine ? [id] : []);
        expect(body.lost).toEqual([
          ...(mine ? [] : [{ envelope_id: id, why: 'taken' }]),
          { envelope_id: 'nope', why: 'unknown' },
        ]);
      }
      expect(byDevice).toBeLessThanOrEqual(1);
    }
  });

  test('what another took, answered or let lapse is lost, and says why', async () => {
    const { t, gateway, board } = await withBoard();
    const taken = await t.send(board, 1);
    await gateway.post('claim', { envelope_ids: [taken] });
    const newer = await t.gateway('newer');
    await newer.board();
    const answered = await t.send(board, 1);
    await newer.post('claim', { envelope_ids: [answered] });
    await newer.post('reply', { replies: [{ envelope_id: answered, payload: '1' }] });
    const { body } = await newer.post('claim', { envelope_ids: [taken, answered] });
    expect(body.lost).toEqual([
      { envelope_id: taken, why: 'taken' },
      { envelope_id: answered, why: 'answered' },
    ]);
    const lapsed = await t.send(board, 1);
    t.clock.hold(3_600_000);
    const late = await newer.post('claim', { envelope_ids: [lapsed] });
    expect(late.body.lost).toEqual([{ envelope_id: lapsed, why: 'unknown' }]);
  });

  test('a gateway that has not the board can neither claim nor reply', async () => {
    const { t, gateway, board } = await withBoard();
    const id = await t.send(board, 1);
    const stranger = await t.gateway('stranger');
    const claim = await stranger.post('claim', { envelope_ids: [id] });
    expect(claim.body).toMatchObject({ claimed: [], lost: [{ why: 'unknown' }] });
    await gateway.post('claim', { envelope_ids: [id] });
    const reply = { replies: [{ envelope_id: id, payload: '1' }] };
    expect((await stranger.post('reply', reply)).body.results).toMatchObject([
      { status: 'unknown' },
    ]);
    expect(await t.read(id)).toBeNull();
  });

  test('D47 the first reply wins, the same one again is stored again', async () => {
    const { t, gateway, board } = await withBoard();
    const id = await t.send(board, 1);
    const early = await gateway.post('reply', { replies: [{ envelope_id: id, payload: '1' }] });
    expect(early.body.results).toMatchObject([{ status: 'unknown' }]);
    await gateway.post('claim', { envelope_ids: [id] });
    const { body } = await gateway.post('reply', {
      replies: [
        { envelope_id: id, payload: 'no json' },
        { envelope_id: id, payload: JSON.stringify('x'.repeat(8191)) },
        { envelope_id: id, payload: '{"n":1}' },
        { envelope_id: id, payload: '{"n":2}' },
        { envelope_id: id, payload: '{"n":1}' },
        { envelope_id: 'nope', payload: '1' },
      ],
    });
    expect((body.results as { status: string }[]).map((r) => r.status)).toEqual([
      'bad_payload',
      'bad_payload',
      'stored',
      'answered_before',
      'stored',
      'unknown',
    ]);
    expect(await t.read(id)).toBe('{"n":1}');
  });

  test('nothing is claimed or answered while the store fails', async () => {
    const store = await breakableStore();
    const { t, gateway, board } = await withBoard({ database: store.database });
    const id = await t.send(board, 1);
    store.break('full');
    for (const [path, body] of [
      ['claim', { envelope_ids: [id] }],
      ['reply', { replies: [{ envelope_id: id, payload: '1' }] }],
      ['up', { items: [{ seq: 1, kind: 'health', at: 0, links: [] }] }],
    ] as const) {
      const answer = await gateway.post(path, body);
      expect([path, answer.status, answer.body.retryable]).toEqual([path, 503, true]);
    }
    store.mend();
    expect((await gateway.post('claim', { envelope_ids: [id] })).body.claimed).toEqual([id]);
  });

  test('the hub’s steps of a call cost one commit each', async () => {
    const store = await breakableStore();
    const { t, gateway, board } = await withBoard({ database: store.database });
    // The first request of a minute notes that the token was used.
    await t.list();
    await store.database.write(() => {});
    const before = store.commits();
    const id = await t.send(board, invoke('x'));
    await gateway.post('claim', { envelope_ids: [id] });
    await gateway.post('reply', { replies: [{ envelope_id: id, payload: '1' }] });
    expect(store.commits() - before).toBe(3);
  });
});
