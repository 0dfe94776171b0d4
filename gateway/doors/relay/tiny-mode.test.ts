import { describe, expect, it } from 'vitest';
import { TINY_LIMITS } from '../../../protocol/tiny.js';
import type { Outcome } from '../../core/types.js';
import { FakeHub, json, no, silence } from './hub.fixture.js';
import { A, B, World } from './world.fixture.js';

const PATCH = 'PATCH /api/devices/relay';
const EVENT = 'POST /api/devices/event';
const DEVICE = 'dev-board aa';

const done: Outcome = { kind: 'ok', value: 'done', blobs: [] };
const world = (options = {}): Promise<World> => new World(new FakeHub('tiny'), options).start();
const send = (hub: FakeHub, id: string, prompt: string): void => {
  const box = hub.mail.get(DEVICE) ?? [];
  hub.mail.set(DEVICE, [
    ...box,
    { id, payload: JSON.stringify({ type: 'invoke', prompt }), created_at: 0 },
  ]);
};

describe('envelopes of a tiny hub', () => {
  it('are journaled and run at once, a full mailbox without a wait', async () => {
    const { hub, clock, switchboard, journal } = await world();
    for (let i = 0; i < 12; i++) send(hub, `e${i}`, 'tap 1 2');
    await clock.advance(5_100);
    expect(switchboard.released).toEqual(Array.from({ length: 12 }, (_, i) => `tiny/e${i}`));
    await switchboard.finish('tiny/e3', done);
    await clock.advance();
    expect(hub.of(PATCH)[0]?.body).toMatchObject({ deviceId: DEVICE, inReplyTo: 'e3' });
    expect(hub.reply('e3')).toEqual({ ok: true, outcome: 'ok', result: 'done' });
    expect(journal.find('tiny/e3')?.reported).toBe(true);
  });

  it('are answered whatever they hold', async () => {
    const { hub, clock } = await world();
    const payloads = [
      '',
      'junk',
      '[]',
      '{"type":7}',
      '{"type":"flipper"}',
      '{"type":"notify","title":"x"}',
      '{"prompt":"nope"}',
    ];
    hub.mail.set(
      DEVICE,
      payloads.map((payload, i) => ({ id: `e${i}`, payload, created_at: 0 })),
    );
    await clock.advance(11_000);
    expect([...hub.replies.keys()]).toEqual(payloads.map((_, i) => `e${i}`));
  });

  it('that the journal can’t take are kept and not polled past', async () => {
    const { hub, clock, switchboard, disk, door } = await world();
    disk.broken = true;
    for (let i = 0; i < 8; i++) send(hub, `e${i}`, 'status');
    await clock.advance(120_000);
    expect(hub.mail.get(DEVICE)?.length).toBe(3);
    expect(door.state().held).toBe(5);
    expect(switchboard.released).toEqual([]);
    disk.broken = false;
    await clock.advance(61_000);
    expect(switchboard.released.length).toBe(8);
  });

  it('that ran before a restart go on after it without being polled again', async () => {
    const w = await world();
    send(w.hub, 'e1', 'status');
    await w.clock.advance(5_100);
    await w.restart();
    expect(w.switchboard.released).toEqual(['tiny/e1']);
    await w.switchboard.finish('tiny/e1', done);
    await w.clock.advance();
    expect(w.hub.reply('e1')).toMatchObject({ result: 'done' });
  });

  it.each<[string, () => Response | Promise<Response>]>([
    ['500', () => new Response('', { status: 500 })],
    ['garbage', () => new Response('<html>')],
    ['silence', silence],
    ['an unknown 424', () => no(424, 'worker exploded')],
    ['a 401', () => no(401, 'unauthorized')],
    ['registry unreachable', () => no(424, 'registry unreachable')],
  ])('have their reply told again after %s', async (_what, answer) => {
    const { hub, clock, switchboard } = await world();
    send(hub, 'e1', 'status');
    await clock.advance(5_100);
    hub.once(PATCH, answer);
    await switchboard.finish('tiny/e1', done);
    await clock.advance(60_000);
    expect(hub.of(PATCH).length).toBe(2);
    expect(hub.reply('e1')).toMatchObject({ result: 'done' });
  });

  it.each<[string, () => Response, string]>([
    ['409', () => no(409, 'answered before'), 'replies.answered_before'],
    ['envelope not found', () => no(424, 'envelope not found'), 'replies.envelope not found'],
  ])('have their reply given up on %s', async (_what, answer, counter) => {
    const { hub, clock, switchboard, journal, door } = await world();
    send(hub, 'e1', 'status');
    await clock.advance(5_100);
    hub.always(PATCH, answer);
    await switchboard.finish('tiny/e1', done);
    await clock.advance(60_000);
    expect(hub.of(PATCH).length).toBe(1);
    expect(journal.find('tiny/e1')?.reported).toBe(true);
    expect(door.state().counters[counter]).toBe(1);
  });

  it('have a short reply where the hub does not take the text', async () => {
    const { hub, clock, switchboard } = await world();
    send(hub, 'e1', 'status');
    await clock.advance(5_100);
    hub.once(PATCH, () => no(424, 'payload must be valid JSON ≤8KB'));
    await switchboard.finish('tiny/e1', done);
    await clock.advance();
    expect(hub.reply('e1')).toMatchObject({ ok: false, outcome: 'outcome_unknown' });
  });
});

describe('what a board sends up to a tiny hub', () => {
  it('goes by the tiny routes, unlisted kinds as notes', async () => {
    const { hub, clock, switchboard, journal } = await world();
    await switchboard.keep({
      boardId: A,
      kind: 'event',
      seq: 1,
      body: { kind: 'nicla_wake', detail: 'alexa 3' },
    });
    await switchboard.keep({
      boardId: A,
      kind: 'event',
      seq: 2,
      body: { kind: 'ui_tap', detail: { id: 'x'.repeat(300) } },
    });
    await switchboard.keep({
      boardId: A,
      kind: 'event',
      seq: 3,
      body: { kind: 'button', detail: null },
    });
    await switchboard.keep({ boardId: A, kind: 'readings', seq: 4, body: { values: { t: 21.5 } } });
    await switchboard.keep({
      boardId: A,
      kind: 'transcript',
      seq: 5,
      body: { text: 'hi', label: 'l', durationS: 2 },
    });
    await switchboard.keep({
      boardId: A,
      kind: 'task_result',
      seq: 6,
      body: { taskId: 't1', summary: 's', result: { a: 1 } },
    });
    await clock.advance();
    const events = hub.of(EVENT).map(({ body }) => [body.kind, body.detail]);
    expect(events[0]).toEqual(['nicla_wake', 'alexa 3']);
    expect(events[1]?.[0]).toBe('device_note');
    expect(events[1]?.[1]).toMatch(/^ui_tap: \{"id":"x+$/);
    expect(String(events[1]?.[1]).length).toBe(TINY_LIMITS.eventDetail);
    expect(events.slice(2)).toEqual([
      ['device_note', 'button'],
      ['device_note', 'readings: {"t":21.5}'],
    ]);
    expect(hub.of('POST /api/devices/transcript')[0]?.body).toMatchObject({
      text: 'hi',
      label: 'l',
      durationS: 2,
    });
    expect(hub.of('POST /api/devices/task-result')[0]?.body).toMatchObject({
      taskId: 't1',
      summary: 's',
      result: { a: 1 },
    });
    expect(journal.pending(10)).toEqual([]);
  });

  it('waits for the hub in order; what it will never take is put aside', async () => {
    const { hub, clock, switchboard, journal, door } = await world();
    hub.once(EVENT, () => new Response('', { status: 500 }));
    hub.always('POST /api/devices/task-result', () =>
      no(424, 'taskId must be [A-Za-z0-9_-]{1,48}'),
    );
    await switchboard.keep({ boardId: A, kind: 'event', seq: 1, body: { kind: 'a', detail: 1 } });
    await switchboard.keep({
      boardId: A,
      kind: 'task_result',
      seq: 2,
      body: { taskId: 'ü', summary: '', result: 1 },
    });
    await switchboard.keep({ boardId: A, kind: 'event', seq: 3, body: { kind: 'b', detail: 2 } });
    await clock.advance();
    expect(journal.pending(10).length).toBe(3);
    await clock.advance(5_000);
    expect(hub.of(EVENT).map(({ body }) => body.detail)).toEqual(['a: 1', 'a: 1', 'b: 2']);
    expect(journal.pending(10)).toEqual([]);
    expect(door.state().counters['up.aside']).toBe(1);
  });

  it('that gets a 424 without end is put aside in the end', async () => {
    const { hub, clock, switchboard, journal } = await world();
    hub.always(EVENT, () => no(424, 'worker exploded'));
    await switchboard.keep({ boardId: A, kind: 'event', seq: 1, body: { kind: 'a', detail: 1 } });
    await clock.advance(60_000);
    expect(journal.pending(1).length).toBe(1);
    await clock.advance(600_000);
    expect(journal.pending(1)).toEqual([]);
    expect(hub.of(EVENT).length).toBe(10);
  });

  it('of one board is not held up by another', async () => {
    const { hub, clock, switchboard, journal } = await world();
    switchboard.set(B, 'online');
    await clock.advance();
    hub.always(EVENT, ({ body }) =>
      body.deviceId === DEVICE ? new Response('', { status: 500 }) : json(200, { ok: true }),
    );
    await switchboard.keep({ boardId: A, kind: 'event', seq: 1, body: { kind: 'a', detail: 1 } });
    await switchboard.keep({ boardId: B, kind: 'event', seq: 1, body: { kind: 'b', detail: 1 } });
    await clock.advance();
    expect(journal.pending(10).map(({ item }) => item.boardId)).toEqual([A]);
  });

  it('has asks, pictures and late results too', async () => {
    const blobs = { read: async () => new Uint8Array([1, 2, 3]) };
    const { hub, clock, switchboard, journal } = await world({ blobs });
    await switchboard.keep({ boardId: A, kind: 'ask', seq: 1, body: { askId: 1, text: 'q' } });
    send(hub, 'e1', 'snapshot');
    await clock.advance(5_100);
    expect(hub.of('POST /api/devices/ask')[0]?.body).toEqual({
      deviceId: DEVICE,
      token: `tind_${'t'.repeat(43)}`,
      text: 'q',
    });
    expect(switchboard.answers).toMatchObject([{ askId: 1, answer: { text: 'It is noon.' } }]);
    const picture = { key: 'b', size: 3, mediaType: 'image/png', purpose: 'snapshot' };
    await switchboard.finish('tiny/e1', { kind: 'ok', value: null, blobs: [picture] });
    await clock.advance();
    expect(hub.of('POST /api/media')[0]?.body).toMatchObject({
      data: 'AQID',
      contentType: 'image/png',
    });
    expect(hub.reply('e1')).toMatchObject({ images: ['/media/k.png'] });
    const record = journal.find('tiny/e1');
    if (!record) throw new Error('not journaled');
    await switchboard.door?.late?.({ ...record, late: done });
    expect(hub.of(EVENT).at(-1)?.body).toMatchObject({
      kind: 'device_note',
      detail: expect.stringContaining('late result of snapshot (e1)'),
    });
  });
});

describe('finding out how a hub is spoken to', () => {
  it('takes a hub without a health route for an older tiny hub', async () => {
    const hub = new FakeHub('tiny');
    hub.always('GET /api/health', () => no(404, 'not found'));
    const { door } = await new World(hub).start();
    expect(door.state().mode).toBe('tiny');
  });

  it('says so where no token fits, and looks again', async () => {
    const hub = new FakeHub('tiny');
    const w = await new World(hub, {
      hub: { url: 'http://hub.test', gatewayToken: 'mgw_x' },
    }).start();
    await w.clock.advance(180_000);
    expect(w.door.state().mode).toBe('finding');
    expect(w.logged.filter((line) => line.includes('can’t be used')).length).toBe(4);
  });

  it('never lets a token into a log, whatever happens', async () => {
    const w = await world();
    w.hub.revoked = true;
    send(w.hub, 'e1', 'status');
    await w.clock.advance(600_000);
    w.hub.down = true;
    await w.clock.advance(600_000);
    expect(w.logged.length).toBeGreaterThan(5);
    expect(w.logged.join('\n')).not.toMatch(/tind_|mto_|mgw_/);
    expect(JSON.stringify(w.door.state())).not.toMatch(/tind_|mto_|mgw_/);
  });
});
