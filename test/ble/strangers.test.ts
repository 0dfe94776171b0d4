import { afterEach, describe, expect, it } from 'vitest';
import type { NobleFork } from '../../device-sim/radio/wire.js';
import { type BleWorld, bleWorld, echoModel, FORKS } from './world.js';

const ID = '00000001000000bb';

let world: BleWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

function open(fork: NobleFork): BleWorld {
  world = bleWorld(fork);
  return world;
}

describe.each(FORKS)('strangers on the air, noble of %s', (fork) => {
  it('who advertise our service and have no info are left alone; the board is still found', async () => {
    const w = open(fork);
    const garbage = await w.impostor(ID, { info: Uint8Array.of(1, 2, 3) });
    const board = w.board(1, echoModel());
    await w.online(board.boardId);
    expect(await w.call(board.boardId, 'echo', { text: 'x' })).toMatchObject({ kind: 'ok' });
    const tried = garbage.connections();
    await w.pass(30_000, 200);
    expect(garbage.connections()).toBe(tried);
  });

  it('who speak garbage are let go and keep no slot; the board is still found', async () => {
    const w = open(fork);
    const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));
    const noise = await w.impostor(ID, {
      subscribed: (notify) => {
        for (let i = 0; i < 200; i++) notify(random(1 + (i % 20)));
      },
    });
    noise.controller.rssi = -30;
    w.known.push({ boardId: ID, profile: 'mote' });
    w.link.knownChanged();
    await w.until(() => noise.connections() > 0);
    const board = w.board(1, echoModel());
    await w.until(() => w.gateway.board(ID)?.presence.state === 'online', 600_000);
    expect(await w.call(board.boardId, 'echo', { text: 'x' })).toMatchObject({ kind: 'ok' });
  });

  it('who storm notifications are let go, and others go on meanwhile', async () => {
    const w = open(fork);
    const other = w.board(2, echoModel());
    await w.online(other.boardId);
    let notified = 0;
    w.known.push({ boardId: ID, profile: 'mote' });
    w.link.knownChanged();
    await w.impostor(ID, {
      subscribed: (notify) => {
        for (; notified < 10_000 && notify(new Uint8Array(20).fill(1)); ) notified++;
      },
    });
    await w.until(() => notified === 10_000);
    await w.meanwhile(() => (w.link.health().counters.notifications_shed ?? 0) > 2_000);
    await w.until(() => w.link.health().slots.used === 1, 2_000);
    expect(await w.call(other.boardId, 'echo', { text: 'x' })).toMatchObject({ kind: 'ok' });
  });

  it('with the id of a board and another key change nothing', async () => {
    const w = open(fork);
    const board = w.board(1, echoModel());
    await w.online(ID);
    const liar = w.board(9, echoModel(), {
      boardId: ID,
      key: new Uint8Array(16).fill(99),
      known: false,
    });
    await w.pass(60_000, 200);
    expect(w.gateway.board(ID)?.presence.state).toBe('online');
    expect(await w.call(ID, 'echo', { text: 'x' })).toMatchObject({ kind: 'ok' });
    expect([board.executions, liar.executions]).toEqual([1, 0]);
    // While the board is away the liar may be connected to, and gets nothing.
    await board.stop();
    await w.pass(120_000, 500);
    expect(w.gateway.board(ID)?.presence.state).not.toBe('online');
    expect(liar.executions).toBe(0);
    board.start();
    await w.until(() => w.gateway.board(ID)?.presence.state === 'online', 600_000);
  });

  it('that are the same board twice, key and all, get a call once', async () => {
    const w = open(fork);
    const one = w.board(1, echoModel());
    const two = w.board(9, echoModel(), {
      boardId: ID,
      key: new Uint8Array(16).fill(1),
      known: false,
    });
    await w.online(ID);
    for (let i = 0; i < 5; i++) {
      expect(await w.call(ID, 'echo', { text: `${i}` })).toMatchObject({
        kind: 'ok',
        value: `${i}`,
      });
    }
    expect(one.executions + two.executions).toBe(5);
    expect(w.air.links.size).toBe(1);
  });
});
