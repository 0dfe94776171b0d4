/** A second judge beside the virtual controller: BlueZ's own reading of what HCI means. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { NobleFork } from '../../../device-sim/radio/wire.js';
import { FORKS } from '../world.js';
import { type Btvirt, missing, startBtvirt } from './btvirt.js';
import { type BtvirtWorld, btvirtWorld } from './world.js';

/** ATT (Core 5.4, Vol 3 Part F 3.4), behind nine bytes of H4, ACL and L2CAP. */
const ATT = 9;
const WRITE_COMMAND = 0x52;
const NOTIFICATION = 0x1b;

/** One fork asks for 256, whatever it is told. */
const MTU: Readonly<Record<NobleFork, number>> = { stoprocent: 517, abandonware: 256 };

const READY = { presence: { state: 'online' }, catalog: expect.anything() };

const absent = missing();
if (absent && !process.env.CI) console.warn(`BLE is not judged by btvirt: ${absent}`);

describe.skipIf(absent && !process.env.CI)('a board over btvirt', () => {
  let btvirt: Btvirt | undefined;
  let world: BtvirtWorld | undefined;

  beforeEach(async () => {
    if (absent) throw new Error(absent);
    btvirt = await startBtvirt();
  });
  afterEach(async () => {
    await world?.close();
    await btvirt?.stop();
    world = btvirt = undefined;
  });

  async function opened(fork: NobleFork): Promise<BtvirtWorld> {
    world = await btvirtWorld(btvirt?.path ?? '', fork);
    return world;
  }

  async function paired(fork: NobleFork): Promise<BtvirtWorld> {
    const w = await opened(fork);
    const pairing = await w.pair(w.board.setupCode ?? '');
    expect(pairing).toMatchObject({ name: 'judged', online: true });
    await online(w);
    return w;
  }

  /** It says what it can do a moment after it has proven its key. */
  const online = (w: BtvirtWorld) =>
    vi.waitFor(() => expect(w.view()).toMatchObject(READY), { timeout: 15_000, interval: 5 });

  describe.each(FORKS)('and noble of %s', (fork) => {
    it('is paired by its code, and its calls and answers cross the air sealed', async () => {
      const w = await paired(fork);
      expect(w.view()?.via).toBe('ble');
      const said: Buffer[] = [];
      w.adapter.onAcl = (packet) => void said.push(packet.subarray(ATT));
      w.radio.onAcl = (packet) => void said.push(packet.subarray(ATT));
      const text = 'nobody on the air may read this';
      expect(await w.call('echo', { text })).toMatchObject({ kind: 'ok', value: text });
      expect(w.board).toMatchObject({ executions: 1, setupCode: undefined });
      expect(Buffer.concat(said).length).toBeGreaterThan(2 * text.length);
      expect(Buffer.concat(said).includes('nobody')).toBe(false);
    });

    it('is not paired by the code of another board, and is by its own after that', async () => {
      const w = await opened(fork);
      const own = w.board.setupCode ?? '';
      const wrong = `${own.slice(0, own.lastIndexOf(':'))}:${'A'.repeat(26)}`;
      await expect(w.pair(wrong)).rejects.toMatchObject({ code: 'wrong_code' });
      await vi.waitFor(() => expect(w.link.health().slots.used).toBe(0), { interval: 5 });
      expect(await w.pair(own)).toMatchObject({ online: true });
    });

    it('is out of reach when its link is lost, comes back, and answers calls', async () => {
      const w = await paired(fork);
      const before = w.board.session?.connection ?? 0;
      w.adapter.lose();
      await vi.waitFor(() => expect(w.view()?.presence.state).toBe('unreachable'), { interval: 5 });
      await online(w);
      expect(w.board.session?.connection).toBe(before + 1);
      expect(await w.call('echo', { text: 'back' })).toMatchObject({ kind: 'ok', value: 'back' });
    });

    it.each(['write', 'answer'] as const)(
      'runs a call once whose link is lost with its %s on the way',
      async (lost) => {
        const w = await paired(fork);
        expect(await w.call('echo', { text: 'first' })).toMatchObject({ kind: 'ok' });
        const before = w.board.session?.connection ?? 0;
        const [side, opcode, ran] =
          lost === 'write' ? [w.adapter, WRITE_COMMAND, 1] : [w.radio, NOTIFICATION, 2];
        let losses = 0;
        side.onAcl = (packet) => {
          // A whole message, not a lone CREDIT: opcode, handle, header and more.
          if (losses > 0 || packet[ATT] !== opcode || packet.length < ATT + 8) return;
          if (w.board.executions < ran) return;
          losses++;
          w.adapter.lose();
        };
        const outcome = await w.call('echo', { text: 'once' });
        expect(losses).toBe(1);
        expect(outcome).toMatchObject({ kind: 'ok', value: 'once' });
        expect(w.board.executions).toBe(2);
        expect(w.board.session?.connection).toBe(before + 1);
      },
    );

    it('carries messages of many segments both ways', async () => {
      const w = await paired(fork);
      const text = 'many segments '.repeat(70);
      expect(await w.call('echo', { text })).toMatchObject({ kind: 'ok', value: text });
      const answer = await w.call('long', { n: 12_000 });
      expect(answer).toMatchObject({ kind: 'ok', value: 'x'.repeat(12_000) });
      expect(w.link.health().boards[0]?.mtu).toBe(MTU[fork]);
    });
  });
});
