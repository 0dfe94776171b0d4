import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Batcher } from './batcher.js';
import {
  type Fetch,
  HubClient,
  HubRefused,
  HubUnreachable,
  isTransient,
  Unauthorized,
} from './client.js';
import { json, no } from './hub.fixture.js';
import { HandClock } from './world.fixture.js';

const answer = z.looseObject({ ok: z.literal(true), n: z.number() });
const setUp = (fetch: Fetch) => {
  const clock = new HandClock();
  const client = new HubClient({ url: 'http://hub.test/base/', fetch, clock });
  return {
    clock,
    ask: (more: object = {}) => client.ask({ method: 'POST', path: '/api/x', answer, ...more }),
  };
};

describe('a request', () => {
  it('carries its body, query and token, and refuses to be redirected', async () => {
    let seen: [string, RequestInit] | undefined;
    const { ask } = setUp(async (url, init) => {
      seen = [url, init];
      return json(200, { ok: true, n: 1 });
    });
    await expect(ask({ body: { a: 1 }, query: { q: 'ä b' }, token: 't' })).resolves.toEqual({
      ok: true,
      n: 1,
    });
    expect(seen?.[0]).toBe('http://hub.test/base/api/x?q=%C3%A4+b');
    expect(seen?.[1]).toMatchObject({ method: 'POST', body: '{"a":1}', redirect: 'error' });
    expect(new Headers(seen?.[1].headers).get('authorization')).toBe('Bearer t');
  });

  it.each<
    [
      string,
      () => Response,
      typeof Unauthorized | typeof HubRefused | typeof HubUnreachable,
      boolean,
    ]
  >([
    ['401', () => no(401, 'unauthorized'), Unauthorized, true],
    ['400', () => no(400, 'name required'), HubRefused, false],
    ['424', () => no(424, 'no'), HubRefused, false],
    ['424 retryable', () => no(424, 'no', { retryable: true }), HubRefused, true],
    ['429', () => no(429, 'slow down'), HubRefused, true],
    ['503 with a reason', () => no(503, 'later'), HubRefused, true],
    ['503 without', () => new Response('', { status: 503 }), HubUnreachable, true],
    ['ok:false with 200', () => no(200, 'no'), HubRefused, false],
    ['garbage', () => new Response('{'), HubUnreachable, true],
    ['another shape', () => json(200, { ok: true, n: 'x' }), HubUnreachable, true],
    ['404 without JSON', () => new Response('<html>', { status: 404 }), HubRefused, false],
    ['nothing', () => new Response(null, { status: 204 }), HubUnreachable, true],
  ])('%s has its error', async (_what, response, type, transient) => {
    const error = await setUp(async () => response())
      .ask()
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(type);
    expect(isTransient(error)).toBe(transient);
  });

  it('ends at its deadline even where fetch hangs, and aborts it', async () => {
    let aborted = false;
    const { ask, clock } = setUp((_url, init) => {
      init.signal?.addEventListener('abort', () => {
        aborted = true;
      });
      return new Promise(() => undefined);
    });
    const asked = ask({ deadlineMs: 3_000 }).catch((e: unknown) => e);
    await clock.advance(3_001);
    expect(await asked).toMatchObject({ name: 'HubUnreachable', mayHaveRun: true });
    expect(String(await asked)).toContain('within 3 s');
    expect(aborted).toBe(true);
  });

  it('ends at its deadline where the body drips', async () => {
    const body = new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode('{"ok"')) });
    const { ask, clock } = setUp(async () => new Response(body));
    const asked = ask().catch((e: unknown) => e);
    await clock.advance(10_001);
    expect(await asked).toBeInstanceOf(HubUnreachable);
  });

  it('reads no more than it may', async () => {
    let pulled = 0;
    const body = new ReadableStream({
      pull: (c) => {
        pulled += 65_536;
        c.enqueue(new Uint8Array(65_536));
      },
    });
    const error = await setUp(async () => new Response(body))
      .ask({ maxBytes: 200_000 })
      .catch((e: unknown) => e);
    expect(String(error)).toContain('larger than 200000 bytes');
    expect(pulled).toBeLessThan(600_000);
  });

  it('tells what never arrived from what may have run', async () => {
    const failed = (code: string) => async () => {
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code }) });
    };
    const refused = await setUp(failed('ECONNREFUSED'))
      .ask()
      .catch((e: unknown) => e);
    const reset = await setUp(failed('ECONNRESET'))
      .ask()
      .catch((e: unknown) => e);
    expect(refused).toMatchObject({ mayHaveRun: false });
    expect(reset).toMatchObject({ mayHaveRun: true });
  });

  it('takes http and https URLs only', () => {
    const make = (url: string) =>
      new HubClient({ url, fetch: async () => json(200, {}), clock: new HandClock() });
    expect(() => make('ftp://x')).toThrow(TypeError);
    expect(() => make('nonsense')).toThrow(TypeError);
    expect(make('https://h.example:8443/').base).toBe('https://h.example:8443');
  });
});

describe('a batcher', () => {
  const setUpBatcher = (run: (items: number[]) => Promise<string[]>) => {
    const clock = new HandClock();
    const waits: number[] = [];
    const batcher = new Batcher({
      clock,
      random: () => 1,
      max: 10,
      run,
      failed: (_e, wait) => waits.push(wait),
    });
    return { clock, batcher, waits };
  };

  it('backs off up to a minute and keeps the order', async () => {
    let down = true;
    const runs: number[][] = [];
    const { clock, batcher, waits } = setUpBatcher(async (items) => {
      if (down) throw new HubUnreachable('down');
      runs.push(items);
      return items.map(String);
    });
    const results = [1, 2, 3].map((n) => batcher.add(n));
    await clock.advance(400_000);
    expect(waits.slice(0, 9)).toEqual([
      500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000,
    ]);
    down = false;
    batcher.hurry();
    await clock.advance();
    expect(await Promise.all(results)).toEqual(['1', '2', '3']);
    expect(runs).toEqual([[1, 2, 3]]);
  });

  it('finds the one item that is refused for good', async () => {
    const { clock, batcher } = setUpBatcher(async (items) => {
      if (items.includes(5)) throw new HubRefused(400, 'not this', false);
      return items.map(String);
    });
    const results = Promise.allSettled(Array.from({ length: 9 }, (_, n) => batcher.add(n)));
    await clock.advance(1_000);
    const settled = await results;
    expect(settled.map(({ status }) => status === 'rejected')).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7, 8].map((n) => n === 5),
    );
  });

  it('rejects what waits when it stops', async () => {
    const { clock, batcher } = setUpBatcher(async () => {
      throw new HubUnreachable('down');
    });
    const waiting = batcher.add(1).catch((e: unknown) => e);
    await clock.advance(100);
    batcher.stop();
    expect(await waiting).toBeInstanceOf(HubUnreachable);
    await expect(batcher.add(2)).rejects.toBeInstanceOf(HubUnreachable);
  });
});
