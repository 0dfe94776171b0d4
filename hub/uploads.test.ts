import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { breakableStore, type TestHub, withDevice } from './hub.fixture.js';

const post = (t: TestHub, path: string, body: object) =>
  t.ask('POST', `/api/devices/${path}`, { body });

describe('tickets', () => {
  test('D72 a task id outside the pattern is refused; missing fields are 400', async () => {
    const { t, device } = await withDevice();
    for (const taskId of ['a b', 'x'.repeat(49), 'ü', '../x']) {
      const answer = await post(t, 'task-result', { ...device, taskId, result: 'r' });
      expect([answer.status, answer.body.error]).toEqual([
        424,
        'taskId must be [A-Za-z0-9_-]{1,48}',
      ]);
    }
    for (const body of [{}, { ...device, taskId: 'a' }, { ...device, result: 'r' }]) {
      const answer = await post(t, 'task-result', body);
      expect([answer.status, answer.body.error]).toEqual([
        400,
        'deviceId, token, taskId and result required',
      ]);
    }
    const wrong = await post(t, 'task-result', { ...device, token: 'x', taskId: 'a', result: 1 });
    expect([wrong.status, wrong.body.error]).toEqual([401, 'unauthorized']);
  });

  test('D73 the same task of two devices has two tickets', async () => {
    const { t, device } = await withDevice();
    const other = await t.enrol('other');
    const tickets = [];
    for (const who of [device, other]) {
      const answer = await post(t, 'task-result', { ...who, taskId: 'job', result: who.deviceId });
      expect(answer.body.ticket).toBe(`task_${who.deviceId.slice(0, 8)}_job`);
      tickets.push(String(answer.body.ticket));
    }
    expect(await t.read(tickets[0] ?? '')).toBe(JSON.stringify({ result: device.deviceId }));
    expect(await t.read(tickets[1] ?? '')).toBe(JSON.stringify({ result: other.deviceId }));
  });

  test('D74 it is redeemed by the ordinary read within 24 hours, by its owner', async () => {
    const { t, device } = await withDevice();
    const { body } = await post(t, 'task-result', {
      ...device,
      taskId: 'job',
      summary: 's'.repeat(200),
      result: 'done',
    });
    const ticket = String(body.ticket);
    expect(await t.read(ticket)).toBe('{"result":"done"}');
    expect(await t.read(ticket, (await t.hub.createOwner('bob')).token)).toBeNull();
    const events = await t.events();
    expect(events).toMatchObject([{ kind: 'device_task_result' }]);
    expect(events[0]?.detail).toContain(`${'s'.repeat(140)} (ticket ${ticket})`);
    t.clock.leap(86_400_000);
    expect(await t.read(ticket)).toBeNull();
  });

  test('D75 a long or escape-heavy result is trimmed to fit', async () => {
    const { t, device } = await withDevice();
    for (const [taskId, result] of [
      ['long', 'x'.repeat(9000)],
      ['lines', '\n'.repeat(7000)],
      ['controls', '\u0001'.repeat(7000)],
    ] as const) {
      const { status, body } = await post(t, 'task-result', { ...device, taskId, result });
      expect(status).toBe(200);
      const payload = (await t.read(String(body.ticket))) ?? '';
      expect(payload.length).toBeLessThanOrEqual(8192);
      const kept = JSON.parse(payload).result;
      expect(result.startsWith(kept) && kept.length > 1000).toBe(true);
    }
  });

  test('D76 batch tickets are the hub’s own process’s alone, and redeem like any other', async () => {
    const { t, device } = await withDevice();
    const ticket = 'batch_0123-abcd';
    const board = randomUUID();
    for (const [owner, name] of [
      [t.ownerId, board],
      [t.ownerId, 'task_0123abcd_x'],
      [t.ownerId, 'batch_short'],
      [t.ownerId, `batch_${'a'.repeat(65)}`],
      [t.ownerId, 'batch_0123_abcd'],
      ['nobody', ticket],
      ['', ticket],
    ] as const) {
      await expect(t.hub.depositBatch(owner, name, 'x')).rejects.toMatchObject({
        status: 400,
        message: 'userId and a batch_* ticket required',
      });
    }
    const pending = await t.own('POST', '/api/use-device', {
      action: 'result',
      envelope_id: ticket,
    });
    expect(pending.body.pending).toBe(true);
    expect(await t.hub.depositBatch(t.ownerId, ticket, 'done')).toBe(true);
    expect(await t.hub.depositBatch(t.ownerId, ticket, 'again')).toBe(false);
    expect(await t.read(ticket)).toBe('{"result":"done"}');
    const bob = (await t.hub.createOwner('bob')).token;
    expect(await t.read(ticket, bob)).toBeNull();
    const result = await t.own('POST', '/api/use-device', {
      action: 'result',
      envelope_id: ticket,
    });
    expect(result.body).toMatchObject({ ok: true, result: 'done' });
    // A device can't deposit under such a name, nor answer it.
    const task = await post(t, 'task-result', { ...device, taskId: 'batch_x', result: 'x' });
    expect(task.body.ticket).toMatch(/^task_/);
    expect((await t.reply(device, ticket, 'x')).status).toBe(424);
    t.clock.advance(86_400_000);
    expect(await t.read(ticket)).toBeNull();
  });

  test('the same task again is announced once, and its first result stays', async () => {
    const { t, device } = await withDevice();
    await post(t, 'task-result', { ...device, taskId: 'job', result: 'first' });
    const { body } = await post(t, 'task-result', { ...device, taskId: 'job', result: 'second' });
    expect(await t.read(String(body.ticket))).toBe('{"result":"first"}');
    expect(await t.events()).toHaveLength(1);
  });
});

describe('events', () => {
  test('D77 only known kinds; the detail starts with the name, both cut', async () => {
    const { t, device } = await withDevice({}, 'n'.repeat(60));
    for (const kind of ['ui_tap', 'device_missed', 'x']) {
      const answer = await post(t, 'event', { ...device, kind });
      expect([answer.status, answer.body.error]).toEqual([424, 'unsupported kind']);
    }
    const missing = await post(t, 'event', device);
    expect(missing.body.error).toBe('deviceId, token and kind required');
    for (const kind of ['nicla_wake', 'nicla_sentry', 'nicla_transcript', 'device_note']) {
      const detail = 'd'.repeat(300);
      expect((await post(t, 'event', { ...device, kind, detail })).body).toEqual({ ok: true });
    }
    const events = await t.events();
    expect(events.map((e) => e.kind)).toEqual([
      'nicla_wake',
      'nicla_sentry',
      'nicla_transcript',
      'device_note',
    ]);
    expect(events[0]?.detail).toBe(`${'n'.repeat(40)}: ${'d'.repeat(240)}`);
  });

  test('D78 the ring keeps 200 and leaves other owners’ alone', async () => {
    const { database } = await breakableStore();
    const { t, device } = await withDevice({ database });
    const bob = (await t.hub.createOwner('bob')).token;
    const made = await t.ask('POST', '/api/devices', { as: bob, body: { name: 'b' } });
    const his = { deviceId: made.body.device_id, token: made.body.device_token };
    await post(t, 'event', { ...his, kind: 'device_note', detail: 'his' });
    const all = Array.from({ length: 230 }, (_, i) =>
      post(t, 'event', { ...device, kind: 'device_note', detail: `${i}` }),
    );
    await Promise.all(all);
    const kept = database.read((r) =>
      r.get<{ n: number }>('SELECT count(*) AS n FROM events WHERE owner_id = ?', [t.ownerId]),
    );
    expect(kept?.n).toBe(200);
    const page = await t.events();
    expect(page.map((e) => e.detail)).toEqual(
      Array.from({ length: 50 }, (_, i) => `desk: ${180 + i}`),
    );
    const ids = page.map((e) => e.id);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    const since = await t.own('GET', `/api/events?sinceId=${ids[47]}`);
    expect((since.body.events as { id: number }[]).map((e) => e.id)).toEqual(ids.slice(48));
    const junk = await t.own('GET', '/api/events?sinceId=junk');
    expect(junk.body.events).toHaveLength(50);
    expect((await t.events(bob)).map((e) => e.detail)).toEqual(['b: his']);
  });
});

describe('transcripts', () => {
  const list = async (t: TestHub, query = '', as = t.token) => {
    const { body } = await t.ask('GET', `/api/devices/transcript${query}`, { as });
    return body.transcripts as Record<string, unknown>[];
  };

  test('D79 blank text is 400, plain http audio 424, text is cut at 16,384', async () => {
    const { t, device } = await withDevice();
    for (const text of [undefined, '', '  ', 7]) {
      const answer = await post(t, 'transcript', { ...device, text });
      expect([answer.status, answer.body.error]).toEqual([
        400,
        'deviceId, token and text required',
      ]);
    }
    for (const audioUrl of ['http://x.example/a', 'x', `https://x.example/${'a'.repeat(300)}`, 7]) {
      const answer = await post(t, 'transcript', { ...device, text: 'x', audioUrl });
      expect([answer.status, answer.body.error]).toEqual([
        424,
        'audioUrl must be https:// and ≤300 chars',
      ]);
    }
    const { body } = await post(t, 'transcript', {
      ...device,
      text: 'x'.repeat(20_000),
      label: 'l'.repeat(100),
      audioUrl: 'https://x.example/a',
      durationS: 3.9,
    });
    const one = await t.own('GET', `/api/devices/transcript?id=${body.id}`);
    expect(one.body.transcript).toEqual({
      id: body.id,
      device_id: device.deviceId,
      label: 'l'.repeat(80),
      text: 'x'.repeat(16_384),
      audio_url: 'https://x.example/a',
      duration_s: 3,
      created: 1_800_000_000,
    });
    expect((await t.events())[0]).toMatchObject({
      kind: 'nicla_transcript',
      detail: `desk: "${'x'.repeat(200)}" (transcript ${body.id})`,
    });
  });

  test('D80 a preview of 200; exactly 200 is not truncated and 201 is', async () => {
    const { t, device } = await withDevice();
    await post(t, 'transcript', { ...device, text: 'a'.repeat(200), durationS: -5 });
    await post(t, 'transcript', { ...device, text: 'b'.repeat(201) });
    expect(await list(t)).toMatchObject([
      { preview: 'b'.repeat(200), chars: 201, truncated: true, duration_s: null },
      { preview: 'a'.repeat(200), chars: 200, truncated: false, duration_s: 0 },
    ]);
  });

  test('D81 a stranger’s or an unknown id is not found', async () => {
    const { t, device } = await withDevice();
    const { body } = await post(t, 'transcript', { ...device, text: 'x' });
    const bob = (await t.hub.createOwner('bob')).token;
    for (const [id, as] of [
      [body.id, bob],
      ['unknown', t.token],
    ]) {
      const answer = await t.ask('GET', `/api/devices/transcript?id=${id}`, { as: String(as) });
      expect([answer.status, answer.body]).toEqual([404, { ok: false, error: 'not found' }]);
    }
    expect(await list(t, '', bob)).toEqual([]);
  });

  test('D82 of one second the oldest by insertion go, 200 stay', async () => {
    const { t, device } = await withDevice();
    const ids = [];
    for (let i = 0; i < 205; i++) {
      const { body } = await post(t, 'transcript', { ...device, text: `t${i}` });
      ids.push(body.id);
    }
    expect((await list(t)).map((row) => row.preview)).toEqual(
      Array.from({ length: 20 }, (_, i) => `t${204 - i}`),
    );
    expect(await list(t, '?limit=500')).toHaveLength(50);
    for (const [index, status] of [
      [4, 404],
      [5, 200],
    ] as const) {
      const one = await t.own('GET', `/api/devices/transcript?id=${ids[index]}`);
      expect(one.status).toBe(status);
    }
  });
});
