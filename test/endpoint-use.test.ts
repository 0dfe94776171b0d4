/** `use_device` and devices that are called by their URL (A9; 97, 105 to 108). */
import { describe, expect, it } from 'vitest';
import { breakableStore } from '../hub/hub.fixture.js';
import { connect } from '../hub/mcp/mcp.fixture.js';
import { endpointWorld, enrolAt } from './support/endpoint-world.js';

const invoke = (device_id: string, prompt: string, extra: object = {}) => ({
  action: 'invoke',
  device_id,
  prompt,
  ...extra,
});

describe('list', () => {
  it('105: presence stays null, with a note; capabilities are parsed', async () => {
    const { t, robot, use } = await endpointWorld();
    const { body } = await use({ action: 'list' });
    expect(body.devices).toEqual([
      {
        id: robot.id,
        name: 'robot',
        kind: 'endpoint',
        platform: '',
        capabilities: ['chat', 'telemetry', 'snapshot'],
        online: null,
        note: expect.stringMatching(/called by its URL/),
        url: `https://robot.test:${robot.device.port}`,
        last_seen_seconds_ago: null,
      },
    ]);
    expect(await t.list()).toHaveLength(1);
  });
});

describe('invoke', () => {
  it('106: an endpoint is called and the mailbox stays untouched, and the other way round', async () => {
    const store = await breakableStore();
    const { t, robot, use } = await endpointWorld({ database: store.database });
    const desk = await t.enrol('desk');
    const rows = () =>
      store.database.read((r) => r.get<{ n: number }>('SELECT count(*) AS n FROM envelopes'))?.n;
    const before = store.commits();
    const { status, body } = await use(invoke('robot', 'hello'));
    expect([status, body]).toEqual([
      200,
      { ok: true, result: 'Hello, this is robot.', device_id: robot.id },
    ]);
    expect([rows(), store.commits()]).toEqual([0, before]);
    expect(robot.device.asked).toHaveLength(1);
    await use(invoke(desk.deviceId, 'hello', { wait: false }));
    expect(rows()).toBe(1);
    expect(robot.device.asked).toHaveLength(1);
  });

  it('snapshot and telemetry are calls of their own where the capabilities name them', async () => {
    const { t, robot, use } = await endpointWorld();
    const { body } = await use(invoke(robot.id, 'snapshot'));
    expect(body).toEqual({
      ok: true,
      result: { media_type: 'image/jpeg', bytes: expect.any(Number) },
      images: [expect.stringMatching(/^\/media\/[0-9a-f-]{36}\.jpg$/)],
      device_id: robot.id,
    });
    const [image] = body.images as string[];
    const media = await t.ask('GET', String(image));
    expect([media.status, media.headers['content-type']]).toEqual([200, 'image/jpeg']);
    expect((await use(invoke(robot.id, 'telemetry'))).body).toMatchObject({
      ok: true,
      result: { name: 'robot', frames: 1 },
    });
    const url = `https://robot.test:${robot.device.port}`;
    const plain = await enrolAt(t, url, { capabilities: [] });
    expect((await use(invoke(plain, 'snapshot'))).body.result).toMatch(/heard "snapshot"/);
    expect(robot.device.asked.map(({ path }) => path)).toEqual([
      '/api/camera/snapshot',
      '/api/telemetry',
      '/api/chat',
    ]);
  });

  it('97: unreachable, broken, timeout, unauthorized and failed each have a note of their own', async () => {
    const { t, robot, use } = await endpointWorld();
    const said: unknown[] = [];
    for (const fault of ['unauthorized', 'half', 'unavailable', 'silent'] as const) {
      robot.device.misbehave(fault);
      const asked = robot.device.asked.length;
      const answer = use(invoke(robot.id, 'hello'));
      await robot.device.askedTimes(asked + 1);
      if (fault === 'silent') t.clock.advance(90_000);
      const { status, body } = await answer;
      expect([status, body.ok, body.pending, body.device_id]).toEqual([
        200,
        false,
        undefined,
        robot.id,
      ]);
      said.push([body.outcome, body.error]);
    }
    await robot.device.close();
    const { body } = await use(invoke(robot.id, 'hello'));
    said.push([body.outcome, body.error]);
    const rejected = 'robot rejected our credential — re-enroll with a fresh token';
    const broke =
      'robot was asked, but no whole answer came (its answer broke off); it may have been done.';
    const late = 'robot did not finish within 90s; it may still be at it.';
    const gone =
      'robot can’t be reached (the connection was refused); nothing was sent. Try again when it is back.';
    expect(said).toEqual([
      ['refused', { code: 'unauthorized', message: rejected }],
      ['outcome_unknown', { code: 'broken', message: broke }],
      ['failed', { code: 'failed', message: 'robot returned 503' }],
      ['outcome_unknown', { code: 'timeout', message: late }],
      ['unreachable', { code: 'unreachable', message: gone }],
    ]);
  });

  it('107: an endpoint that is too slow is a timeout and never pending; less time may be asked', async () => {
    const { t, robot, use } = await endpointWorld();
    robot.device.misbehave('silent');
    const answer = use(invoke(robot.id, 'hello', { timeout_ms: 45_000 }));
    await robot.device.askedTimes(1);
    t.clock.advance(45_000);
    const { body } = await answer;
    expect(body).toMatchObject({
      ok: false,
      outcome: 'outcome_unknown',
      error: { code: 'timeout', message: expect.stringMatching(/within 45s/) },
    });
    expect(body.envelope_id).toBeUndefined();
  });

  it('108: wait:false is ignored on endpoints', async () => {
    const { robot, use } = await endpointWorld();
    for (const extra of [{ wait: false }, { wait: false, timeout_ms: 0 }]) {
      const { body } = await use(invoke(robot.id, 'hello', extra));
      expect(body).toEqual({ ok: true, result: 'Hello, this is robot.', device_id: robot.id });
    }
  });
});

describe('cancelling', () => {
  it('a call that was taken back ends the connection to the device, and says what is known', async () => {
    const { t, robot } = await endpointWorld();
    let left = 0;
    for (const fault of ['silent', 'drip'] as const) {
      robot.device.misbehave(fault);
      for (const prompt of ['hello', 'snapshot', 'telemetry']) {
        const stop = new AbortController();
        const request = { action: 'invoke', device_id: robot.id, prompt } as const;
        const answer = t.hub.useDevice(t.ownerId, request, stop.signal);
        left += 1;
        await robot.device.askedTimes(left);
        stop.abort();
        await robot.device.leftTimes(left);
        expect(await answer).toMatchObject({
          ok: false,
          outcome: 'outcome_unknown',
          error: {
            code: 'cancelled',
            message: 'the call was taken back before robot had answered; it may have been done.',
          },
          device_id: robot.id,
        });
      }
    }
  });

  it('one that was taken back before it was sent is never sent', async () => {
    const { t, robot } = await endpointWorld();
    const request = { action: 'invoke', device_id: robot.id, prompt: 'hello' } as const;
    expect(await t.hub.useDevice(t.ownerId, request, AbortSignal.abort())).toMatchObject({
      ok: false,
      outcome: 'cancelled',
      error: { message: expect.stringContaining('nothing was sent') },
    });
    expect(robot.device.asked).toEqual([]);
  });

  it('an agent’s cancelled request (notifications/cancelled) reaches the device', async () => {
    const { t, robot } = await endpointWorld();
    robot.device.misbehave('silent');
    const { client, call } = await connect(t);
    const stop = new AbortController();
    const args = { action: 'invoke', device_id: 'robot', prompt: 'hello' };
    const asked = client.callTool({ name: 'use_device', arguments: args }, undefined, {
      signal: stop.signal,
    });
    await robot.device.askedTimes(1);
    stop.abort();
    await expect(asked).rejects.toThrow();
    await robot.device.leftTimes(1);
    robot.device.misbehave(undefined);
    expect(await call('use_device', args)).toMatchObject({
      content: [{ type: 'text', text: 'Hello, this is robot.' }],
    });
  });
});
