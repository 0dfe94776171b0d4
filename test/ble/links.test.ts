import { afterEach, describe, expect, it } from 'vitest';
import type { NobleFork } from '../../device-sim/radio/wire.js';
import { rawCentral } from '../../device-sim/testing/raw-central.js';
import { seededRandom } from '../../device-sim/testing/virtual-clock.js';
import { type BleWorld, bleWorld, echoModel, FORKS } from './world.js';

/** ATT opcodes (Core 5.4, Vol 3 Part F 3.4). */
const MTU_REQUEST = 0x02;
const WRITE_COMMAND = 0x52;
const NOTIFICATION = 0x1b;

let world: BleWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

function open(...args: [NobleFork, Parameters<typeof bleWorld>[1]?]): BleWorld {
  world = bleWorld(...args);
  return world;
}

describe.each(FORKS)('boards over the virtual radio, noble of %s', (fork) => {
  it('are found, seal, and answer calls', async () => {
    const w = open(fork);
    const one = w.board(1, echoModel());
    const two = w.board(2, 'env');
    await w.online(one.boardId, two.boardId);
    expect(w.gateway.board(one.boardId)?.via).toBe('ble');
    expect(await w.call(one.boardId, 'echo', { text: 'hello' })).toMatchObject({
      kind: 'ok',
      value: 'hello',
    });
    expect(one.executions).toBe(1);
    expect(w.link.health()).toMatchObject({ state: 'up', paths: 2, slots: { used: 2 } });
  });

  it('recover from a link that is lost between connecting and the MTU', async () => {
    const w = open(fork);
    let losses = 0;
    w.air.rule = ({ att, link }) => {
      if (att?.[0] !== MTU_REQUEST || losses >= 2) return undefined;
      losses++;
      link.lose();
      return 'drop';
    };
    const board = w.board(1, echoModel());
    await w.online(board.boardId);
    expect(losses).toBe(2);
    expect(await w.call(board.boardId, 'echo', { text: 'x' })).toMatchObject({ kind: 'ok' });
  });

  it.each(['drop', 'deliver'] as const)(
    'run a call once whose link is lost at its write (%s)',
    async (fate) => {
      const w = open(fork);
      const board = w.board(1, echoModel());
      await w.online(board.boardId);
      await w.pass(1_000);
      let armed = true;
      w.air.rule = ({ att, link, up }) => {
        // A CALL, not a lone CREDIT: opcode, handle, header and more.
        if (!armed || up || att?.[0] !== WRITE_COMMAND || att.length < 8) return undefined;
        armed = false;
        // Lost before it arrived, or after the board has it and before it can answer.
        if (fate === 'drop') link.lose();
        else w.air.soon(() => w.air.soon(() => link.lose()));
        return fate === 'drop' ? 'drop' : undefined;
      };
      const outcome = await w.call(board.boardId, 'echo', { text: 'once' });
      expect(armed).toBe(false);
      expect(outcome).toMatchObject({ kind: 'ok', value: 'once' });
      expect(board.executions).toBe(1);
      expect(board.session?.connection).toBe(2);
    },
  );

  it('go on with a blob where its link was lost', async () => {
    const w = open(fork);
    const board = w.board(1, 'camera');
    await w.online(board.boardId);
    let bytes = 0;
    let before = 0;
    w.air.rule = ({ att, up, link }) => {
      if (up && att?.[0] === NOTIFICATION) bytes += att.length - 3;
      // A lone CREDIT of the gateway: half of its window has arrived.
      if (!up && before === 0 && bytes > 4_096 && att?.[0] === WRITE_COMMAND && att.length === 4) {
        before = bytes;
        link.lose();
      }
      return undefined;
    };
    const outcome = await w.call(board.boardId, 'snapshot');
    expect(outcome.kind).toBe('ok');
    const [blob] = outcome.kind === 'ok' ? outcome.blobs : [];
    const size = blob?.size ?? 0;
    expect(size).toBeGreaterThan(before);
    expect(before).toBeGreaterThan(4_096);
    // Not from the beginning, though headers and a greeting are counted too.
    expect(bytes - before).toBeLessThan(size - 3_000);
    expect(board.session?.connection).toBe(2);
    expect(board.executions).toBe(1);
  });

  it('answer every call over a host that loses one packet in twenty', async () => {
    const w = open(fork);
    const board = w.board(1, echoModel(), { maxMtu: 185 });
    await w.online(board.boardId);
    const random = seededRandom(5);
    w.air.rule = ({ att }) => {
      const data = att?.[0] === NOTIFICATION || att?.[0] === WRITE_COMMAND;
      return data && random() < 0.05 ? 'drop' : undefined;
    };
    for (let i = 0; i < 30; i++) {
      const text = `${i} `.repeat(100);
      expect(await w.call(board.boardId, 'echo', { text })).toMatchObject({
        kind: 'ok',
        value: text,
      });
    }
    expect(w.air.counters.dropped).toBeGreaterThan(5);
    expect(board.executions).toBe(30);
  });

  it.each([23, 185, 247, 515])(
    'carry messages up to their limit at MTU %i, and refuse longer ones',
    async (maxMtu) => {
      const w = open(fork);
      const board = w.board(1, echoModel(), { maxMtu });
      await w.online(board.boardId);
      // One fork asks for 256, whatever it is told.
      const agreed = fork === 'abandonware' ? Math.min(maxMtu, 256) : maxMtu;
      expect(w.link.health().boards[0]?.mtu).toBe(agreed);
      // The text that makes a CALL of exactly the board's 1,024 bytes.
      const tooLong = await w.call(board.boardId, 'echo', { text: 'x'.repeat(1_024) });
      expect(tooLong).toMatchObject({ kind: 'refused', code: 'too_large' });
      const bytes = Number(
        /\(?(\d[\d,]*) bytes/
          .exec('message' in tooLong ? tooLong.message : '')?.[1]
          ?.replace(',', ''),
      );
      const limit = 1_024 - (bytes - 1_024);
      for (const length of [limit - 1, limit]) {
        const text = 'y'.repeat(length);
        expect(await w.call(board.boardId, 'echo', { text })).toMatchObject({
          kind: 'ok',
          value: text,
        });
      }
      const refused = await w.call(board.boardId, 'echo', { text: 'y'.repeat(limit + 1) });
      expect(refused).toMatchObject({ kind: 'refused', code: 'too_large' });
      // Up: the gateway's 16,384 bytes; the board says when its answer would be longer.
      const overhead = 16_384 - (await longest(w, board.boardId));
      expect(overhead).toBeGreaterThan(0);
      expect(overhead).toBeLessThan(24);
    },
  );

  it('are out of reach while their peer stops answering, and come back', async () => {
    const w = open(fork);
    const board = w.board(1, echoModel());
    const other = w.board(2, echoModel());
    await w.online(board.boardId, other.boardId);
    board.controller.frozen = true;
    const calling = w.start(board.boardId, 'echo', { text: 'x' }, 20_000);
    await w.until(() => w.gateway.board(board.boardId)?.presence.state === 'unreachable');
    expect(w.gateway.board(other.boardId)?.presence.state).toBe('online');
    board.controller.frozen = false;
    expect((await w.settled(calling)).kind).not.toBe('ok');
    await w.online(board.boardId);
    expect(await w.call(board.boardId, 'echo', { text: 'y' })).toMatchObject({ kind: 'ok' });
  });

  it('are offline while another central has them, and connected when it leaves', async () => {
    const w = open(fork);
    w.adapter.power(false);
    const board = w.board(1, echoModel());
    await w.until(() => board.controller.advertising);
    const thief = await rawCentral(w.air, fork);
    const finding = thief.find();
    await w.pass(500);
    const peer = await finding;
    await peer.connectAsync();
    w.adapter.power(true);
    await w.pass(20_000);
    expect(w.link.health().paths).toBe(0);
    await peer.disconnectAsync();
    await w.online(board.boardId);
    thief.stop();
  });

  it('are found by an adapter that was deaf until it was restarted', async () => {
    const w = open(fork, { deafMs: 60_000 });
    w.adapter.deafen('reset');
    const board = w.board(1, echoModel());
    await w.pass(59_000, 500);
    expect(w.link.health().paths).toBe(0);
    await w.until(() => w.gateway.board(board.boardId)?.presence.state === 'online', 300_000);
    expect(w.link.health().counters).toMatchObject({ deaf_scan_restarts: 1, adapter_resets: 1 });
  });

  it('come back after the adapter was pulled out and plugged in again', async () => {
    const w = open(fork);
    const board = w.board(1, echoModel());
    await w.online(board.boardId);
    w.adapter.plug(false);
    await w.until(() => w.gateway.board(board.boardId)?.presence.state === 'unreachable');
    expect(w.link.health().state).toBe('down');
    await w.pass(10_000);
    w.adapter.plug(true);
    await w.online(board.boardId);
    expect(await w.call(board.boardId, 'echo', { text: 'z' })).toMatchObject({ kind: 'ok' });
  });

  it('are tried less and less while one restarts every two seconds: one alert, and a count', async () => {
    const w = open(fork);
    const board = w.board(1, echoModel());
    await w.online(board.boardId);
    for (let i = 0; i < 300; i++) {
      await w.pass(2_000);
      board.reboot();
    }
    expect(w.log.filter((line) => line.includes('keeps restarting'))).toHaveLength(1);
    expect(w.link.health().counters).toMatchObject({ boot_loops: 1 });
    expect(w.link.health().counters.quick_losses).toBeLessThan(60);
    await w.online(board.boardId);
  });

  it('share the slots of an adapter that has fewer than there are boards', async () => {
    const w = open(fork, { slots: 2 });
    const boards = [1, 2, 3].map((n) => w.board(n, echoModel()));
    const seen = new Set<string>();
    await w.until(() => {
      for (const { boardId } of boards) {
        if (w.gateway.board(boardId)?.presence.state === 'online') seen.add(boardId);
      }
      return seen.size === 3;
    }, 600_000);
    expect(w.link.health().counters.rotations).toBeGreaterThan(0);
  });
});

/** The longest answer that the board sends, found by halving. */
async function longest(w: BleWorld, boardId: string): Promise<number> {
  const fits = async (n: number): Promise<boolean> => {
    const outcome = await w.call(boardId, 'long', { n });
    if (outcome.kind === 'ok') expect(outcome.value).toHaveLength(n);
    else expect(outcome).toMatchObject({ kind: 'failed', code: 'result_too_large' });
    return outcome.kind === 'ok';
  };
  let low = 16_350;
  let high = 16_400;
  expect(await fits(low)).toBe(true);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (await fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}
