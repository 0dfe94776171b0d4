import { beforeEach, describe, expect, test, vi } from 'vitest';
import { BoardPeer, PEER_ID } from '../../test/support/board-peer.js';
import { type Bench, bench } from '../../test/support/gateway.js';
import { memoryBlobStore } from '../core/memory-blob-store.js';
import { createEndpointDoor, type EndpointDoor } from './endpoint.js';

const SECRET = 'lamp-secret';
let b: Bench;
let board: BoardPeer;
let door: EndpointDoor;

beforeEach(() => {
  b = bench();
  board = new BoardPeer(b.gateway);
  board.greet(1);
  door = createEndpointDoor({
    switchboard: b.gateway,
    blobs: memoryBlobStore(),
    boardOf: (secret) => (secret === SECRET ? PEER_ID : undefined),
  });
});

function get(path: string, secret = SECRET): Promise<Response> {
  return door(new Request(`http://x${path}`, { headers: { authorization: `Bearer ${secret}` } }));
}

function chat(body: string, signal?: AbortSignal): Promise<Response> {
  return door(
    new Request('http://x/api/chat', {
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET}` },
      body,
      ...(signal ? { signal } : {}),
    }),
  );
}

const call = () => vi.waitFor(() => board.last('call'));

describe('endpoint door', () => {
  test('without the bearer of a board every route is the same 401, and nothing is called', async () => {
    for (const path of ['/api/telemetry', '/api/camera/snapshot', '/nothing']) {
      const answer = await get(path, 'other');
      expect([answer.status, await answer.json()]).toEqual([401, { error: 'unauthorized' }]);
    }
    expect((await door(new Request('http://x/api/telemetry'))).status).toBe(401);
    expect(board.all('call')).toEqual([]);
  });

  test('telemetry is what the gateway knows, presence included; the board is not asked', async () => {
    const known = (await (await get('/api/telemetry')).json()) as Record<string, unknown>;
    expect(known).toMatchObject({ name: 'lamp', online: true, platform: 'test', via: 'test' });
    expect(known.verbs).toEqual(['say', 'status', 'reset']);
    board.cut();
    await b.clock.advance(120_000);
    const later = (await (await get('/api/telemetry')).json()) as { online: boolean };
    expect(later.online).toBe(false);
    expect(board.all('call')).toEqual([]);
  });

  test('a prompt is a call, and the board’s answer the result', async () => {
    const answered = chat('{"prompt":"say hello 3"}');
    const { callId } = await call();
    board.answer(callId, 'said');
    const answer = await answered;
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ ok: true, outcome: 'ok', result: 'said' });
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('a refused prompt says why, and nothing was sent', async () => {
    const wrong = (await (await chat('{"prompt":"say hello size=9"}')).json()) as object;
    expect(wrong).toMatchObject({ ok: false, outcome: 'refused' });
    const guarded = (await (await chat('{"prompt":"reset"}')).json()) as object;
    expect(guarded).toMatchObject({ ok: false, outcome: 'refused' });
    expect(board.all('call')).toEqual([]);
  });

  test.each(['', '[]', 'null', '{', '{"prompt":3}', '{"prompt":"  "}', '{"prompt":["a"]}'])(
    'a body like %j is 400',
    async (body) => {
      expect((await chat(body)).status).toBe(400);
    },
  );

  test('a prompt beyond 8,192 units is 413', async () => {
    const answer = await chat(JSON.stringify({ prompt: `say ${'x'.repeat(8_192)}` }));
    expect(answer.status).toBe(413);
  });

  test('a board that can’t be reached is 503 with its sentence', async () => {
    board.cut();
    await b.clock.advance(120_000);
    const answer = await chat('{"prompt":"status"}');
    expect(answer.status).toBe(503);
    expect(((await answer.json()) as { error: string }).error).toMatch(/not been reachable/);
  });

  test('no snapshot verb is 404, an unknown path and method too', async () => {
    expect((await get('/api/camera/snapshot')).status).toBe(404);
    expect((await get('/api/chat')).status).toBe(404);
    expect((await get('/api/telemetry/..')).status).toBe(404);
  });

  test('a caller that goes away cancels its call', async () => {
    const gone = new AbortController();
    const answered = chat('{"prompt":"status"}', gone.signal);
    const { callId } = await call();
    gone.abort();
    await vi.waitFor(() => expect(board.last('cancel')).toMatchObject({ callId }));
    board.send({ type: 'failure', callId, status: 1, code: 'cancelled', message: '' });
    expect(await (await answered).json()).toMatchObject({ ok: false, outcome: 'cancelled' });
  });

  test('more chats than a board should have open are told to wait', async () => {
    const open = Array.from({ length: 4 }, () => chat('{"prompt":"status"}'));
    await call();
    expect((await chat('{"prompt":"status"}')).status).toBe(429);
    for (let n = 1; n <= 4; n += 1) {
      await vi.waitFor(() => expect(board.all('call').length).toBeGreaterThanOrEqual(n));
      const sent = board.all('call')[n - 1];
      if (sent) board.answer(sent.callId, n);
    }
    await Promise.all(open);
    const after = chat('{"prompt":"status"}');
    await vi.waitFor(() => expect(board.all('call')).toHaveLength(5));
    board.answer(board.last('call').callId, 'fine');
    expect((await after).status).toBe(200);
  });
});
