import { describe, expect, test } from 'vitest';
import {
  breakableStore,
  invoke,
  type TestHub,
  testHub,
  withBoard,
  withDevice,
} from './hub.fixture.js';
import { gatewayStream, Listener, ownerStream } from './stream.fixture.js';

const use = (t: TestHub, body: object) => t.own('POST', '/api/use-device', body);

/** A gateway that is attached, and answers every offer with what `answer` makes of it. */
async function answering(
  options = {},
  answer: (payload: string) => string | undefined = () => '1',
) {
  const made = await withBoard(options);
  const { t, gateway, board } = made;
  const stream = await gatewayStream(t, gateway.token);
  await gateway.online(board);
  const seen: string[] = [];
  const serve = async (): Promise<void> => {
    for (let next = 1; ; next++) {
      const offer = (await stream.items(next))[next - 1];
      if (offer === undefined) return;
      if (offer.event !== 'offer' || seen.includes(String(offer.data.envelope_id))) continue;
      const id = String(offer.data.envelope_id);
      seen.push(id);
      await gateway.post('claim', { envelope_ids: [id] });
      const payload = answer(String(offer.data.payload));
      if (payload === undefined) continue;
      await gateway.post('reply', { replies: [{ envelope_id: id, payload }] });
    }
  };
  void serve();
  return { ...made, stream, seen };
}

describe('list', () => {
  test('D105 capabilities are parsed, presence is told, same names are told apart', async () => {
    const { t, device } = await withDevice();
    t.clock.advance(10_000);
    const twin = await t.own('POST', '/api/devices', { name: 'desk', capabilities: ['a'] });
    const { body } = await use(t, { action: 'list' });
    expect(body.devices).toMatchObject([
      {
        id: twin.body.device_id,
        capabilities: ['a'],
        online: true,
        last_seen_seconds_ago: 0,
        current_for_name: true,
      },
      { id: device.deviceId, capabilities: [], last_seen_seconds_ago: 10, superseded: true },
    ]);
  });
});

describe('invoke', () => {
  test('D111 the reply of a board comes back at once, with its pictures on this hub only', async () => {
    const key = '0123abcd-aaaa-4aaa-8aaa-aaaaaaaaaaaa.png';
    const images = [
      'https://evil.example/media/x.png',
      `/media/${key}`,
      `https://hub.example/media/${key}`,
      `https://hub.example.evil/media/${key}`,
      `/media/../${key}`,
      `/media/${key}`,
    ];
    const { t, board, seen } = await answering({ publicUrl: 'https://hub.example/' }, (payload) =>
      JSON.stringify({ ok: true, outcome: 'ok', result: JSON.parse(payload), images }),
    );
    const { status, body } = await use(t, { action: 'invoke', device_id: board, prompt: 'status' });
    expect([status, body]).toEqual([
      200,
      {
        ok: true,
        result: { type: 'invoke', prompt: 'status' },
        images: [`/media/${key}`, `https://hub.example/media/${key}`],
        device_id: board,
        envelope_id: seen[0],
      },
    ]);
    const byName = await use(t, { action: 'invoke', device_id: 'eink', prompt: 'status' });
    expect(byName.body).toMatchObject({ ok: true, device_id: board });
  });

  test('a board’s failure is an answer with its outcome and words', async () => {
    const { t, board } = await answering({}, () =>
      JSON.stringify({
        ok: false,
        outcome: 'refused',
        error: { code: 'bad_arguments', message: 'size must be 1 to 4' },
        result: 'size must be 1 to 4',
      }),
    );
    const { status, body } = await use(t, { action: 'invoke', device_id: board, prompt: 'x' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ok: false,
      outcome: 'refused',
      error: { code: 'bad_arguments', message: 'size must be 1 to 4' },
      device_id: board,
    });
  });

  test('D112 a device that dials in answers with anything', async () => {
    const { t, device } = await withDevice();
    for (const [payload, result] of [
      [{ result: 'text' }, 'text'],
      ['"plain"', 'plain'],
      [{ any: 1 }, { any: 1 }],
      ['[1]', [1]],
    ] as const) {
      const asked = use(t, { action: 'invoke', device_id: 'desk', prompt: 'x' });
      let got: { id: string }[] = [];
      while (got.length === 0) got = await t.poll(device);
      await t.reply(device, got[0]?.id ?? '', payload);
      expect((await asked).body).toMatchObject({ ok: true, result });
    }
  });

  test('D107 without an answer in 45 s it is pending, not lost', async () => {
    const { t, device } = await withDevice();
    const asked = use(t, { action: 'invoke', device_id: device.deviceId, prompt: 'x' });
    let got: { id: string }[] = [];
    while (got.length === 0) got = await t.poll(device);
    t.clock.advance(44_999);
    t.clock.advance(1);
    const { body } = await asked;
    expect(body).toEqual({
      ok: true,
      pending: true,
      device_id: device.deviceId,
      envelope_id: got[0]?.id,
      note: expect.stringContaining(String(got[0]?.id)),
    });
    await t.reply(device, got[0]?.id ?? '', { result: 'late' });
    const later = await use(t, { action: 'result', envelope_id: got[0]?.id });
    expect(later.body).toMatchObject({ ok: true, result: 'late' });
  });

  test('D108 wait:false gives a ticket at once', async () => {
    const { t, device } = await withDevice();
    const { body } = await use(t, {
      action: 'invoke',
      device_id: device.deviceId,
      prompt: 'x',
      wait: false,
    });
    expect(body).toMatchObject({ ok: true, pending: true, background: true });
    expect((await t.poll(device))[0]?.id).toBe(body.envelope_id);
  });

  test('a board that is known to be unreachable is told so at once, and nothing is queued', async () => {
    const { t, gateway, board } = await answering();
    const since = t.clock.wall();
    await gateway.up({
      kind: 'presence',
      device_id: board,
      presence: { state: 'unreachable', since },
    });
    const { status, body } = await use(t, { action: 'invoke', device_id: board, prompt: 'x' });
    expect([status, body]).toEqual([
      200,
      {
        ok: false,
        outcome: 'unreachable',
        error: {
          code: 'unreachable',
          message: `eink is unreachable since ${new Date(since).toISOString()}; nothing was sent. Try again when it is back.`,
        },
        device_id: board,
      },
    ]);
    const poll = { as: gateway.token, body: { deviceId: board } };
    expect((await t.ask('PUT', '/api/devices/relay', poll)).body.messages).toEqual([]);
  });

  test('for a sleeping board it is queued, and pending says until when', async () => {
    const { t, gateway, board } = await answering({}, () => '"woke"');
    const since = t.clock.wall();
    const presence = { state: 'asleep', since, until: since + 600_000 };
    await gateway.up({ kind: 'presence', device_id: board, presence });
    const { body } = await use(t, { action: 'invoke', device_id: board, prompt: 'x' });
    expect(body).toMatchObject({ ok: true, pending: true, until: since + 600_000 });
    const soon = { state: 'asleep', since, until: since + 10_000 };
    await gateway.up({ kind: 'presence', device_id: board, presence: soon });
    const waits = await use(t, { action: 'invoke', device_id: board, prompt: 'x' });
    expect(waits.body).toMatchObject({ ok: true, result: 'woke' });
    t.clock.advance(600_000 + 60_001);
    const { body: listed } = await use(t, { action: 'list' });
    expect(listed.devices).toMatchObject([{ presence: { state: 'unreachable' } }]);
  });

  test('D109 a failure to send is an error, never pending', async () => {
    const store = await breakableStore();
    const { t, device } = await withDevice({ database: store.database });
    const body = { action: 'invoke', device_id: device.deviceId, prompt: 'x' };
    await t.enrol('twin');
    await t.enrol('twin');
    for (const [wrong, status, code] of [
      [{ device_id: 'nobody' }, 404, 'no_such_device'],
      [{ device_id: 'twin' }, 400, 'bad_request'],
      [{ prompt: 'x'.repeat(8200) }, 413, 'too_big'],
      [{ prompt: '' }, 400, 'bad_request'],
      [{ prompt: 7 }, 400, 'bad_request'],
      [{ action: 'dance' }, 400, 'bad_request'],
    ] as const) {
      const answer = await use(t, { ...body, ...wrong });
      expect([answer.status, answer.body.ok, answer.body.error]).toEqual([
        status,
        false,
        { code, message: expect.any(String) },
      ]);
      expect(answer.body).not.toHaveProperty('pending');
    }
    store.break('io');
    const answer = await use(t, body);
    expect([answer.status, answer.body]).toEqual([
      424,
      {
        ok: false,
        outcome: 'refused',
        error: { code: 'relay_fault', message: expect.any(String) },
        delivered: 'unknown',
        retryable: true,
      },
    ]);
    store.mend();
  });

  test('D113 who is not logged in may do none of it', async () => {
    const { t, device } = await withDevice();
    for (const action of ['list', 'invoke', 'result', 'cancel']) {
      const body = { action, device_id: device.deviceId, prompt: 'x', envelope_id: 'x' };
      expect((await t.ask('POST', '/api/use-device', { body })).status).toBe(401);
      const asDevice = await t.ask('POST', '/api/use-device', { as: device.token, body });
      expect(asDevice.status).toBe(401);
    }
  });

  test('waiting callers are answered when the hub closes', async () => {
    const { t, device } = await withDevice();
    const asked = t.hub.useDevice(t.ownerId, {
      action: 'invoke',
      device_id: device.deviceId,
      prompt: 'x',
    });
    while ((await t.poll(device)).length === 0);
    await t.hub.close();
    expect(await asked).toMatchObject({ ok: true, pending: true });
  });
});

describe('result and cancel', () => {
  test('D110 done, still pending, unknown, and a usage error', async () => {
    const { t, device } = await withDevice();
    const id = await t.send(device.deviceId, invoke('x'));
    expect((await use(t, { action: 'result', envelope_id: id })).body).toMatchObject({
      ok: true,
      pending: true,
      device_id: device.deviceId,
    });
    await t.reply(device, id, { result: 1 });
    const done = await use(t, { action: 'result', envelope_id: id });
    expect(done.body).toMatchObject({ ok: true, result: 1, envelope_id: id });
    const missing = await use(t, { action: 'result' });
    expect([missing.status, missing.body.error]).toEqual([
      400,
      { code: 'bad_request', message: 'envelope_id required' },
    ]);
    const unknown = await use(t, { action: 'result', envelope_id: 'nope' });
    // It may have run and been forgotten, so nothing may call it expired.
    expect(unknown.body).toMatchObject({
      ok: false,
      outcome: 'outcome_unknown',
      error: { code: 'unknown_envelope' },
    });
    const bob = await t.hub.createOwner('bob');
    const foreign = await t.hub.useDevice(bob.ownerId, { action: 'result', envelope_id: id });
    expect(foreign).toMatchObject({ ok: false, error: { code: 'unknown_envelope' } });
  });

  test('an envelope that nobody fetched is cancelled for good', async () => {
    const { t, device } = await withDevice();
    const id = await t.send(device.deviceId, invoke('x'));
    const { body } = await use(t, { action: 'cancel', envelope_id: id });
    expect(body).toMatchObject({ ok: false, outcome: 'cancelled' });
    expect(await t.poll(device)).toEqual([]);
    expect((await t.reply(device, id, 1)).status).toBe(409);
    expect((await use(t, { action: 'cancel', envelope_id: 'nope' })).status).toBe(404);
  });

  test('one that is claimed is asked back from its gateway, whose outcome counts', async () => {
    const { t, gateway, stream, board } = await answering({}, () => undefined);
    const asked = use(t, { action: 'invoke', device_id: board, prompt: 'x' });
    const id = String((await stream.items(1))[0]?.data.envelope_id);
    expect((await gateway.post('claim', { envelope_ids: [id] })).body.claimed).toEqual([id]);
    const { body } = await use(t, { action: 'cancel', envelope_id: id });
    expect(body).toMatchObject({ ok: true, pending: true });
    await stream.until(() => stream.seen.some((h) => h.event === 'cancel'));
    await gateway.post('reply', { replies: [{ envelope_id: id, payload: '"done anyway"' }] });
    expect((await asked).body).toMatchObject({ ok: true, result: 'done anyway' });
  });
});

describe('the owner’s stream', () => {
  test('events, presence, readings and progress come as they are stored, to their owner only', async () => {
    const { t, gateway, board } = await withBoard();
    const stream = await ownerStream(t);
    const bob = await t.hub.createOwner('bob');
    const his = await ownerStream(t, bob.token);
    const at = t.clock.wall();
    const of = { device_id: board, at };
    await gateway.online(board);
    await gateway.up(
      { ...of, kind: 'readings', values: { t: 21 }, stored: false },
      { ...of, kind: 'progress', envelope_id: 'e', percent: 40 },
      { ...of, kind: 'event', boot: 1, board_seq: 1, event: 'tap', detail: 'x' },
    );
    const heard = await stream.items(4);
    expect(heard.map((h) => [h.event, h.id, h.data])).toEqual([
      [
        'presence',
        undefined,
        { device_id: board, name: 'eink', presence: { state: 'online', since: at } },
      ],
      ['readings', undefined, { device_id: board, name: 'eink', at, values: { t: 21 } }],
      ['progress', undefined, { device_id: board, envelope_id: 'e', percent: 40 }],
      [
        'event',
        '1',
        {
          id: 1,
          kind: 'tap',
          detail: 'eink: x',
          device_id: board,
          created: Math.floor(at / 1000),
          data: 'x',
        },
      ],
    ]);
    expect(his.seen).toEqual([]);
  });

  test('it resumes after Last-Event-ID without loss or repetition', async () => {
    const { t, device } = await withDevice();
    const note = (detail: string) =>
      t.ask('POST', '/api/devices/event', { body: { ...device, kind: 'device_note', detail } });
    for (const detail of ['a', 'b', 'c']) await note(detail);
    const stream = await ownerStream(t, t.token, '1');
    await note('d');
    const heard = await stream.items(3);
    expect(heard.map((h) => [h.id, h.data.detail])).toEqual([
      ['2', 'desk: b'],
      ['3', 'desk: c'],
      ['4', 'desk: d'],
    ]);
    const fresh = await ownerStream(t);
    await note('e');
    expect((await fresh.items(1))[0]?.data.detail).toBe('desk: e');
  });

  test('a number from the future is from another database: all is told, and what comes', async () => {
    const { t, device } = await withDevice();
    const note = (detail: string) =>
      t.ask('POST', '/api/devices/event', { body: { ...device, kind: 'device_note', detail } });
    await note('a');
    const stream = await ownerStream(t, t.token, '9000');
    await note('b');
    const heard = await stream.items(2);
    expect(heard.map((h) => [h.id, h.data.detail])).toEqual([
      ['1', 'desk: a'],
      ['2', 'desk: b'],
    ]);
  });

  test('only a GET opens one', async () => {
    const t = await testHub();
    const gateway = await t.gateway();
    expect((await t.own('HEAD', '/api/stream')).status).toBe(404);
    const head = await t.ask('HEAD', '/api/gateway/v1/stream', { as: gateway.token });
    expect(head.status).toBe(404);
  });

  test('a device that dials in is told when it comes back', async () => {
    const { t, device } = await withDevice();
    const stream = await ownerStream(t);
    const beat = () => t.ask('POST', '/api/devices/heartbeat', { body: device });
    await beat();
    t.clock.leap(120_000);
    await beat();
    expect((await stream.items(1))[0]).toMatchObject({
      event: 'presence',
      data: { device_id: device.deviceId, presence: { state: 'online' } },
    });
  });

  test('streams are counted, need a session, and end with the hub', async () => {
    const t = await testHub({ limits: { streams: 1 } });
    expect((await t.ask('GET', '/api/stream')).status).toBe(401);
    const stream = await ownerStream(t);
    const second = await fetch(`${await t.url()}/api/stream`, {
      headers: { authorization: `Bearer ${t.token}` },
    });
    expect([second.status, second.headers.get('retry-after')]).toEqual([503, '30']);
    await second.text();
    await t.hub.close();
    await stream.until(() => stream.closed);
    await expect(Listener.open('http://127.0.0.1:9', t.token)).rejects.toThrow();
  });
});
