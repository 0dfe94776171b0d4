import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../core/types.js';
import { FakeHub, json } from './hub.fixture.js';
import { A, B, World } from './world.fixture.js';

const CLAIM = 'POST /api/gateway/v1/claim';
const REPLY = 'POST /api/gateway/v1/reply';
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
