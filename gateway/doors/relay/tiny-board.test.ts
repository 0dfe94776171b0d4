import { describe, expect, it } from 'vitest';
import { catalogOf, EINK, verb } from '../prompt/boards.fixture.js';
import { FakeHub, no } from './hub.fixture.js';
import { A, World } from './world.fixture.js';

const ENROL = 'POST /api/devices';
const ADOPT = 'POST /api/devices/adopt';
const BEAT = 'POST /api/devices/heartbeat';
const POLL = 'PUT /api/devices/relay';
const DEVICE = 'dev-board aa';

const world = (options = {}): Promise<World> => new World(new FakeHub('tiny'), options).start();
const send = (hub: FakeHub, id: string, prompt: string): void => {
  const box = hub.mail.get(DEVICE) ?? [];
  hub.mail.set(DEVICE, [
    ...box,
    { id, payload: JSON.stringify({ type: 'invoke', prompt }), created_at: 0 },
  ]);
};

describe('a board at a tiny hub', () => {
  it('is enrolled with the owner’s token and speaks with its own', async () => {
    const { hub, journal, door } = await world();
    const [enrol] = hub.of(ENROL);
    expect(enrol?.headers.get('authorization')).toMatch(/^Bearer mto_/);
    expect(enrol?.body).toEqual({
      name: 'board aa',
      platform: 'esp32',
      kind: 'daemon',
      capabilities: EINK.verbs.map(({ name }) => name),
    });
    const [beat] = hub.of(BEAT);
    expect(beat?.headers.get('authorization')).toBeNull();
    expect(beat?.body).toMatchObject({ deviceId: DEVICE, token: `tind_${'t'.repeat(43)}` });
    expect(journal.get('device', A)).toBe(DEVICE);
    expect(door.state()).toMatchObject({ mode: 'tiny', connected: true, boards: 1 });
  });

  it('keeps its identity across restarts, and is adopted where its token is lost', async () => {
    const w = await world();
    await w.restart();
    expect(w.hub.of(ENROL).length).toBe(1);
    await w.journal.put('door', `tiny/${A}`, 'junk');
    await w.restart();
    expect(w.hub.of(ADOPT).map(({ body }) => body)).toEqual([{ deviceId: DEVICE }]);
    expect(w.hub.of(BEAT).at(-1)?.body.token).toBe(`tind_${'a'.repeat(43)}`);
    await w.journal.put('door', `tiny/${A}`, undefined);
    w.hub.once(ADOPT, () => no(404, 'device not found'));
    await w.restart();
    expect(w.hub.of(ENROL).length).toBe(2);
  });

  it('is not enrolled while it can’t be reached, nor hammered in when refused', async () => {
    const hub = new FakeHub('tiny');
    const w = new World(hub);
    w.switchboard.set(A, 'unreachable');
    w.door.start();
    await w.clock.advance(60_000);
    expect(hub.of(ENROL)).toEqual([]);
    hub.always(ENROL, () => no(424, 'device limit reached (20) — revoke one first'));
    w.switchboard.set(A, 'online');
    await w.clock.advance(1_000_000);
    expect(hub.of(ENROL).length).toBeLessThan(6);
    hub.always(ENROL, undefined);
    await w.clock.advance(300_000);
    expect(w.door.state().boards).toBe(1);
  });

  it('beats each 30 s, each 60 s when idle, and only while it is online', async () => {
    const { hub, clock, switchboard } = await world();
    await clock.advance(120_000);
    expect(hub.of(BEAT).length).toBe(5);
    await clock.advance(600_000);
    expect(hub.of(BEAT).length).toBe(15);
    switchboard.set(A, 'asleep');
    await clock.advance(600_000);
    expect(hub.of(BEAT).length).toBe(15);
    expect(hub.of(POLL).at(-1)).toBeDefined();
    const polls = hub.of(POLL).length;
    switchboard.set(A, 'online');
    await clock.advance(1_000);
    expect(hub.of(BEAT).length).toBe(16);
    expect(hub.of(POLL).length).toBe(polls + 1);
  });

  it('tells the verbs that it dispatches, as many as the hub keeps', async () => {
    const { hub, clock, switchboard } = await world();
    const many = Array.from({ length: 40 }, (_, i) => verb(`verb_${i}`));
    switchboard.recatalog(A, catalogOf(many, { hash: '1111111111111111' }));
    await clock.advance(30_000);
    expect(hub.of(BEAT).at(-1)?.body.capabilities).toEqual(
      many.slice(0, 32).map(({ name }) => name),
    );
  });

  it('polls each 5 s, slows to 60 s after two quiet minutes, and wakes with work', async () => {
    const { hub, clock } = await world();
    await clock.advance(60_000);
    expect(hub.of(POLL).length).toBe(13);
    expect(hub.of(POLL)[0]?.body.max).toBe(5);
    await clock.advance(60_000);
    const active = hub.of(POLL).length;
    await clock.advance(600_000);
    expect(hub.of(POLL).length - active).toBeLessThanOrEqual(11);
    send(hub, 'e1', 'status');
    await clock.advance(60_000);
    const woken = hub.of(POLL).length;
    await clock.advance(60_000);
    expect(hub.of(POLL).length - woken).toBeGreaterThanOrEqual(11);
  });
});

describe('401s of a tiny hub', () => {
  it('halt a board after three over five minutes, and any 200 lifts it', async () => {
    const { hub, clock, journal, door, switchboard } = await world();
    const identity = journal.get('door', `tiny/${A}`);
    hub.revoked = true;
    await clock.advance(290_000);
    expect(door.state().counters['tiny.halted']).toBeUndefined();
    await clock.advance(120_000);
    expect(door.state()).toMatchObject({ unauthorized: true, counters: { 'tiny.halted': 1 } });
    const polls = hub.of(POLL).length;
    const beats = hub.of(BEAT).length;
    await clock.advance(3_600_000);
    expect(hub.of(POLL).length).toBe(polls);
    expect(hub.of(BEAT).length - beats).toBeLessThanOrEqual(13);
    expect(hub.of(BEAT).length - beats).toBeGreaterThanOrEqual(11);
    expect(journal.get('door', `tiny/${A}`)).toBe(identity);
    hub.revoked = false;
    send(hub, 'e1', 'status');
    await clock.advance(301_000);
    expect(door.state().unauthorized).toBe(false);
    expect(switchboard.released).toEqual(['tiny/e1']);
    expect(hub.of(ENROL).length).toBe(1);
  });

  it('in a burst halt nothing', async () => {
    const { hub, clock, door } = await world();
    for (let i = 0; i < 5; i++) hub.once(POLL, () => no(401, 'unauthorized'));
    await clock.advance(400_000);
    expect(door.state()).toMatchObject({ unauthorized: false });
  });
});
