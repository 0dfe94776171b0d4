import { describe, expect, it } from 'vitest';
import { base64url } from '../../../protocol/identity.js';
import type { HandoverHost } from './handovers.js';
import { FakeHub, json, no } from './hub.fixture.js';
import { A, World } from './world.fixture.js';

const PUBLIC = new Uint8Array(32).fill(7);
const event = { handover_id: 'h1', board_id: A, public_key: base64url(PUBLIC), to: 'new pi' };
const ok = () => json(200, { ok: true });

class Host implements HandoverHost {
  readonly given: unknown[] = [];
  readonly forgotten: string[] = [];
  fail: Error | undefined;

  async give(...asked: [string, Uint8Array, string]): Promise<Uint8Array> {
    if (this.fail) throw this.fail;
    this.given.push(asked);
    return Uint8Array.of(1, 2, 3);
  }

  async gone(boardId: string): Promise<void> {
    if (this.fail) throw this.fail;
    this.forgotten.push(boardId);
  }
}

async function world(host?: HandoverHost) {
  const hub = new FakeHub();
  for (const step of ['answer', 'done', 'gone']) {
    hub.always(`POST /api/gateway/v1/handover/${step}`, ok);
  }
  const of = (step: string) => hub.of(`POST /api/gateway/v1/handover${step}`).map((s) => s.body);
  return { hub, of, w: await new World(hub, host ? { handover: host } : {}).start() };
}

describe('a board on its way to another gateway', () => {
  it('its key is given to who asks, sealed, and nothing is forgotten yet', async () => {
    const host = new Host();
    const { hub, of, w } = await world(host);
    hub.tell('handover', event);
    await w.clock.advance();
    expect(host.given).toEqual([[A, PUBLIC, 'new pi']]);
    expect(of('/answer')).toEqual([{ handover_id: 'h1', sealed_key: 'AQID' }]);
    expect(host.forgotten).toEqual([]);
    expect(w.logged.join()).not.toContain('AQID');
  });

  it('the reason goes back where the board stays', async () => {
    const host = new Host();
    host.fail = new Error('The board is asleep');
    const { hub, of, w } = await world(host);
    hub.tell('handover', event);
    await w.clock.advance();
    expect(of('/answer')).toEqual([{ handover_id: 'h1', refused: 'The board is asleep' }]);
    const without = await world();
    without.hub.tell('handover', event);
    await without.w.clock.advance();
    expect(without.of('/answer')).toEqual([
      { handover_id: 'h1', refused: 'this gateway hands no boards over' },
    ]);
  });

  it('it is forgotten once the hub says so, and the hub is told after that', async () => {
    const host = new Host();
    const { hub, of, w } = await world(host);
    hub.tell('handed_over', { handover_id: 'h1', board_id: A });
    await w.clock.advance();
    expect(host.forgotten).toEqual([A]);
    expect(of('/gone')).toEqual([{ handover_id: 'h1' }]);
  });

  it('what could not be forgotten is not said to be gone; the next telling tries again', async () => {
    const host = new Host();
    const { hub, of, w } = await world(host);
    host.fail = new Error('the journal is full');
    hub.tell('handed_over', { handover_id: 'h1', board_id: A });
    await w.clock.advance();
    expect(of('/gone')).toEqual([]);
    host.fail = undefined;
    hub.tell('handed_over', { handover_id: 'h1', board_id: A });
    await w.clock.advance();
    expect(host.forgotten).toEqual([A]);
    expect(of('/gone')).toHaveLength(1);
  });

  it('an event of the hub that can’t be read changes nothing', async () => {
    const host = new Host();
    const { hub, of, w } = await world(host);
    for (const bad of [
      {},
      { ...event, board_id: '../x' },
      { ...event, public_key: 'x'.repeat(65) },
    ]) {
      hub.tell('handover', bad);
      hub.tell('handed_over', { ...bad, board_id: 7 });
    }
    await w.clock.advance();
    expect([host.given, host.forgotten, of('/answer'), of('/gone')]).toEqual([[], [], [], []]);
    hub.tell('handover', { ...event, public_key: '!' });
    await w.clock.advance();
    expect(host.given).toEqual([[A, new Uint8Array(), 'new pi']]);
  });
});

describe('a board on its way to this gateway', () => {
  it('is asked for with our public key, and said to be stored by its handover', async () => {
    const { hub, of, w } = await world();
    const given = { ok: true, handover_id: 'h1', board_id: A, name: 'desk', sealed_key: 'AQID' };
    hub.once('POST /api/gateway/v1/handover', () => json(200, given));
    const asked = w.door.handovers?.ask('dev-1', PUBLIC);
    await w.clock.advance();
    expect(await asked).toEqual({
      handoverId: 'h1',
      boardId: A,
      name: 'desk',
      sealedKey: Uint8Array.of(1, 2, 3),
    });
    expect(of('')).toEqual([{ device_id: 'dev-1', public_key: event.public_key }]);
    await w.door.handovers?.stored('h1');
    expect(of('/done')).toEqual([{ handover_id: 'h1' }]);
  });

  it('the other gateway’s reason reaches who asked', async () => {
    const { hub, w } = await world();
    hub.once('POST /api/gateway/v1/handover', () => no(409, 'The board is asleep; it stays'));
    await expect(w.door.handovers?.ask('dev-1', PUBLIC)).rejects.toMatchObject({
      name: 'HubRefused',
      error: 'The board is asleep; it stays',
    });
  });

  it('a hub of the older kind brings no boards', async () => {
    const w = await new World(new FakeHub('tiny')).start();
    expect(w.door.handovers).toBeUndefined();
  });
});
