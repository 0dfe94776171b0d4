import { describe, expect, test } from 'vitest';
import { invoke, withBoard } from './hub.fixture.js';

describe('what goes up', () => {
  const event = (device_id: string, board_seq: number, extra = {}) => ({
    kind: 'event',
    device_id,
    boot: 1,
    board_seq,
    event: 'tap',
    detail: { x: 1, y: 2 },
    ...extra,
  });

  test('it is acknowledged, and a board item that is repeated is kept once', async () => {
    const { t, gateway, board } = await withBoard();
    expect((await gateway.up(event(board, 1), event(board, 2))).body).toEqual({
      ok: true,
      ack: 2,
      refused: [],
    });
    expect((await gateway.up(event(board, 2), event(board, 1, { boot: 2 }))).body.ack).toBe(4);
    const events = await t.events();
    expect(events.map((e) => e.detail)).toEqual(Array(3).fill('eink: {"x":1,"y":2}'));
    expect(events[0]).toMatchObject({ kind: 'tap', device_id: board, data: { x: 1, y: 2 } });
  });

  test('an item that is bad or not this gateway’s is refused by itself', async () => {
    const { t, gateway, board } = await withBoard();
    const device = await t.enrol('dials in');
    const { body } = await gateway.post('up', {
      items: [
        { seq: 5, at: 0, ...event(board, 1) },
        { seq: 6, at: 0, ...event(device.deviceId, 1) },
        { seq: 7, kind: 'what' },
        null,
        'text',
        { seq: 8, at: -1, ...event(board, 2) },
      ],
    });
    expect(body.ack).toBe(8);
    expect((body.refused as { seq: number }[]).map((r) => r.seq).sort()).toEqual([0, 0, 6, 7, 8]);
    expect(await t.events()).toHaveLength(1);
  });

  test('transcripts and task results go the way of the tiny routes', async () => {
    const { t, gateway, board } = await withBoard();
    const base = { device_id: board, boot: 1 };
    await gateway.up(
      {
        ...base,
        kind: 'transcript',
        board_seq: 1,
        text: 'hello',
        durationS: 2.5,
        audioUrl: '/media/a.wav',
      },
      { ...base, kind: 'task_result', board_seq: 2, taskId: 'job', summary: 's', result: { a: 1 } },
    );
    expect((await t.events()).map((e) => e.kind)).toEqual([
      'nicla_transcript',
      'device_task_result',
    ]);
    expect(await t.read(`task_${board.slice(0, 8)}_job`)).toBe('{"result":"{\\"a\\":1}"}');
    const { body } = await t.own('GET', '/api/devices/transcript');
    expect(body.transcripts).toMatchObject([
      { preview: 'hello', duration_s: 2, audio_url: '/media/a.wav' },
    ]);
  });

  test('readings: the newest of each is kept, older ones and stamps of the future do not win', async () => {
    const { t, gateway, board } = await withBoard();
    const at = t.clock.wall();
    const readings = (stamp: number, values: object) => ({
      kind: 'readings',
      device_id: board,
      at: stamp,
      values,
      stored: true,
    });
    await gateway.up(readings(at - 10, { t: 20, h: 40 }), readings(at, { t: 21 }));
    await gateway.up(readings(at - 5, { t: 19 }), readings(at + 9_999_999, { h: 41 }));
    t.clock.advance(1_000);
    await gateway.up(readings(at + 1_000, { h: 42 }));
    const { body } = await t.own('GET', `/api/devices/${board}/readings`);
    expect(body.readings).toEqual({
      h: { value: 42, at: at + 1_000 },
      t: { value: 21, at },
    });
  });

  test('a late result stands beside the reply and is announced once', async () => {
    const { t, gateway, board } = await withBoard();
    const id = await t.send(board, invoke('x'));
    await gateway.post('claim', { envelope_ids: [id] });
    const told = JSON.stringify({ ok: false, outcome: 'outcome_unknown', result: '?' });
    await gateway.post('reply', { replies: [{ envelope_id: id, payload: told }] });
    const late = { kind: 'late', device_id: board, envelope_id: id, payload: '{"ok":true}' };
    await gateway.up(late, late);
    await gateway.up({ ...late, payload: 'no json' }, { ...late, envelope_id: 'nope' });
    expect((await t.events()).map((e) => e.kind)).toEqual(['device_late_result']);
    expect(await t.read(id)).toBe(told);
    const { body } = await t.own('POST', '/api/use-device', { action: 'result', envelope_id: id });
    expect(body).toMatchObject({ ok: false, outcome: 'outcome_unknown', late: { ok: true } });
  });

  test('media go up as they are, within 6 MB', async () => {
    const { t, gateway } = await withBoard();
    const up = (type: string, text: string) =>
      t.ask('POST', '/api/gateway/v1/media', {
        as: gateway.token,
        text,
        headers: { 'content-type': type },
      });
    const { status, body } = await up('image/png', 'bytes');
    expect([status, body.bytes]).toEqual([200, 5]);
    expect((await t.ask('GET', String(body.url))).raw).toBe('bytes');
    expect((await up('text/html', 'bytes')).status).toBe(424);
    expect((await up('image/png', '')).status).toBe(400);
    expect((await up('image/png', 'x'.repeat(6 * 1024 * 1024 + 1))).status).toBe(413);
  });
});
