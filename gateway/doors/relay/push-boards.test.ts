import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../core/types.js';
import { catalogOf, EINK, verb } from '../prompt/boards.fixture.js';
import { FakeHub, json, no } from './hub.fixture.js';
import { A, B, World } from './world.fixture.js';

const BOARDS = 'POST /api/gateway/v1/boards';
const UP = 'POST /api/gateway/v1/up';
const STREAM = 'GET /api/gateway/v1/stream';

const done: Outcome = { kind: 'ok', value: 'done', blobs: [] };
const world = (options = {}): Promise<World> => new World(new FakeHub(), options).start();

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

  it('that come online while they are being registered are told as online', async () => {
    const { hub, clock, switchboard } = await world();
    hub.once(BOARDS, () => {
      switchboard.set(B, 'online');
      return json(200, { ok: true, device_id: `dev-${B}` });
    });
    switchboard.set(B, 'unreachable');
    await clock.advance(1_000);
    const told = hub
      .of(UP)
      .flatMap(
        (request) => request.body.items as { device_id: string; presence?: { state: string } }[],
      )
      .filter((item) => item.device_id === `dev-${B}` && item.presence);
    expect(told.at(-1)?.presence?.state).toBe('online');
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
