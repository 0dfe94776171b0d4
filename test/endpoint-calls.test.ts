/** Calls to devices by their URL: what comes of each answer, good and bad (A8; 96 to 104). */
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type EndpointFault, makeCa } from '../device-sim/index.js';
import { onCleanup } from '../hub/cleanup.fixture.js';
import { breakableStore } from '../hub/hub.fixture.js';
import { allThree, endpointWorld, NAMED, turns, type World } from './support/endpoint-world.js';

const JPEG = [0xff, 0xd8, 0xff];
const CHAT = '/api/chat';
const TELEMETRY = '/api/telemetry';
const SNAPSHOT = '/api/camera/snapshot';

const failed = (error: string, flags: object = {}) => [502, { ok: false, error, ...flags }];
const same = (said: unknown) => ({ telemetry: said, snapshot: said, chat: said });

/** Each of the three calls, begun and not awaited. */
const calls = (world: World) => ({
  telemetry: () => world.telemetry(),
  snapshot: () => world.snapshot(),
  chat: () => world.chat('hello'),
});
const BUDGETS = { snapshot: 10, telemetry: 20, chat: 90 } as const;

describe('where a call goes', () => {
  it('96: a redirect is never followed; the second origin sees no request', async () => {
    const world = await endpointWorld();
    const second = await world.another();
    const elsewhere = `https://${NAMED}:${second.device.port}/api/telemetry`;
    const said = failed('device redirected (302) — refusing to follow');
    expect(await allThree(world, 'redirect', elsewhere)).toEqual(same(said));
    expect(second.device.asked).toEqual([]);
    expect(world.robot.device.asked).toHaveLength(3);
  });

  it('no proxy of the environment is asked', async () => {
    let asked = 0;
    const proxy = createServer((socket) => {
      asked += 1;
      socket.destroy();
    });
    await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
    onCleanup(() => new Promise((done) => void proxy.close(() => done())));
    const address = proxy.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const names = ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
    onCleanup(() => {
      for (const name of names) delete process.env[name];
    });
    for (const name of names) process.env[name] = `http://127.0.0.1:${port}`;
    const world = await endpointWorld();
    expect((await world.telemetry()).status).toBe(200);
    expect(asked).toBe(0);
  });

  it('a certificate of an unknown authority, or for another name, ends the call unsent', async () => {
    const world = await endpointWorld();
    const stranger = await world.another({ ca: makeCa('Somebody') });
    expect((await world.telemetry(stranger.id)).body).toMatchObject({
      error: expect.stringMatching(/^device unreachable: its certificate is not trusted/),
      unreachable: true,
    });
    const other = await world.another({ hosts: ['other.test'] });
    expect((await world.telemetry(other.id)).body).toMatchObject({
      error: 'device unreachable: its certificate is for another name',
      unreachable: true,
    });
    expect([...stranger.device.asked, ...other.device.asked]).toEqual([]);
  });

  it('an address may be allowed as well as a name', async () => {
    const world = await endpointWorld({ endpointHosts: [NAMED, '127.0.0.1'] });
    const { id, device } = await world.another({ at: '127.0.0.1', hosts: ['127.0.0.1'] });
    expect((await world.telemetry(id)).body).toMatchObject({ ok: true, result: { name: 'robot' } });
    expect(device.asked[0]?.headers.host).toBe(`127.0.0.1:${device.port}`);
  });
});

describe('failures', () => {
  it('97: 401 and 403, unreachable, and timeout are three distinct answers', async () => {
    const world = await endpointWorld();
    const { t, robot } = world;
    const rejected = failed('device rejected our credential — re-enroll with a fresh token', {
      unauthorized: true,
    });
    expect(await allThree(world, 'unauthorized')).toEqual(same(rejected));
    expect(await allThree(world, 'forbidden')).toEqual(same(rejected));
    robot.device.misbehave('silent');
    for (const [call, run] of Object.entries(calls(world))) {
      const asked = robot.device.asked.length;
      const answer = run();
      await robot.device.askedTimes(asked + 1);
      const seconds = BUDGETS[call as keyof typeof BUDGETS];
      t.clock.advance(seconds * 1000);
      const { status, body } = await answer;
      expect([status, body]).toEqual([
        504,
        { ok: false, error: `device did not finish within ${seconds}s`, timeout: true },
      ]);
    }
    await robot.device.close();
    const gone = failed('device unreachable: the connection was refused', { unreachable: true });
    expect(await allThree(world)).toEqual(same(gone));
  });

  it('97: a name that can’t be looked up is unreachable; a resolver that hangs is a timeout', async () => {
    let answer: () => Promise<string[]> = () =>
      Promise.reject(Object.assign(new Error('secret place'), { code: 'ENOTFOUND' }));
    const world = await endpointWorld({ endpointResolve: () => answer() });
    expect((await world.telemetry()).body).toEqual({
      ok: false,
      error: 'device unreachable: its name is unknown',
      unreachable: true,
    });
    const asked = new Promise<void>((done) => {
      answer = () => {
        done();
        return new Promise(() => undefined);
      };
    });
    const hung = world.telemetry();
    await asked;
    world.t.clock.advance(20_000);
    expect([(await hung).status, (await hung).body.timeout]).toEqual([504, true]);
  });

  it('another status is told as it is; a robot without a camera or a chat is no fault', async () => {
    const world = await endpointWorld();
    expect(await allThree(world, 'unavailable')).toEqual(same(failed('device returned 503')));
  });

  it('101: the budgets are 10 s for a snapshot, 20 s for telemetry, 90 s for a chat', async () => {
    const world = await endpointWorld();
    const { t, robot } = world;
    robot.device.misbehave('silent');
    for (const [call, run] of Object.entries(calls(world))) {
      const asked = robot.device.asked.length;
      let done = false;
      const answer = run().finally(() => {
        done = true;
      });
      await robot.device.askedTimes(asked + 1);
      t.clock.advance(BUDGETS[call as keyof typeof BUDGETS] * 1000 - 1);
      await turns();
      expect([call, done]).toEqual([call, false]);
      t.clock.advance(1);
      expect((await answer).status).toBe(504);
    }
  });

  it('102: a slow drip gives 504, never a 200', async () => {
    const world = await endpointWorld();
    const { t, robot } = world;
    robot.device.answer(CHAT, 'text/plain', 'word '.repeat(100));
    robot.device.misbehave('drip');
    for (const [call, run] of Object.entries(calls(world))) {
      const asked = robot.device.asked.length;
      const answer = run();
      await robot.device.askedTimes(asked + 1);
      // Each second a byte comes, so no silence ever is long.
      for (let s = 0; s < BUDGETS[call as keyof typeof BUDGETS]; s++) {
        t.clock.advance(1_000);
        await turns(2);
      }
      const { status, body } = await answer;
      expect([call, status, body.timeout]).toEqual([call, 504, true]);
    }
  });

  it.each(['half', 'half_chunks', 'half_unsized', 'reset', 'garbled'] as EndpointFault[])(
    '102: a body that breaks gives 502, never a 200: %s',
    async (fault) => {
      const world = await endpointWorld();
      const said = await allThree(world, fault);
      for (const [status, body] of Object.values(said)) {
        expect([status, body]).toEqual([
          502,
          {
            ok: false,
            error: expect.stringMatching(/^device unreachable: /),
            unreachable: true,
          },
        ]);
      }
    },
  );
});

describe('pictures', () => {
  it('98: only jpeg, png and webp, of the pinned type, not stored, not sniffed, in a sandbox', async () => {
    const world = await endpointWorld();
    const first = await world.snapshot();
    expect(first.status).toBe(200);
    expect([...first.bytes.subarray(0, 3)]).toEqual(JPEG);
    expect(first.headers).toMatchObject({
      'content-type': 'image/jpeg',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    });
    expect((await world.snapshot()).bytes.equals(first.bytes)).toBe(false);
    const { device } = world.robot;
    for (const type of ['image/png', 'image/webp']) {
      device.answer(SNAPSHOT, type, 'picture');
      expect((await world.snapshot()).headers['content-type']).toBe(type);
    }
    for (const type of [
      'image/svg+xml',
      'text/html',
      'image/gif',
      'application/json',
      'image/jpegx',
    ]) {
      device.answer(SNAPSHOT, type, '<svg onload="alert(1)"/>');
      const { status, body } = await world.snapshot();
      expect([status, body]).toEqual(failed(`device returned a non-image content-type (${type})`));
    }
    device.misbehave('no_type');
    expect((await world.snapshot()).body.error).toBe(
      'device returned a non-image content-type (none)',
    );
  });

  it('99: parameters and case of the type are dropped', async () => {
    const world = await endpointWorld();
    for (const [type, pinned] of [
      ['image/jpeg; charset=x', 'image/jpeg'],
      ['Image/JPEG; x=y', 'image/jpeg'],
      ['IMAGE/PNG ;a="b;c"', 'image/png'],
    ] as const) {
      world.robot.device.answer(SNAPSHOT, type, 'picture');
      expect((await world.snapshot()).headers['content-type']).toBe(pinned);
    }
  });

  it('100: over 8 MB is ended and 502, with a length and without; so is an empty one', async () => {
    const world = await endpointWorld();
    const { device } = world.robot;
    for (const fault of ['huge', 'huge_chunks'] as const) {
      device.misbehave(fault);
      expect([fault, (await world.snapshot()).body]).toEqual([
        fault,
        { ok: false, error: 'image exceeded 8MB' },
      ]);
    }
    device.misbehave('empty');
    const { status, body } = await world.snapshot();
    expect([status, body]).toEqual(failed('device returned an empty image'));
    device.misbehave(undefined);
    device.answer(SNAPSHOT, 'image/png', Buffer.alloc(8 * 1024 * 1024, 7));
    expect((await world.snapshot()).bytes).toHaveLength(8 * 1024 * 1024);
  });
});

describe('texts', () => {
  it('103: what is no JSON comes as text, cut to 8,192; more than 256 KB is refused', async () => {
    const world = await endpointWorld();
    const { device } = world.robot;
    for (const [said, told] of [
      ['{"a":[1,2,{"b":null}]}', { a: [1, 2, { b: null }] }],
      ['null', null],
      ['"text"', 'text'],
      ['', ''],
      ['up 3 days', 'up 3 days'],
      ['{"a":1', '{"a":1'],
      ['x'.repeat(9000), 'x'.repeat(8192)],
      [`${'x'.repeat(8191)}😀y`, 'x'.repeat(8191)],
      [JSON.stringify({ a: 'x'.repeat(200_000) }), { a: 'x'.repeat(200_000) }],
    ] as const) {
      device.answer(TELEMETRY, 'text/whatever', said);
      expect((await world.telemetry()).body).toEqual({ ok: true, result: told });
      device.answer(CHAT, 'application/json', said);
      expect((await world.chat('hello')).body).toEqual({ ok: true, result: told });
    }
    const over = [JSON.stringify({ a: 'x'.repeat(256 * 1024) }), 'x'.repeat(256 * 1024 + 1)];
    for (const said of over) {
      device.answer(TELEMETRY, 'application/json', said);
      device.answer(CHAT, 'application/json', said);
      for (const { status, body } of [await world.telemetry(), await world.chat('hello')]) {
        expect([status, body]).toEqual(failed('answer exceeded 256KB'));
      }
    }
    device.misbehave('huge_chunks');
    expect((await world.telemetry()).body.error).toBe('answer exceeded 256KB');
  });

  it('103: a compressed answer is refused, for it was not asked for', async () => {
    const world = await endpointWorld();
    const said = failed('device sent a compressed answer (gzip), which is not read');
    expect(await allThree(world, 'compressed')).toEqual(same(said));
  });

  it('104: a chat’s answer is its reply, else its result, else its text, else all of it', async () => {
    const world = await endpointWorld();
    const { device } = world.robot;
    for (const [said, told] of [
      [{ text: 't', result: 'r', reply: 'p' }, 'p'],
      [{ text: 't', result: { a: 1 } }, { a: 1 }],
      [{ text: 't', other: 1 }, 't'],
      [{ reply: null, result: 0 }, 0],
      [{ reply: '', text: 't' }, ''],
      [{ other: 1 }, { other: 1 }],
      [
        [1, 2],
        [1, 2],
      ],
    ] as const) {
      device.answer(CHAT, 'application/json', JSON.stringify(said));
      expect((await world.chat('hello')).body).toEqual({ ok: true, result: told });
    }
  });
});

describe('limits', () => {
  it('calls beyond the owner’s share are told to wait, and the share comes back', async () => {
    const world = await endpointWorld({ limits: { endpointCalls: 2 } });
    const { t, robot } = world;
    robot.device.misbehave('silent');
    const open = [world.telemetry(), world.telemetry()];
    await robot.device.askedTimes(2);
    const { status, body } = await world.telemetry();
    expect([status, body]).toEqual([
      503,
      {
        ok: false,
        error: 'too many calls to devices are open; nothing was sent, try again',
        retryable: true,
      },
    ]);
    t.clock.advance(20_000);
    for (const answer of await Promise.all(open)) expect(answer.status).toBe(504);
    robot.device.misbehave(undefined);
    expect((await world.telemetry()).status).toBe(200);
  });

  it('a hub that stops ends its open calls', async () => {
    const world = await endpointWorld();
    world.robot.device.misbehave('silent');
    const open = world.chat('hello');
    await world.robot.device.askedTimes(1);
    await world.t.hub.close();
    expect((await open).body.error).toBe('device unreachable: the hub is stopping');
  });

  it('503 where the registry can’t be read', async () => {
    const store = await breakableStore();
    const world = await endpointWorld({ database: store.database });
    store.break('full');
    const { status, body } = await world.telemetry();
    store.mend();
    expect([status, body.retryable]).toEqual([503, true]);
    expect(world.robot.device.asked).toEqual([]);
  });
});
