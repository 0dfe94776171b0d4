import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../core/types.js';
import { catalogOf, EINK, verb } from './boards.fixture.js';
import { FakeHub, json, no, silence } from './hub.fixture.js';
import { A, B, World } from './world.fixture.js';

const BOARDS = 'POST /api/gateway/v1/boards';
const CLAIM = 'POST /api/gateway/v1/claim';
const REPLY = 'POST /api/gateway/v1/reply';
const UP = 'POST /api/gateway/v1/up';
const STREAM = 'GET /api/gateway/v1/stream';

const done: Outcome = { kind: 'ok', value: 'done', blobs: [] };
const world = (options = {}): Promise<World> => new World(new FakeHub(), options).start();

describe('an envelope on its way', () => {
  it('is journaled, claimed, released and answered', async () => {
    const { hub, switchboard, clock, journal } = await world();
    let journaledFirst = false;
    hub.once(CLAIM, ({ body }) => {
      journaledFirst = journal.find('push/e1') !== undefined && switchboard.released.length === 0;
      hub.claimed.add('e1');
      return json(200, { ok: true, claimed: body.envelope_ids, lost: [] });
    });
    hub.invoke('e1', A, 'tap 1 2');
    await clock.advance();
    expect(journaledFirst).toBe(true);
    expect(switchboard.admitted[0]).toMatchObject({
      key: 'push/e1',
      door: 'relay',
      boardId: A,
      verb: 'tap',
      args: { x: 1, y: 2 },
    });
    expect(switchboard.released).toEqual(['push/e1']);
    expect(hub.replies.size).toBe(0);
    await switchboard.finish('push/e1', done);
    await clock.advance();
    expect(hub.reply('e1')).toEqual({ ok: true, outcome: 'ok', result: 'done' });
    expect(journal.find('push/e1')?.reported).toBe(true);
  });

  it('shares claims and replies of the same turn', async () => {
    const { hub, switchboard, clock } = await world();
    for (let i = 0; i < 50; i++) hub.invoke(`e${i}`, A, 'status');
    await clock.advance();
    expect(hub.claimed.size).toBe(50);
    expect(hub.of(CLAIM).length).toBeLessThanOrEqual(3);
    for (let i = 0; i < 50; i++) await switchboard.finish(`push/e${i}`, done);
    await clock.advance();
    expect(hub.replies.size).toBe(50);
    expect(hub.of(REPLY).length).toBeLessThanOrEqual(10);
  });

  it('runs once however often it is offered', async () => {
    const { hub, switchboard, clock } = await world();
    for (let i = 0; i < 3; i++) hub.invoke('e1', A, 'status');
    await clock.advance();
    hub.invoke('e1', A, 'status');
    await clock.advance();
    expect(switchboard.released).toEqual(['push/e1']);
    expect(switchboard.admitted.length).toBe(1);
  });

  it('is answered again, and not run, when the hub has forgotten the answer', async () => {
    const { hub, switchboard, clock } = await world();
    hub.invoke('e1', A, 'status');
    await clock.advance();
    await switchboard.finish('push/e1', done);
    await clock.advance();
    hub.replies.clear();
    hub.invoke('e1', A, 'status');
    await clock.advance();
    expect(hub.reply('e1')).toMatchObject({ result: 'done' });
    expect(switchboard.released).toEqual(['push/e1']);
  });

  it('is dropped where another gateway has it', async () => {
    const { hub, switchboard, clock, journal, door } = await world();
    hub.taken.add('e1');
    hub.invoke('e1', A, 'status');
    await clock.advance();
    expect(switchboard.dropped).toEqual(['push/e1']);
    expect(switchboard.released).toEqual([]);
    expect(journal.find('push/e1')).toBeUndefined();
    expect(door.state()).toMatchObject({ running: 0, counters: { 'claims.taken': 1 } });
  });

  it('is answered by the gateway itself where the prompt can’t be read', async () => {
    const { hub, clock, switchboard } = await world();
    hub.invoke('e1', A, 'frobnicate');
    hub.invoke('e2', A, '');
    hub.offer('e3', A, 'no json');
    await clock.advance();
    expect(hub.reply('e1')).toMatchObject({
      ok: false,
      outcome: 'refused',
      error: { code: 'unknown_verb' },
    });
    expect(hub.reply('e1')?.result).toContain('- tap x:i0..799 y:i0..479');
    expect(hub.reply('e2')?.result).toContain('empty');
    expect(hub.reply('e3')?.result).toContain("can't be read");
    expect(switchboard.admitted).toEqual([]);
    expect(hub.claimed.size).toBe(3);
  });

  it('is answered where no frame could carry its arguments', async () => {
    const { hub, clock, switchboard } = await world();
    switchboard.fail = new RangeError('a lone surrogate');
    hub.invoke('e1', A, 'say hi');
    await clock.advance();
    expect(hub.reply('e1')).toMatchObject({ outcome: 'refused', error: { code: 'bad_arguments' } });
    expect(hub.reply('e1')?.result).toContain('a lone surrogate');
  });

  it('says how a call ended, whatever the end', async () => {
    const { hub, clock, switchboard } = await world();
    hub.invoke('e1', A, 'status');
    await clock.advance();
    await switchboard.finish('push/e1', { kind: 'outcome_unknown', message: 'It rebooted.' });
    await clock.advance();
    expect(hub.reply('e1')).toMatchObject({
      ok: false,
      outcome: 'outcome_unknown',
      result: 'It rebooted.',
    });
  });
});

describe('an envelope for a board that can’t be reached', () => {
  it.each(['unreachable', 'asleep'] as const)('stays unclaimed while it is %s', async (state) => {
    const { hub, clock, switchboard, door } = await world();
    switchboard.set(A, state);
    hub.invoke('e1', A, 'status');
    await clock.advance(60_000);
    expect(hub.of(CLAIM)).toEqual([]);
    expect(door.state().held).toBe(1);
    switchboard.set(A, 'online');
    await clock.advance();
    expect(hub.claimed).toEqual(new Set(['e1']));
    expect(switchboard.released).toEqual(['push/e1']);
    expect(door.state().held).toBe(0);
  });

  it('stays unclaimed when the board goes while it is journaled', async () => {
    const { hub, clock, switchboard, journal } = await world();
    switchboard.refuse = { kind: 'unreachable', message: 'gone' };
    hub.invoke('e1', A, 'status');
    await clock.advance();
    expect(hub.of(CLAIM)).toEqual([]);
    expect(journal.find('push/e1')).toBeUndefined();
    switchboard.refuse = undefined;
    await clock.advance(2_000);
    expect(switchboard.released).toEqual(['push/e1']);
  });

  it('is taken up when the hub first learns of its board', async () => {
    const { hub, clock, switchboard } = await world();
    hub.invoke('e1', B, 'status');
    await clock.advance();
    switchboard.set(B, 'online');
    await clock.advance();
    expect(switchboard.released).toEqual(['push/e1']);
  });

  it('is asked for again where there were too many to hold', async () => {
    const { hub, clock, switchboard, door } = await world();
    switchboard.set(A, 'unreachable');
    for (let i = 0; i < 70; i++) hub.invoke(`e${i}`, A, 'status');
    await clock.advance();
    expect(door.state()).toMatchObject({ held: 64, counters: { 'offers.not_held': 6 } });
    switchboard.set(A, 'online');
    await clock.advance(1_000);
    const [, second] = hub.of(STREAM);
    expect(second?.headers.get('last-event-id')).toBeNull();
    for (let i = 64; i < 70; i++) hub.invoke(`e${i}`, A, 'status');
    await clock.advance();
    expect(switchboard.released.length).toBe(70);
  });

  it('is forgotten when it is cancelled', async () => {
    const { hub, clock, switchboard, door } = await world();
    switchboard.set(A, 'unreachable');
    hub.invoke('e1', A, 'status');
    await clock.advance();
    hub.tell('cancel', { envelope_id: 'e1' });
    await clock.advance();
    expect(door.state().held).toBe(0);
    switchboard.set(A, 'online');
    await clock.advance();
    expect(hub.of(CLAIM)).toEqual([]);
  });
});

describe('cancelling', () => {
  it('reaches a call that runs', async () => {
    const { hub, clock, switchboard } = await world();
    hub.invoke('e1', A, 'status');
    await clock.advance();
    hub.tell('cancel', { envelope_id: 'e1' });
    await clock.advance();
    expect(switchboard.cancelled).toEqual(['push/e1']);
  });

  it('stops an envelope that is being journaled before it is claimed', async () => {
    const { hub, clock, switchboard } = await world();
    let go: () => void = () => undefined;
    const admit = switchboard.admit.bind(switchboard);
    switchboard.admit = async (call) => {
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      return admit(call);
    };
    hub.invoke('e1', A, 'status');
    await clock.advance();
    hub.tell('cancel', { envelope_id: 'e1' });
    await clock.advance();
    go();
    await clock.advance();
    expect(hub.of(CLAIM)).toEqual([]);
    expect(switchboard.dropped).toEqual(['push/e1']);
  });
});

describe('a journal that takes nothing', () => {
  it('stops claims until it takes something again; the offers stay', async () => {
    const { hub, clock, switchboard, disk, door } = await world();
    disk.broken = true;
    for (let i = 0; i < 5; i++) hub.invoke(`e${i}`, A, 'status');
    await clock.advance(300_000);
    expect(hub.of(CLAIM)).toEqual([]);
    expect(door.state().held).toBe(5);
    expect(Number(door.state().counters['offers.journal_down'])).toBeLessThan(30);
    disk.broken = false;
    await clock.advance(61_000);
    expect([...switchboard.released].sort()).toEqual(
      ['e0', 'e1', 'e2', 'e3', 'e4'].map((e) => `push/${e}`),
    );
    expect(door.state().held).toBe(0);
  });
});

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

describe('boards at the hub', () => {
  it('are registered with their catalog once, and again when it changes', async () => {
    const { hub, clock, switchboard, journal } = await world();
    const [first] = hub.of(BOARDS);
    expect(first?.headers.get('authorization')).toMatch(/^Bearer mgw_/);
    expect(first?.body).toMatchObject({
      boardId: A,
      name: 'board aa',
      platform: 'esp32',
      capabilities: EINK.verbs.map(({ name }) => name),
    });
    expect(journal.get('device', A)).toBe(`dev-${A}`);
    switchboard.set(A, 'unreachable');
    switchboard.set(A, 'online');
    await clock.advance(1_000);
    expect(hub.of(BOARDS).length).toBe(1);
    switchboard.recatalog(A, catalogOf([verb('beep')], { hash: 'ffffffffffffffff' }));
    await clock.advance(1_000);
    expect(hub.of(BOARDS)[1]?.body.capabilities).toEqual(['beep']);
  });

  it('that are refused are tried again later and hinder no other', async () => {
    const hub = new FakeHub();
    hub.once(BOARDS, () => no(409, 'this board belongs to another owner'));
    const { clock, switchboard, door } = await new World(hub).start();
    switchboard.set(B, 'online');
    await clock.advance(60_000);
    expect(door.state().boards).toBe(1);
    expect(hub.of(BOARDS).length).toBe(2);
    await clock.advance(300_000);
    expect(door.state().boards).toBe(2);
  });

  it('wait together for a hub that fails', async () => {
    const hub = new FakeHub();
    hub.always(BOARDS, () => new Response('', { status: 500 }));
    const { clock, switchboard, door } = await new World(hub).start();
    for (let i = 0; i < 20; i++) switchboard.set(`00000000000000${10 + i}`, 'online');
    await clock.advance(60_000);
    expect(hub.of(BOARDS).length).toBeLessThan(80);
    hub.always(BOARDS, undefined);
    await clock.advance(120_000);
    expect(door.state().boards).toBe(21);
  });
});

describe('a gateway without a token', () => {
  it('enrols itself at a hub of ours, once', async () => {
    const hub = new FakeHub();
    const token = `mgw_${'n'.repeat(43)}`;
    hub.always('POST /api/gateway/v1/enrol', () =>
      json(200, { ok: true, gateway_id: 'g1', gateway_token: token }),
    );
    const w = new World(hub, { hub: { url: 'http://hub.test', ownerToken: 'mto_x' }, name: 'pi' });
    await w.start();
    await w.restart();
    const enrols = hub.of('POST /api/gateway/v1/enrol');
    expect(enrols.map(({ body }) => body.name)).toEqual(['pi']);
    expect(hub.of(STREAM).map(({ headers }) => headers.get('authorization'))).toEqual([
      `Bearer ${token}`,
      `Bearer ${token}`,
    ]);
  });
});

describe('pictures', () => {
  const blob = (mediaType: string, size = 3) => ({
    key: 'b1',
    size,
    mediaType,
    purpose: 'snapshot',
  });
  const blobs = { read: async () => new Uint8Array([1, 2, 3]) };
  const finished = async (outcome: Outcome, options: object, hub = new FakeHub()) => {
    const w = await new World(hub, options).start();
    hub.invoke('e1', A, 'snapshot');
    await w.clock.advance();
    await w.switchboard.finish('push/e1', outcome);
    await w.clock.advance(10_000);
    return hub;
  };

  it('become media of the hub, with a sentence for stock clients', async () => {
    const hub = await finished({ kind: 'ok', value: null, blobs: [blob('image/png')] }, { blobs });
    const [media] = hub.of('POST /api/gateway/v1/media');
    expect(media?.headers.get('content-type')).toBe('image/png');
    expect(hub.reply('e1')).toMatchObject({
      images: ['/media/k.png'],
      result: '1 picture: /media/k.png',
    });
  });

  it('are tried again when the hub fails, and named when it refuses', async () => {
    const fails = new FakeHub();
    fails.once('POST /api/gateway/v1/media', () => new Response('', { status: 502 }));
    await finished({ kind: 'ok', value: 1, blobs: [blob('image/png')] }, { blobs }, fails);
    expect(fails.reply('e1')).toMatchObject({ images: ['/media/k.png'], result: 1 });
    const refuses = new FakeHub();
    refuses.always('POST /api/gateway/v1/media', () => no(424, 'unsupported content type'));
    await finished({ kind: 'ok', value: 1, blobs: [blob('image/png')] }, { blobs }, refuses);
    expect(refuses.reply('e1')).toMatchObject({
      result: 1,
      note: expect.stringContaining('refused'),
    });
  });

  it('that can’t be hosted are described', async () => {
    for (const [shown, options, why] of [
      [blob('audio/wav'), { blobs }, 'stays on the gateway'],
      [blob('image/svg+xml'), { blobs }, 'stays on the gateway'],
      [blob('image/png', 7_000_000), { blobs }, 'larger'],
      [blob('image/png'), {}, 'no longer on the gateway'],
    ] as const) {
      const hub = await finished({ kind: 'ok', value: 1, blobs: [shown] }, options);
      expect(hub.of('POST /api/gateway/v1/media')).toEqual([]);
      expect(String(hub.reply('e1')?.note)).toContain(why);
    }
  });
});

describe('what else a call sends', () => {
  it('is progress and a late result', async () => {
    const { hub, clock, switchboard, journal } = await world();
    hub.invoke('e1', A, 'status');
    await clock.advance(1_000);
    const record = journal.find('push/e1');
    if (!record) throw new Error('not journaled');
    switchboard.door?.progress?.(record, { percent: 10 });
    await clock.advance();
    switchboard.door?.progress?.(record, { percent: 50, note: 'half' });
    switchboard.door?.progress?.(record, { percent: 60, note: 'more' });
    await clock.advance(1_000);
    expect(hub.up('progress')).toMatchObject([
      { envelope_id: 'e1', percent: 10 },
      { envelope_id: 'e1', percent: 60, note: 'more' },
    ]);
    hub.once(UP, () => new Response('', { status: 500 }));
    const told = switchboard.door?.late?.({ ...record, late: done });
    await clock.advance(5_000);
    await told;
    expect(hub.up('late').map(({ payload }) => JSON.parse(String(payload)))).toEqual([
      { ok: true, outcome: 'ok', result: 'done' },
    ]);
  });
});
