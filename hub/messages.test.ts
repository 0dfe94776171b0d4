import { describe, expect, test } from 'vitest';
import { breakableStore, type TestHub, type TestHubOptions, withDevice } from './hub.fixture.js';

/** Ann with a device, and Bob. */
async function two(options: TestHubOptions = {}) {
  const { t, device } = await withDevice(options, 'd'.repeat(50));
  const bob = await t.hub.createOwner('bob');
  const say = (body: object) => t.ask('POST', '/api/devices/messages', { body });
  const by = (body: object) => say({ ...device, ...body });
  const asBob = (body: object) => as(t, bob.token, body);
  return { t, device, bob, say, by, asBob };
}

const as = (t: TestHub, token: string, body: object) =>
  t.ask('POST', '/api/messages', { as: token, body });

type Rows = Record<string, unknown>[];

describe('asking', () => {
  test('D119 what is missing or unknown is 400 in its own words, a stranger 401', async () => {
    const { device, say, by } = await two();
    for (const [body, error] of [
      [{ op: 'inbox' }, 'deviceId, token and op required'],
      [device, 'deviceId, token and op required'],
      [{ ...device, op: 'drop' }, 'op must be send | inbox | thread | unread'],
      [{ ...device, op: 'send', body: 'x' }, 'to required for send'],
      [{ ...device, op: 'thread' }, 'with required for thread'],
      [{ ...device, op: 'send', to: 'bob', body: ' ' }, 'body required for send'],
    ] as const) {
      const answer = await say(body);
      expect([answer.status, answer.body]).toEqual([400, { ok: false, error }]);
    }
    const stranger = await say({ ...device, token: 'x', op: 'inbox' });
    expect([stranger.status, stranger.body.error]).toEqual([401, 'unknown device']);
    expect((await by({ op: 'inbox' })).body).toEqual({ ok: true, threads: [] });
  });

  test('D119 an outage is 503 and never an empty inbox', async () => {
    const store = await breakableStore();
    const { t, by } = await two({ database: store.database });
    const down = { ok: false, error: 'messages unavailable', retryable: true };
    store.break('io');
    for (const op of ['inbox', 'unread']) {
      const answer = await by({ op });
      expect([answer.status, answer.body]).toEqual([503, down]);
    }
    store.mend();
    await store.database.write((w) => w.run('DROP TABLE messages'));
    for (const body of [
      { op: 'inbox' },
      { op: 'unread' },
      { op: 'thread', with: 'bob' },
      { op: 'send', to: 'bob', body: 'x' },
    ]) {
      const answer = await by(body);
      expect([answer.status, answer.body]).toEqual([503, down]);
    }
    expect((await t.ask('POST', '/api/messages', { body: { op: 'inbox' } })).status).toBe(401);
  });
});

describe('sending', () => {
  test('D119 2,000 code points are taken whole, one more is refused and not cut', async () => {
    const { by, asBob } = await two();
    const body = '😀'.repeat(2000);
    expect((await by({ op: 'send', to: 'bob', body: `${body}x` })).status).toBe(400);
    expect((await asBob({ op: 'unread' })).body).toMatchObject({ unread: 0 });
    expect((await by({ op: 'send', to: 'bob', body })).body).toEqual({ ok: true, id: 1 });
    const { messages } = (await asBob({ op: 'thread', with: 'ann' })).body as { messages: Rows };
    expect(messages[0]?.body).toBe(body);
  });

  test('people are found by id or name; oneself, nobody and two of a name are refused', async () => {
    const { t, bob, by } = await two();
    await t.hub.createOwner('twin');
    await t.hub.createOwner('twin');
    for (const [to, status] of [
      ['bob', 200],
      ['@bob', 200],
      [bob.ownerId, 200],
      ['ann', 400],
      [t.ownerId, 400],
      ['twin', 400],
      ['carol', 404],
      ["' OR 1=1 --", 404],
    ] as const) {
      expect([to, (await by({ op: 'send', to, body: 'x' })).status]).toEqual([to, status]);
    }
  });

  test('the 101st within a day is 429, whoever sends it; a day later it goes', async () => {
    const { t, by } = await two();
    const send = { op: 'send', to: 'bob', body: 'x' };
    for (let i = 0; i < 99; i++) expect((await by(send)).status).toBe(200);
    expect((await as(t, t.token, send)).status).toBe(200);
    for (const refused of [await by(send), await as(t, t.token, send)]) {
      expect([refused.status, refused.body.ok]).toEqual([429, false]);
    }
    t.clock.advance(86_400_000 - 1);
    expect((await by(send)).status).toBe(429);
    t.clock.advance(1);
    expect((await by(send)).status).toBe(200);
  });

  test('only own media are attached, four at most', async () => {
    const { t, by, asBob, bob } = await two();
    const upload = async (token: string) => {
      const body = { data: 'AAAA', contentType: 'image/png' };
      return String((await t.ask('POST', '/api/media', { as: token, body })).body.key);
    };
    const [mine, his] = [await upload(t.token), await upload(bob.token)];
    const send = { op: 'send', to: 'bob', body: '' };
    for (const attachments of [
      [his],
      [mine, 'https://evil.example/x.png'],
      [`https://evil.example/media/${mine}`],
      [7],
      Array.from({ length: 5 }, () => mine),
    ]) {
      expect((await by({ ...send, attachments })).status).toBe(400);
    }
    expect((await by({ ...send, attachments: [mine] })).status).toBe(200);
    const { threads } = (await asBob({ op: 'inbox' })).body as { threads: Rows };
    expect(threads[0]).toMatchObject({ lastBody: '', lastAttachments: [`/media/${mine}`] });
  });
});

describe('reading', () => {
  test('a thread says who sent what by which device, and marks it as read', async () => {
    const { t, by, asBob, bob } = await two();
    await by({ op: 'send', to: 'bob', body: 'by device' });
    t.clock.advance(1000);
    await as(t, t.token, { op: 'send', to: 'bob', body: 'by hand' });
    await asBob({ op: 'send', to: 'ann', body: 'back' });
    const { body } = await asBob({ op: 'thread', with: t.ownerId });
    const s = t.clock.wall() / 1000;
    expect(body).toEqual({
      ok: true,
      peer: { userId: t.ownerId, login: 'ann', name: 'ann', avatar: null },
      messages: [
        [1, 'received', 'by device', 'd'.repeat(40), false, s - 1],
        [2, 'received', 'by hand', null, false, s],
        [3, 'sent', 'back', null, false, s],
      ].map(([id, direction, body, viaTiny, read, created]) => ({
        id,
        direction,
        body,
        attachments: [],
        viaTiny,
        read,
        created,
      })),
    });
    const hers = (await by({ op: 'thread', with: 'bob' })).body as { messages: Rows };
    expect(hers.messages.map((m) => [m.direction, m.read])).toEqual([
      ['sent', true],
      ['sent', true],
      ['received', false],
    ]);
    const again = (await asBob({ op: 'thread', with: 'ann', limit: 2 })).body as { messages: Rows };
    expect(again.messages.map((m) => [m.id, m.read])).toEqual([
      [2, true],
      [3, true],
    ]);
    expect((await asBob({ op: 'unread' })).body).toEqual({ ok: true, unread: 0, from: [] });
    expect((await by({ op: 'thread', with: 'carol' })).status).toBe(404);
    const carol = await t.hub.createOwner('carol');
    const theirs = await as(t, carol.token, { op: 'thread', with: bob.ownerId });
    expect(theirs.body.messages).toEqual([]);
  });

  test('the inbox has each thread once, the latest first; unread ones are told by sender', async () => {
    const { t, by, asBob } = await two();
    const carol = (await t.hub.createOwner('carol')).token;
    await by({ op: 'send', to: 'bob', body: 'one' });
    await by({ op: 'send', to: 'bob', body: 'x'.repeat(200) });
    await as(t, carol, { op: 'send', to: 'bob', body: 'hello' });
    const inbox = (await asBob({ op: 'inbox' })).body as { threads: Rows };
    expect(inbox.threads).toMatchObject([
      { login: 'carol', unread: 1, lastBody: 'hello' },
      { login: 'ann', name: 'ann', avatar: null, unread: 2, lastBody: 'x'.repeat(140) },
    ]);
    expect((await asBob({ op: 'unread' })).body).toEqual({
      ok: true,
      unread: 3,
      from: [
        { login: 'ann', name: 'ann', count: 2 },
        { login: 'carol', name: 'carol', count: 1 },
      ],
    });
    const hers = (await by({ op: 'inbox' })).body as { threads: Rows };
    expect(hers.threads).toMatchObject([{ login: 'bob', unread: 0, lastBody: 'x'.repeat(140) }]);
  });

  test('a removed owner’s messages go along, on both sides', async () => {
    const { t, bob, by, asBob } = await two();
    await by({ op: 'send', to: 'bob', body: 'x' });
    await asBob({ op: 'send', to: 'ann', body: 'x' });
    expect(await t.hub.removeOwner(bob.ownerId)).toBe(true);
    expect((await by({ op: 'inbox' })).body.threads).toEqual([]);
    expect((await by({ op: 'unread' })).body.unread).toBe(0);
  });

  test('D34 a heartbeat tells the count where it was wanted, and 0 where nothing is new', async () => {
    const { t, device, asBob } = await two();
    const beat = async (wantUnread?: unknown) =>
      (await t.ask('POST', '/api/devices/heartbeat', { body: { ...device, wantUnread } })).body;
    expect(await beat(true)).toEqual({ ok: true, unread: 0 });
    await asBob({ op: 'send', to: 'ann', body: 'x' });
    expect(await beat('1')).toEqual({ ok: true, unread: 1 });
    for (const off of [undefined, false, '0', 'false'])
      expect(await beat(off)).toEqual({ ok: true });
  });
});
