import { describe, expect, test } from 'vitest';
import {
  CounterGuard,
  PacketOrder,
  RESTART_PACKETS,
  RESTART_QUIET_MS,
  RESTART_SPAN_MS,
} from './bthome-order.js';
import { Hearing } from './hearing.js';

describe('plain packets', () => {
  /** `id:content@ms`, an id of `-` is none. */
  const judged = (...packets: string[]): string[] => {
    const order = new PacketOrder();
    return packets.map((packet) => {
      const [, id, content, at] = /^(.+):(.)@(\d+)$/.exec(packet) ?? [];
      const bytes = new TextEncoder().encode(`${id}${content}`);
      return order.judge(bytes, id === '-' ? undefined : Number(id), Number(at));
    });
  };

  test('the same id and bytes are never news, however late', () => {
    expect(judged('1:a@0', '1:a@100', '1:a@9999999', '2:a@9999999')).toEqual([
      'new',
      'repeat',
      'repeat',
      'new',
    ]);
  });

  test('an id that is behind came late, unless there was a pause', () => {
    expect(judged('9:a@0', '8:b@3000', '10:c@3500', '8:d@9000')).toEqual([
      'new',
      'old',
      'new',
      'new',
    ]);
  });

  test('after 255 comes 0', () => {
    expect(judged('255:a@0', '0:b@1000', '254:c@1500')).toEqual(['new', 'new', 'old']);
  });

  test('one id with other bytes is one packet in a burst, another after it', () => {
    expect(judged('3:a@0', '3:b@4000', '3:c@8001')).toEqual(['new', 'repeat', 'new']);
  });

  test('without an id the same bytes are one packet while they go on', () => {
    expect(judged('-:a@0', '-:a@4999', '-:a@9000', '-:a@14000', '-:b@14001')).toEqual([
      'new',
      'repeat',
      'repeat',
      'new',
      'new',
    ]);
  });

  test('a sensor that takes turns with packets says each once', () => {
    expect(judged('-:a@0', '-:b@1000', '-:a@2000', '-:b@3000')).toEqual([
      'new',
      'new',
      'repeat',
      'repeat',
    ]);
    expect(judged('1:a@0', '2:b@1000', '1:a@2000', '2:b@3000')).toEqual([
      'new',
      'new',
      'repeat',
      'repeat',
    ]);
  });
});

describe('counters', () => {
  const QUIET = RESTART_QUIET_MS;

  test('must grow, by any step', () => {
    const guard = new CounterGuard(0);
    const news = [5, 5, 6, 4, 4_000_000_000, 7].map((counter, i) => guard.judge(counter, i));
    expect(news).toEqual(['new', 'repeat', 'new', 'replayed', 'new', 'replayed']);
  });

  test('begin again after the last 32-bit number', () => {
    const guard = new CounterGuard(0);
    guard.judge(2 ** 32 - 2, 0);
    expect(guard.judge(1, 1)).toBe('new');
    expect(guard.judge(2 ** 32 - 1, 2)).toBe('new');
    expect(new CounterGuard(0, 2 ** 31).judge(1, 1)).toBe('replayed');
  });

  test('a restart is believed after silence, from the third growing packet and half a minute on', () => {
    const guard = new CounterGuard(0, 1_000);
    expect(guard.judge(3, QUIET - 1)).toBe('replayed');
    const packets = [3, 3, 4, 5, 6].map((counter, i) => guard.judge(counter, QUIET + i * 10_000));
    expect(packets).toEqual(['unproven', 'repeat', 'unproven', 'restarted', 'new']);
    expect(guard.last).toBe(6);
    expect(RESTART_PACKETS * 10_000).toBe(RESTART_SPAN_MS);
  });

  test('three packets at once are no restart yet', () => {
    const guard = new CounterGuard(0, 1_000);
    expect([1, 2, 3, 4].map((c) => guard.judge(c, QUIET + c))).toEqual(Array(4).fill('unproven'));
    expect(guard.judge(5, QUIET + 1 + RESTART_SPAN_MS)).toBe('restarted');
  });

  test('the former run being heard ends the belief in a restart', () => {
    const guard = new CounterGuard(0, 1_000);
    guard.judge(1, QUIET);
    guard.judge(2, QUIET + 20_000);
    expect(guard.judge(1_001, QUIET + 30_000)).toBe('new');
    expect(guard.judge(3, QUIET + 31_000)).toBe('replayed');
    expect(guard.judge(4, QUIET + 30_000 + QUIET)).toBe('unproven');
  });

  test('packets that count down are a new beginning each time', () => {
    const guard = new CounterGuard(0, 1_000);
    const news = [9, 8, 7, 6].map((c, i) => guard.judge(c, QUIET + i * 20_000));
    expect(news).toEqual(Array(4).fill('unproven'));
  });
});

describe('silence', () => {
  const MIN = 60_000;

  test('of five minutes is allowed at first, then of three intervals, of an hour at most', () => {
    const hearing = new Hearing();
    expect(hearing.heardAt).toBeUndefined();
    expect(hearing.heard(0, false)).toBe(5 * MIN);
    expect(hearing.heard(1_000, false)).toBe(5 * MIN);
    expect(hearing.heard(10 * MIN + 1_000, false)).toBe(30 * MIN);
    expect(hearing.heard(500 * MIN, false)).toBe(60 * MIN);
    expect(hearing.heardAt).toBe(500 * MIN);
  });

  test('one absence is forgotten as hearings go on, a burst alone forgets nothing', () => {
    const hearing = new Hearing();
    hearing.heard(0, false);
    hearing.heard(15 * MIN, false);
    for (let i = 1; i <= 1_000; i++) hearing.heard(15 * MIN + i, false);
    expect(hearing.heard(15 * MIN + 2_000, false)).toBe(45 * MIN);
    for (let i = 1; i <= 30; i++) hearing.heard(16 * MIN + i * 10_000, false);
    expect(hearing.heard(22 * MIN, false)).toBe(5 * MIN);
  });

  test('one that sends when something happens may be silent for an hour at least', () => {
    const hearing = new Hearing();
    expect(hearing.heard(0, true)).toBe(60 * MIN);
    expect(hearing.heard(240 * MIN, true)).toBe(720 * MIN);
  });
});
