import { describe, expect, test } from 'vitest';
import { breakableStore, invoke, type TestHub, withDevice } from './hub.fixture.js';

const send = (t: TestHub, toDevice: unknown, payload: unknown, as = t.token) =>
  t.ask('POST', '/api/devices/relay', { as, body: { toDevice, payload } });
const HOUR = 3_600_000;

describe('retention', () => {
  test('D53 an undelivered row is given within the grace, and gone after', async () => {
    for (const [age, count] of [
      [3_600_000 + 299_000, 1],
      [3_600_000 + 301_000, 0],
    ] as const) {
      // Without the minute's sweep: what the send path alone leaves.
      const { t, device } = await withDevice();
      await t.send(device.deviceId, { type: 'notify', n: age });
      t.clock.hold(age);
      await t.send((await t.enrol('other')).deviceId, 1);
      expect(await t.poll(device)).toHaveLength(count);
    }
  });

  test('D54 a delivered row of two hours can still be answered', async () => {
    const { t, device } = await withDevice();
    const id = await t.send(device.deviceId, invoke('x'));
    await t.poll(device);
    t.clock.leap(2 * HOUR);
    await t.hub.sweep();
    expect((await t.reply(device, id, 1)).status).toBe(200);
    expect(await t.read(id)).toBe('1');
  });

  test('D55 row and reply are gone after 24 hours', async () => {
    const { database } = await breakableStore();
    const { t, device } = await withDevice({ database });
    const rows = () =>
      ['envelopes', 'replies'].map((table) =>
        database.read((r) => r.all(`SELECT id FROM ${table}`).length),
      );
    const answered = await t.send(device.deviceId, 1);
    const open = await t.send(device.deviceId, 1);
    await t.poll(device);
    await t.reply(device, answered, 1);
    t.clock.leap(24 * HOUR - 1_000);
    expect(await t.read(answered)).toBe('1');
    t.clock.leap(1_000);
    expect(await t.read(answered)).toBeNull();
    expect((await t.reply(device, open, 1)).body.error).toBe('envelope not found');
    expect(rows()).toEqual([2, 1]);
    await t.hub.sweep();
    expect(rows()).toEqual([0, 0]);
  });

  test('D56 D64 a lost invoke is reported once, in words that do not say failed', async () => {
    const { t, device } = await withDevice();
    await t.send(device.deviceId, invoke('water the plants'));
    t.clock.leap(HOUR + 1_000);
    await t.hub.sweep();
    await t.hub.sweep();
    const events = await t.events();
    expect(events).toMatchObject([{ kind: 'device_missed' }]);
    expect(events[0]?.detail).toContain('water the plants');
    expect(events[0]?.detail).not.toMatch(/fail/i);
    expect(await t.poll(device)).toEqual([]);
  });

  test('D57 D60 several are one report that quotes the oldest, by type and not by text', async () => {
    const { t, device } = await withDevice();
    await t.send(device.deviceId, invoke(`say "type":"notify" ${'x'.repeat(200)}`));
    t.clock.leap(1_000);
    await t.send(device.deviceId, invoke('second'));
    await t.send(device.deviceId, invoke('third'));
    t.clock.leap(HOUR + 1_000);
    await t.hub.sweep();
    const events = await t.events();
    expect(events).toHaveLength(1);
    expect(events[0]?.detail).toMatch(/"say "type":"notify" x{70}" \+2 more$/);
  });

  test('D58 two owners get their own reports', async () => {
    const { t, device } = await withDevice();
    const bob = (await t.hub.createOwner('bob')).token;
    const made = await t.ask('POST', '/api/devices', { as: bob, body: { name: 'b' } });
    await t.send(device.deviceId, invoke('mine'));
    await send(t, made.body.device_id, invoke('his'), bob);
    t.clock.leap(HOUR + 1_000);
    await t.hub.sweep();
    expect((await t.events()).map((e) => e.detail.includes('mine'))).toEqual([true]);
    expect((await t.events(bob)).map((e) => e.detail.includes('his'))).toEqual([true]);
  });

  test('D59 D61 notify, other and unreadable rows, and delivered or answered invokes, are not reported', async () => {
    const { t, device } = await withDevice();
    await t.send(device.deviceId, invoke('delivered'));
    await t.poll(device);
    // By a device that heard of it in another way than by asking for its mail.
    const answered = await t.send(device.deviceId, invoke('answered'));
    expect((await t.reply(device, answered, 1)).status).toBe(200);
    for (const payload of [{ type: 'notify', title: 'x' }, { type: 'chord' }, 7, 'null', '"x"']) {
      await t.send(device.deviceId, payload);
    }
    t.clock.leap(HOUR + 1_000);
    await t.hub.sweep();
    expect(await t.events()).toEqual([]);
    expect(await t.poll(device)).toEqual([]);
  });

  test('D62 rows beyond one sweep’s scan wait for the next', async () => {
    const { t, device } = await withDevice({ limits: { waiting: 600 } });
    const sends = [];
    for (let i = 0; i < 510; i++) sends.push(t.send(device.deviceId, invoke(`task ${i}`)));
    await Promise.all(sends);
    t.clock.leap(2 * HOUR);
    await t.hub.sweep();
    await t.hub.sweep();
    await t.hub.sweep();
    const details = (await t.events()).map((e) => e.detail);
    expect(details).toHaveLength(2);
    expect(details[0]).toMatch(/\+499 more$/);
    expect(details[1]).toMatch(/\+9 more$/);
  });

  test('D63 a store that fails throws nothing out of the sweep, and the next one reports', async () => {
    const store = await breakableStore();
    const { t, device } = await withDevice({ database: store.database });
    await t.send(device.deviceId, invoke('x'));
    t.clock.leap(HOUR + 1_000);
    store.break('io');
    await t.hub.sweep();
    store.mend();
    expect(await t.events()).toEqual([]);
    await t.hub.sweep();
    expect(await t.events()).toHaveLength(1);
  });

  test('the hub sweeps by itself each minute', async () => {
    const { t, device } = await withDevice();
    await t.send(device.deviceId, invoke('x'));
    t.clock.advance(HOUR + 61_000);
    await t.send(device.deviceId, 1);
    expect(await t.events()).toMatchObject([{ kind: 'device_missed' }]);
  });

  test('a clock that jumps an hour back or a year ahead loses and keeps nothing', async () => {
    const { t, device } = await withDevice();
    const id = await t.send(device.deviceId, invoke('x'));
    const online = async () => {
      const { body } = await t.own('GET', '/api/devices');
      return (body.devices as { online: boolean }[])[0]?.online;
    };
    for (const jump of [-HOUR, 365 * 24 * HOUR]) {
      t.clock.setWall(jump);
      expect(await online()).toBe(true);
      await t.hub.sweep();
      expect(await online()).toBe(true);
    }
    expect(await t.events()).toEqual([]);
    expect((await t.poll(device)).map((m) => m.id)).toEqual([id]);
    t.clock.leap(59_000);
    expect(await online()).toBe(true);
    t.clock.leap(1_000);
    expect(await online()).toBe(false);
  });
});

describe('late replies', () => {
  const late = async (payload: unknown, ms: number) => {
    const { t, device } = await withDevice();
    const id = await t.send(device.deviceId, payload);
    await t.poll(device);
    t.clock.leap(ms);
    await t.reply(device, id, { result: 'the secret result' });
    return { id, events: await t.events() };
  };

  test('D66 at 46 s there is one announcement, at 45 s none', async () => {
    expect((await late(invoke('x'), 45_000)).events).toEqual([]);
    expect((await late(invoke('x'), 46_000)).events).toMatchObject([{ kind: 'device_result' }]);
    expect((await late({ prompt: 'no type' }, 46_000)).events).toHaveLength(1);
  });

  test('D67 it quotes the ask and names the envelope, never the result', async () => {
    const { id, events } = await late(invoke(`ask ${'y'.repeat(200)}`), 60_000);
    expect(events[0]?.detail).toContain(`"ask ${'y'.repeat(86)}"`);
    expect(events[0]?.detail).toContain(`envelope_id:'${id}'`);
    expect(events[0]?.detail).not.toContain('secret');
  });

  test('D68 D69 other types are silent, an ask without words is announced in general', async () => {
    expect((await late({ type: 'notify', title: 'x' }, 60_000)).events).toEqual([]);
    expect((await late({ type: 'chord' }, 60_000)).events).toEqual([]);
    for (const payload of [7, { type: 'invoke' }, 'null']) {
      const { events } = await late(payload, 60_000);
      expect(events).toHaveLength(1);
      expect(events[0]?.detail).toContain('finished after 60s — read it');
    }
  });
});
