import { describe, expect, it } from 'vitest';
import { rig } from '../testing/rig.js';

const HOUR = 3_600_000;
const MIDNIGHT = Date.UTC(2026, 2, 1);

async function day(unixMs = MIDNIGHT, utcOffsetMin = 0) {
  const made = rig('env');
  made.peer.welcome({ session: 8, unixMs, utcOffsetMin });
  const hours: Record<string, number>[] = [];
  for (let hour = 0; hour < 24; hour++) {
    hours.push((await made.call('status')) as Record<string, number>);
    await made.clock.pass(HOUR);
  }
  return { ...made, hours, at: (name: string) => hours.map((h) => h[name] ?? Number.NaN) };
}

describe('the air sensor', () => {
  it('follows the day: warm afternoons, dark nights, people in the evening', async () => {
    const { at } = await day();
    const temperature = at('temperature');
    expect(Math.max(...temperature)).toBeLessThan(25);
    expect(Math.min(...temperature)).toBeGreaterThan(16);
    const warmest = temperature.indexOf(Math.max(...temperature));
    expect(warmest).toBeGreaterThanOrEqual(12);
    expect(warmest).toBeLessThanOrEqual(19);
    const light = at('light');
    expect(Math.max(light[0] ?? 9, light[2] ?? 9, light[4] ?? 9)).toBeLessThan(10);
    expect(light[12]).toBeGreaterThan(200);
    const co2 = at('co2');
    expect(co2[20]).toBeGreaterThan((co2[4] ?? 0) + 200);
    for (const value of co2) expect(value).toBeGreaterThanOrEqual(405);
    for (const value of at('humidity')) expect(value > 15 && value < 95).toBe(true);
    for (const value of at('pressure')) expect(value > 980 && value < 1045).toBe(true);
  });

  it('moves smoothly: no reading jumps within a minute', async () => {
    const { call, clock } = rig('env');
    let before = (await call('status')) as Record<string, number>;
    for (let minute = 0; minute < 120; minute++) {
      await clock.pass(60_000);
      const now = (await call('status')) as Record<string, number>;
      expect(Math.abs((now.temperature ?? 0) - (before.temperature ?? 0))).toBeLessThan(0.3);
      expect(Math.abs((now.pressure ?? 0) - (before.pressure ?? 0))).toBeLessThan(0.5);
      expect(Math.abs((now.co2 ?? 0) - (before.co2 ?? 0))).toBeLessThan(40);
      before = now;
    }
  });

  it('uses local time where the gateway tells it', async () => {
    const { at } = await day(MIDNIGHT, 12 * 60);
    const light = at('light');
    expect(light[0]).toBeGreaterThan(200);
    expect(light[14]).toBeLessThan(5);
  });

  it('is the same for the same seed, and drains its battery slowly', async () => {
    const [a, b] = await Promise.all([day(), day()]);
    expect(a.hours).toEqual(b.hours);
    expect(new Set(a.at('temperature')).size).toBeGreaterThan(20);
    await a.clock.pass(20 * 24 * HOUR);
    expect(((await a.call('status')) as Record<string, number>).battery).toBe(87);
  });

  it('sends scaled integers on schedule; set_interval changes that until a reboot', async () => {
    const { peer, clock, call, board } = rig('env');
    await clock.pass(64_000);
    const readings = peer.take('readings');
    expect(readings).toHaveLength(3);
    const values = readings[0]?.values as number[];
    expect(values).toHaveLength(6);
    for (const value of values) expect(Number.isInteger(value)).toBe(true);
    expect(values[0]).toBeGreaterThan(1_600);
    expect(values[0]).toBeLessThan(2_500);
    expect(await call('set_interval', { s: 1 })).toEqual({ interval_s: 1 });
    await clock.pass(10_000);
    expect(peer.take('readings')).toHaveLength(10);
    await expect(call('set_interval', { s: 0 })).rejects.toThrow(/^bad_arguments/);
    board.reboot();
    peer.welcome({ nextCallId: 500 });
    await clock.pass(34_000);
    expect(peer.take('readings')).toHaveLength(2);
  });

  it('keeps stored readings until they are stored, where asked to', async () => {
    const { peer, clock, board } = rig('env', { env: { storeS: 60 } });
    peer.cut();
    await clock.pass(185_000);
    expect(board.session?.outbox.size).toBe(3);
    peer.connect();
    peer.welcome();
    const stored = peer.take('storedReadings');
    expect(stored.map((s) => [s.seq, Math.round((s.ageMs ?? 0) / 1000)])).toEqual([
      [1, 125],
      [2, 65],
      [3, 5],
    ]);
  });
});
