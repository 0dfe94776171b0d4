import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../core/types.js';
import { FakeHub, json, no, silence } from './hub.fixture.js';
import { A, World } from './world.fixture.js';

const CLAIM = 'POST /api/gateway/v1/claim';
const REPLY = 'POST /api/gateway/v1/reply';
const STREAM = 'GET /api/gateway/v1/stream';

const done: Outcome = { kind: 'ok', value: 'done', blobs: [] };
const world = (options = {}): Promise<World> => new World(new FakeHub(), options).start();

describe('a hub in trouble', () => {
  it('is waited for while it is down at the start', async () => {
    const hub = new FakeHub();
    hub.down = true;
    const { clock, switchboard, door } = await new World(hub).start();
    expect(door.state()).toMatchObject({ mode: 'finding', connected: false });
    await clock.advance(120_000);
    hub.down = false;
    await clock.advance(60_000);
    expect(door.state()).toMatchObject({ mode: 'push', connected: true, boards: 1 });
    hub.invoke('e1', A, 'status');
    await clock.advance();
    expect(switchboard.released).toEqual(['push/e1']);
  });

  it.each<[string, () => Response | Promise<Response>]>([
    ['500', () => new Response('oops', { status: 500 })],
    ['a 503 with a reason', () => no(503, 'store unavailable', { retryable: true })],
    ['garbage', () => new Response('<html>', { status: 200 })],
    ['the wrong shape', () => json(200, { ok: true, claimed: 'all' })],
    ['an answer without end', () => new Response(new Uint8Array(2 * 1024 * 1024))],
    ['silence', silence],
    ['a 401', () => no(401, 'unknown gateway')],
  ])('claims again after %s, and runs the call once', async (_what, answer) => {
    const { hub, clock, switchboard } = await world();
    hub.once(CLAIM, answer);
    hub.invoke('e1', A, 'status');
    await clock.advance();
    expect(switchboard.released).toEqual([]);
    await clock.advance(30_000);
    expect(hub.of(CLAIM).length).toBe(2);
    expect(switchboard.released).toEqual(['push/e1']);
  });

  it('gets each reply although it fails for a while', async () => {
    const { hub, clock, switchboard, journal } = await world();
    hub.invoke('e1', A, 'status');
    await clock.advance();
    hub.down = true;
    hub.cut();
    await switchboard.finish('push/e1', done);
    await clock.advance(600_000);
    expect(journal.find('push/e1')?.reported).toBe(false);
    hub.down = false;
    await clock.advance(61_000);
    expect(hub.reply('e1')).toMatchObject({ result: 'done' });
    expect(journal.find('push/e1')?.reported).toBe(true);
  });

  it('is told that there was an outcome where it refuses the payload', async () => {
    const { hub, clock, switchboard } = await world();
    hub.invoke('e1', A, 'status');
    await clock.advance();
    hub.once(REPLY, () =>
      json(200, { ok: true, results: [{ envelope_id: 'e1', status: 'bad_payload' }] }),
    );
    await switchboard.finish('push/e1', done);
    await clock.advance();
    expect(hub.reply('e1')).toMatchObject({ ok: false, outcome: 'outcome_unknown' });
  });

  it('one bad envelope in a batch of claims harms no other', async () => {
    const { hub, clock, switchboard } = await world();
    hub.always(CLAIM, ({ body }) => {
      const ids = body.envelope_ids as string[];
      if (ids.includes('bad')) return no(400, 'no such thing');
      return json(200, { ok: true, claimed: ids, lost: [] });
    });
    for (const id of ['e1', 'e2', 'bad', 'e3', 'e4']) hub.invoke(id, A, 'status');
    await clock.advance(5_000);
    expect([...switchboard.released].sort()).toEqual(['push/e1', 'push/e2', 'push/e3', 'push/e4']);
    expect(switchboard.dropped).toEqual(['push/bad']);
  });

  it('is found out anew when it no longer has these routes', async () => {
    const { hub, clock, door } = await world();
    hub.always(STREAM, () => no(404, 'not found'));
    hub.always('GET /api/health', () => json(200, { ok: true, service: 'web' }));
    hub.cut();
    await clock.advance(5_000);
    expect(door.state().mode).toBe('tiny');
  });

  it('that does not know our token is asked seldom and named in the state', async () => {
    const hub = new FakeHub();
    hub.always(STREAM, () => no(401, 'unknown gateway'));
    const { clock, door, logged } = await new World(hub).start();
    await clock.advance(3_600_000);
    expect(door.state()).toMatchObject({ connected: false, unauthorized: true });
    expect(hub.of(STREAM).length).toBeLessThan(100);
    expect(logged.filter((line) => line.startsWith('no stream')).length).toBe(1);
    expect(logged.join()).not.toMatch(/mgw_|mto_/);
  });
});

describe('the stream', () => {
  it('resumes after a cut in the middle of an event, which is offered again', async () => {
    const { hub, clock, switchboard } = await world();
    hub.invoke('e1', A, 'status');
    await clock.advance();
    hub.raw('id: 2\nevent: offer\ndata: {"envelope_id":"e2","devi');
    await clock.advance();
    hub.cut();
    await clock.advance(1_000);
    const streams = hub.of(STREAM);
    expect(streams.map(({ headers }) => headers.get('last-event-id'))).toEqual([null, '1']);
    hub.invoke('e2', A, 'status');
    await clock.advance();
    expect(switchboard.released).toEqual(['push/e1', 'push/e2']);
  });

  it('asks for everything after a longer outage', async () => {
    const { hub, clock } = await world();
    hub.invoke('e1', A, 'status');
    await clock.advance();
    hub.down = true;
    hub.cut();
    await clock.advance(30_000);
    hub.down = false;
    await clock.advance(61_000);
    expect(hub.of(STREAM).at(-1)?.headers.get('last-event-id')).toBeNull();
  });

  it('counts as dead after 40 s without a byte, and not while comments come', async () => {
    const { hub, clock } = await world();
    for (let i = 0; i < 8; i++) {
      await clock.advance(15_000);
      hub.raw(': still here\n\n');
    }
    await clock.advance(39_000);
    expect(hub.of(STREAM).length).toBe(1);
    await clock.advance(2_000);
    expect(hub.of(STREAM).length).toBe(2);
  });

  it('that is ended again and again is not hammered', async () => {
    const { hub, clock } = await world();
    for (let i = 0; i < 300; i++) {
      hub.cut();
      await clock.advance(1_000);
    }
    expect(hub.of(STREAM).length).toBeLessThan(30);
  });

  it('goes on behind events that can’t be read', async () => {
    const { hub, clock, switchboard, door } = await world();
    hub.raw('event: offer\ndata: {not json\n\n');
    hub.tell('offer', { envelope_id: 7 });
    hub.tell('offer', null);
    hub.tell('surprise', {});
    hub.offer('x'.repeat(65), A, '{}');
    hub.raw('\u0000\ufffd\n\n');
    hub.invoke('e1', A, 'status');
    await clock.advance();
    expect(switchboard.released).toEqual(['push/e1']);
    expect(door.state().counters).toMatchObject({
      'stream.bad': 3,
      'stream.unknown': 1,
      'offers.bad_id': 1,
    });
  });

  it('with an endless event is closed and opened anew', async () => {
    const { hub, clock } = await world();
    hub.raw(`data: ${'x'.repeat(300_000)}`);
    await clock.advance(5_000);
    hub.raw('more');
    await clock.advance(5_000);
    expect(hub.of(STREAM).length).toBe(2);
  });
});

describe('a restart', () => {
  it('asks for the claim of an open call again before it goes on', async () => {
    const w = await world();
    w.hub.once(CLAIM, silence);
    w.hub.invoke('e1', A, 'status');
    await w.clock.advance();
    expect(w.switchboard.released).toEqual([]);
    await w.restart();
    expect(w.hub.of(CLAIM).at(-1)?.body.envelope_ids).toEqual(['e1']);
    expect(w.switchboard.released).toEqual(['push/e1']);
    await w.switchboard.finish('push/e1', done);
    await w.clock.advance();
    expect(w.hub.reply('e1')).toMatchObject({ result: 'done' });
  });

  it('drops an open call that another gateway has claimed since', async () => {
    const w = await world();
    w.hub.once(CLAIM, silence);
    w.hub.invoke('e1', A, 'status');
    await w.clock.advance();
    w.hub.taken.add('e1');
    await w.restart();
    expect(w.switchboard.released).toEqual([]);
    expect(w.switchboard.dropped).toEqual(['push/e1']);
  });

  it('tells an outcome that was journaled and not told, claiming first', async () => {
    const w = await world();
    w.hub.always(CLAIM, silence);
    w.hub.invoke('e1', A, 'frobnicate');
    await w.clock.advance();
    w.hub.always(CLAIM, undefined);
    await w.restart('unreachable');
    await w.clock.advance(2_000);
    expect(w.hub.claimed).toEqual(new Set(['e1']));
    expect(w.hub.reply('e1')).toMatchObject({ outcome: 'refused' });
  });

  it('waits for a hub that is down with its open calls', async () => {
    const w = await world();
    w.hub.invoke('e1', A, 'status');
    await w.clock.advance();
    w.hub.down = true;
    await w.restart();
    await w.clock.advance(120_000);
    expect(w.switchboard.released).toEqual([]);
    w.hub.down = false;
    await w.clock.advance(61_000);
    expect(w.switchboard.released).toEqual(['push/e1']);
  });
});
