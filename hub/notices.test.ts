import { describe, expect, it } from 'vitest';
import {
  breakableStore,
  browser,
  FakePush,
  invoke,
  type TestHub,
  type TestHubOptions,
  testHub,
} from './hub.fixture.js';
import { noticeOf } from './notices.js';

const HOUR = 3_600_000;

async function withPush(options: TestHubOptions = {}) {
  const push = new FakePush();
  const t = await testHub({ push, ...options });
  expect((await t.own('POST', '/api/push', browser())).status).toBe(200);
  return { t, push, device: await t.enrol('desk') };
}

async function late(
  t: TestHub,
  device: object & { deviceId: string },
  payload: unknown,
  ms: number,
) {
  const id = await t.send(device.deviceId, payload);
  await t.poll(device, 50);
  t.clock.leap(ms);
  expect((await t.reply(device, id, { result: 'the secret result' })).status).toBe(200);
  return id;
}

const beat = (t: TestHub, body: object) => t.ask('POST', '/api/devices/heartbeat', { body });
const parsed = (messages: { payload: string }[]) => messages.map((m) => JSON.parse(m.payload));

describe('what an owner is told of', () => {
  it('65: the report’s own notify envelopes never produce another report', async () => {
    const { database } = await breakableStore();
    const { t, push, device } = await withPush({ database });
    const waiting = () =>
      database.read((r) =>
        r.all<{ kind: string }>('SELECT kind FROM envelopes').map((e) => e.kind),
      );
    const other = await t.enrol('other');
    await t.send(device.deviceId, invoke('water the plants'));
    t.clock.hold(HOUR + 1_000);
    await beat(t, other);
    await t.hub.sweep();
    expect(push.sent).toHaveLength(1);
    expect(push.sent[0]?.notice).toMatchObject({
      title: '💻 A task never reached your device',
      body: expect.stringContaining('water the plants'),
      tag: expect.stringMatching(/^tiny-missed-\d+$/),
      url: '/devices',
    });
    // The notice itself waits for a device that never comes for it.
    expect(waiting()).toEqual(['notify']);
    t.clock.hold(HOUR + 1_000);
    await beat(t, other);
    await t.hub.sweep();
    await t.hub.sweep();
    expect(waiting()).toEqual([]);
    expect(push.sent).toHaveLength(1);
    expect((await t.events()).map((e) => e.kind)).toEqual(['device_missed']);
    expect(await t.poll(other, 50)).toEqual([]);
  });

  it('67: a late push carries the ask and never the result; its tag is the envelope’s', async () => {
    const { t, push, device } = await withPush();
    const first = await late(t, device, invoke(`ask ${'y'.repeat(200)}`), 46_000);
    const second = await late(t, device, { type: 'invoke' }, 46_000);
    expect(push.sent.map(({ notice }) => notice)).toEqual([
      {
        title: '💻 desk finished',
        body: `ask ${'y'.repeat(136)}`,
        tag: `device-result-${first}`,
        url: expect.stringMatching(/^\/\?q=/),
      },
      expect.objectContaining({ tag: `device-result-${second}`, body: expect.any(String) }),
    ]);
    const asked = new URL(push.sent[0]?.notice.url ?? '', 'http://x').searchParams.get('q');
    expect(asked).toContain(`envelope_id:'${first}'`);
    expect(JSON.stringify(push.sent)).not.toContain('secret');
  });

  it('66: at 45 s nothing is pushed, nor for a late answer to a notice (68)', async () => {
    const { t, push, device } = await withPush();
    await late(t, device, invoke('x'), 45_000);
    await late(t, device, { type: 'notify', title: 'x' }, 60_000);
    expect(push.sent).toEqual([]);
  });

  it('70: the reply is stored first, then the event, then it is pushed', async () => {
    const { t, push, device } = await withPush();
    const seen: unknown[] = [];
    push.send = async () => {
      seen.push(
        await t.read(id),
        (await t.events()).map((e) => e.kind),
      );
      return 201;
    };
    const id = await t.send(device.deviceId, invoke('x'));
    await t.poll(device);
    t.clock.leap(46_000);
    await t.reply(device, id, { result: 'done' });
    await expect.poll(() => seen).toEqual([expect.any(String), ['device_result']]);
  });

  it('70: a push that fails leaves reply and event as they are', async () => {
    const { t, push, device } = await withPush();
    push.status.set(browser().endpoint, new Error('no route'));
    const id = await late(t, device, invoke('x'), 46_000);
    expect(push.sent).toHaveLength(1);
    expect(await t.read(id)).toContain('secret');
    expect(await t.events()).toMatchObject([{ kind: 'device_result' }]);
  });

  it('71: a notice is queued for dial-in devices that are not revoked and were seen ≤ 120 s ago', async () => {
    const { t, device } = await withPush();
    const bob = (await t.hub.createOwner('bob')).token;
    const his = (await t.ask('POST', '/api/devices', { as: bob, body: { name: 'his' } })).body;
    const [edge, gone, revoked] = [
      await t.enrol('edge'),
      await t.enrol('gone'),
      await t.enrol('off'),
    ];
    await t.own('DELETE', '/api/devices', revoked);
    const id = await t.send(device.deviceId, invoke('x'));
    await t.poll(device);
    t.clock.leap(1_000);
    await beat(t, edge);
    t.clock.leap(120_000);
    await beat(t, device);
    await t.reply(device, id, 1);
    expect(parsed(await t.poll(device))).toEqual([
      {
        type: 'notify',
        title: '💻 desk finished',
        body: 'x',
        tag: `device-result-${id}`,
        url: expect.any(String),
      },
    ]);
    expect(await t.poll(edge)).toHaveLength(1);
    expect(await t.poll(gone)).toEqual([]);
    expect(await t.poll({ deviceId: his.device_id, token: his.device_token })).toEqual([]);
  });

  it('71: title and body are cut to 100 and 400, and what is missing has its default', () => {
    const long = noticeOf({ title: 't'.repeat(101), body: 'b'.repeat(401), tag: 'x', url: '/y' });
    expect(long).toEqual({ title: 't'.repeat(100), body: 'b'.repeat(400), tag: 'x', url: '/y' });
    expect(noticeOf({})).toEqual({ title: 'tiny', body: '', tag: 'tiny-notification', url: '/' });
  });

  it('a board hears of it through its gateway while it is online and has the verb', async () => {
    const { t, device } = await withPush();
    const gateway = await t.gateway();
    const plain = await gateway.board('plain', '00000000000000a1');
    const made = await gateway.post('boards', {
      boardId: '00000000000000a2',
      name: 'shows',
      platform: 'esp32',
      capabilities: ['notify'],
      catalog: { firmware: '1.0', verbs: [], readings: [] },
    });
    const shows = String(made.body.device_id);
    await gateway.online(plain);
    await gateway.online(shows);
    const waiting = async (deviceId: string) => {
      const answer = await t.ask('PUT', '/api/devices/relay', {
        as: gateway.token,
        body: { deviceId },
      });
      return (answer.body.messages as unknown[]).length;
    };
    // Without the gateway's stream nobody is there to show it.
    await late(t, device, invoke('x'), 46_000);
    expect([await waiting(plain), await waiting(shows)]).toEqual([0, 0]);
    const headers = { authorization: `Bearer ${gateway.token}` };
    const stop = new AbortController();
    await fetch(`${await t.url()}/api/gateway/v1/stream`, { headers, signal: stop.signal });
    await gateway.online(plain);
    await gateway.online(shows);
    await late(t, device, invoke('x'), 46_000);
    expect([await waiting(plain), await waiting(shows)]).toEqual([0, 1]);
    stop.abort();
  });

  it('a task result is one push under its ticket, however often it is deposited', async () => {
    const { t, push, device } = await withPush();
    const body = { ...device, taskId: 't1', summary: 'baked', result: 'secret' };
    const { ticket } = (await t.ask('POST', '/api/devices/task-result', { body })).body;
    await t.ask('POST', '/api/devices/task-result', { body });
    expect(push.sent).toHaveLength(1);
    const { notice } = push.sent[0] ?? {};
    expect(notice).toMatchObject({ title: '💻 desk finished', body: 'baked' });
    expect(notice?.tag).toBe(`task-result-${ticket}`);
    expect(JSON.stringify(push.sent)).not.toContain('secret');
  });

  it('services that are slow hold up 64 pushes of an owner; what comes then is an event alone', async () => {
    const { t, push, device } = await withPush();
    const results = async (from: number, to: number) => {
      for (let n = from; n < to; n++) {
        const body = { ...device, taskId: `t${n}`, result: 'x' };
        expect((await t.ask('POST', '/api/devices/task-result', { body })).status).toBe(200);
      }
    };
    let taken: () => void = () => {};
    push.slow = new Promise((done) => {
      taken = done;
    });
    await results(0, 70);
    expect(push.sent).toHaveLength(64);
    expect((await t.events()).at(-1)?.detail).toContain('task t69 is done');
    taken();
    await results(70, 71);
    expect(push.sent).toHaveLength(65);
  });

  it('the open page hears of it on the owner’s stream', async () => {
    const { t, device } = await withPush();
    const stop = new AbortController();
    const headers = { authorization: `Bearer ${t.token}` };
    const stream = await fetch(`${await t.url()}/api/stream`, { headers, signal: stop.signal });
    await late(t, device, invoke('x'), 46_000);
    let heard = '';
    const decoder = new TextDecoder();
    const reader = stream.body?.getReader();
    while (!/event: notice\n.*\n\n/.test(heard)) {
      heard += decoder.decode((await reader?.read())?.value);
    }
    const data = JSON.parse(/event: notice\ndata: (.*)\n/.exec(heard)?.[1] ?? '');
    expect(data).toMatchObject({
      title: '💻 desk finished',
      body: 'x',
      created: expect.any(Number),
    });
    expect(heard.indexOf('device_result')).toBeLessThan(heard.indexOf('event: notice'));
    stop.abort();
  });

  it('63: a store that fails right after the event loses the notice alone', async () => {
    const store = await breakableStore();
    const { t, push, device } = await withPush({ database: store.database });
    const write = store.database.write;
    let writes = 0;
    store.database.write = async (run) => {
      writes += 1;
      if (writes === 2) throw new Error('the disk is gone');
      return write(run);
    };
    const body = { ...device, taskId: 't1', result: 1 };
    expect((await t.ask('POST', '/api/devices/task-result', { body })).status).toBe(200);
    expect(await t.events()).toHaveLength(1);
    expect(push.sent).toHaveLength(1);
  });
});

describe('subscriptions', () => {
  it('are of one owner: the last that subscribed in that browser', async () => {
    const { t, push } = await withPush();
    const bob = (await t.hub.createOwner('bob')).token;
    const remove = (as: string) =>
      t.ask('DELETE', '/api/push', { as, body: { endpoint: browser().endpoint } });
    expect((await remove(bob)).body.removed).toBe(0);
    await t.ask('POST', '/api/push', { as: bob, body: browser() });
    expect((await remove(t.token)).body.removed).toBe(0);
    const device = await t.enrol('mine');
    await late(t, device, invoke('x'), 46_000);
    expect(push.sent).toEqual([]);
    expect((await remove(bob)).body.removed).toBe(1);
    expect((await t.ask('GET', '/api/push')).status).toBe(401);
    expect((await t.own('GET', '/api/push')).body).toEqual({ ok: true, key: push.publicKey });
  });

  it('that their service no longer knows are dropped, others stay', async () => {
    const { t, push, device } = await withPush();
    const [gone, lost, busy] = ['gone', 'lost', 'busy'].map((x) => `https://push.example/${x}`);
    for (const [endpoint, status] of [
      [gone, 410],
      [lost, 404],
      [busy, 503],
    ] as const) {
      await t.own('POST', '/api/push', browser(endpoint));
      push.status.set(String(endpoint), status);
    }
    await late(t, device, invoke('x'), 46_000);
    expect(push.sent).toHaveLength(4);
    // Behind the writes that drop them.
    await t.enrol('x');
    push.sent.length = 0;
    await late(t, device, invoke('x'), 46_000);
    expect(push.sent.map(({ to }) => to).sort()).toEqual(['https://push.example/a', busy]);
  });

  it('need https and whole keys, and are 32 of an owner at most', async () => {
    const { t, push, device } = await withPush();
    const bad = [
      {},
      { endpoint: 'https://push.example/x' },
      { ...browser('http://push.example/x') },
      { ...browser(), keys: { p256dh: 'x', auth: 'x' } },
      { ...browser(), keys: null },
    ];
    for (const body of bad) expect((await t.own('POST', '/api/push', body)).status).toBe(400);
    for (let i = 0; i < 40; i++) {
      t.clock.leap(1_000);
      await t.own('POST', '/api/push', browser(`https://push.example/${i}`));
    }
    await late(t, device, invoke('x'), 46_000);
    expect(push.sent).toHaveLength(32);
    expect(push.sent.map(({ to }) => to)).toContain('https://push.example/39');
  });
});
