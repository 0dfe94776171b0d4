import { describe, expect, it } from 'vitest';
import type { Message } from '../protocol/messages.js';
import { nodeCcm } from '../protocol/node-ccm.js';
import { createSimBoard } from './create.js';
import { memoryStore } from './stores.js';
import { BOARD_ID, Peer } from './testing/peer.js';
import { NONCE, sealedGateway, turns } from './testing/sealed-gateway.js';
import { seededRandom, VirtualClock } from './testing/virtual-clock.js';

const KEY = Uint8Array.from({ length: 16 }, (_, i) => i + 1);

function sealedBoard() {
  const clock = new VirtualClock();
  const peer = new Peer();
  const board = createSimBoard({
    model: 'env',
    name: 'Air',
    boardId: BOARD_ID,
    key: KEY,
    seal: true,
    ccm: nodeCcm,
    transport: peer,
    clock,
    store: memoryStore(),
    random: seededRandom(3),
  });
  board.start();
  return { board, peer, clock };
}

const gateway = (peer: Peer, more: Partial<Parameters<typeof sealedGateway>[1]> = {}) =>
  sealedGateway(peer, { key: KEY, ...more });

const call = (bootId: number, callId = 10): Message => ({
  type: 'call',
  callId,
  bootId,
  verb: 0,
  args: new Map(),
  ttlMs: 5_000,
});

describe('a sealing board', () => {
  it('greets with a nonce, proves itself with a sealed frame, and runs sealed calls', async () => {
    const { peer, board } = sealedBoard();
    const sealed = await gateway(peer, { welcome: { wantCaps: true } });
    expect(sealed.hello.nonce).toHaveLength(8);
    expect((await sealed.heard()).map((m) => m.type)).toEqual(['beat', 'caps']);
    await sealed.say(call(board.bootId));
    const heard = await sealed.heard();
    expect(heard.map((m) => m.type)).toEqual(['ack', 'result']);
    expect(heard[1]).toMatchObject({ value: { battery: 97 } });
    expect(peer.sent).toEqual([]);
  });

  it('lets nothing of a WELCOME count before a sealed frame of the gateway has verified', async () => {
    const { peer, board } = sealedBoard();
    const sealed = await gateway(peer);
    expect(board.session?.gatewayTime()).toBeUndefined();
    expect(board.session?.calls.knows(Uint8Array.of(1, 2, 3, 4))).toBe(false);
    await sealed.say({ type: 'settled', callId: 1 });
    expect(board.session?.gatewayTime()?.unixMs).toBe(1_700_000_000_000);
    expect(board.session?.calls.knows(Uint8Array.of(1, 2, 3, 4))).toBe(true);
  });

  it('runs no plain call, and no call of one who lacks the key', async () => {
    const { peer, board } = sealedBoard();
    const impostor = await gateway(peer, { key: Uint8Array.from(KEY, (b) => b ^ 1) });
    peer.say(call(board.bootId));
    await impostor.say(call(board.bootId));
    expect(board.executions).toBe(0);
    expect(board.session?.counters).toMatchObject({ 'ignored.plain': 1, 'dropped.bad_tag': 1 });
    expect(board.session?.gatewayTime()).toBeUndefined();
  });

  it('drops a frame that comes twice', async () => {
    const { peer, board } = sealedBoard();
    const sealed = await gateway(peer);
    const frame = await sealed.say(call(board.bootId));
    peer.raw(frame);
    await turns();
    expect(board.executions).toBe(1);
    expect((await sealed.heard()).filter((m) => m.type === 'ack')).toHaveLength(1);
  });

  it('is not shaken by a recorded WELCOME in the middle of a session', async () => {
    const { peer, board } = sealedBoard();
    const sealed = await gateway(peer);
    await sealed.say({ type: 'settled', callId: 1 });
    peer.welcome({ nonce: NONCE, session: 99 });
    await turns();
    expect(board.session?.counters['ignored.welcome']).toBe(1);
    await sealed.say(call(board.bootId));
    expect(board.executions).toBe(1);
  });

  it('ends a connection after ten bad seals', async () => {
    const { peer } = sealedBoard();
    await gateway(peer);
    for (let i = 0; i < 10; i++) {
      peer.raw(Uint8Array.of(1, 0, i + 1, ...new Uint8Array(20).fill(i)));
      await turns();
    }
    expect(peer.closed).toEqual(['ten frames with a bad seal']);
  });

  it('never greets twice with the same nonce', async () => {
    const { peer, board } = sealedBoard();
    const nonces = new Set<string>();
    for (let i = 0; i < 20; i++) {
      nonces.add(String(peer.take('hello').at(-1)?.nonce));
      if (i % 2) board.reboot();
      else {
        peer.cut();
        peer.connect();
      }
    }
    expect(nonces.size).toBe(20);
  });
});
