import { describe, expect, test } from 'vitest';
import { FakePort } from './fake-port.fixture.js';
import { idOf, rig } from './rig.fixture.js';

describe('a scan', () => {
  test('that ends when a link opens is resumed within a second, and counted', async () => {
    const { port, clock, link, motes, live } = rig({}, 2);
    await clock.advance(1_000);
    port.stopScanByItself();
    expect(port.scanning).toBe(false);
    await clock.advance(1_000);
    expect(port.scanning).toBe(true);
    expect(link.health().counters.scan_stopped).toBe(1);
    await live(2);
    expect(motes.every((mote) => mote.peers.size === 1)).toBe(true);
  });

  test('rests while every board is connected and nobody looks', async () => {
    const { port, link, live, clock } = rig();
    await live(2);
    expect(port.scanning).toBe(false);
    const stop = link.onSighting(() => {});
    await clock.advance(0);
    expect(port.scanning).toBe(true);
    stop();
    await clock.advance(0);
    expect(port.scanning).toBe(false);
  });

  test('pauses while a connection is made, then goes on', async () => {
    const { port, live, mote, clock } = rig();
    mote.hangs.add('connect');
    await live(1);
    expect(port.calls.slice(-2)).toEqual(['stopScan', `connect ${mote.address}`]);
    await clock.advance(10_000);
    expect(port.calls.slice(-2)).toEqual([`cancelConnect ${mote.address}`, 'startScan']);
  });

  test('whose start or stop is never confirmed keeps nobody waiting for ever', async () => {
    const port = new FakePort();
    port.hangs.add('startScan');
    const { live, mote, link, clock } = rig({}, 1, port);
    await clock.advance(3_500);
    expect(link.health().counters.scan_start_failed).toBe(1);
    port.hangs.clear();
    port.hangs.add('stopScan');
    await live(3);
    await clock.advance(5_000);
    expect(mote.peers.size).toBe(1);
  });
});

describe('a deaf adapter', () => {
  test('gets its scan restarted, is reset, is said to be deaf, and hears again', async () => {
    const { port, clock, link, logged, live, mote } = rig();
    port.deaf = true;
    await clock.advance(59_000);
    expect(link.health().counters.deaf_scan_restarts).toBeUndefined();
    await clock.advance(20_000);
    expect(port.calls).toEqual(['startScan', 'stopScan', 'startScan']);
    await clock.advance(60_000);
    expect(port.calls.filter((call) => call === 'reset')).toHaveLength(1);
    expect(port.scanning).toBe(true);
    expect(link.health().degraded).toBe(false);
    await clock.advance(70_000);
    const health = link.health();
    expect(health).toMatchObject({ state: 'up', degraded: true, counters: { deaf: 1 } });
    expect(health.detail).toMatch(/no advertisement was heard for 3 min although/);
    expect(health.detail).toMatch(/sudo hciconfig hci0 reset/);
    expect(logged.at(-1)).toBe(health.detail);
    await clock.advance(3_600_000);
    const resets = link.health().counters.adapter_resets ?? 0;
    expect(resets).toBeGreaterThanOrEqual(5);
    expect(resets).toBeLessThanOrEqual(8);
    expect(logged.filter((line) => /was heard/.test(line))).toHaveLength(1);
    port.deaf = false;
    await live(3);
    expect(link.health()).toMatchObject({ degraded: false });
    expect(logged).toContain('the Bluetooth adapter hears again');
    expect(mote.peers.size).toBe(1);
  });

  test('with links that work is said to be deaf before they are ended for a reset', async () => {
    const { port, clock, link, live, mote, listener } = rig({}, 2);
    await live(2, mote);
    port.deaf = true;
    await clock.advance(150_000);
    expect(link.health()).toMatchObject({ degraded: true, paths: 1 });
    expect(port.calls).not.toContain('reset');
    await clock.advance(700_000);
    expect(port.calls).toContain('reset');
    expect(listener.said).toContain(`closed ${idOf(1)}: adapter reset`);
  });

  test('is not looked for where nothing is awaited', async () => {
    const { port, clock, link } = rig({}, 0);
    port.deaf = true;
    await clock.advance(600_000);
    expect(port.calls).toEqual([]);
    expect(link.health()).toMatchObject({ state: 'up', degraded: false });
  });
});

describe('an adapter', () => {
  test.each([true, false])('that goes ends every path and comes back (told: %s)', async (told) => {
    const { port, live, listener, link, clock } = rig();
    await live(2);
    port.turn('off', told);
    await clock.advance(0);
    expect(listener.said.at(-1)).toBe(`closed ${idOf(1)}: the adapter went away`);
    expect(link.health()).toMatchObject({ state: 'down', slots: { used: 0 } });
    expect(link.health().detail).toMatch(/rfkill unblock bluetooth/);
    port.turn('on');
    await live(2);
    expect(listener.said.at(-1)).toBe(`opened ${idOf(1)}`);
    expect(link.health().boards[0]?.failures).toBe(0);
  });

  test('that this process may not use is said with the command, at once', () => {
    const port = new FakePort('unauthorized');
    const { link, logged } = rig({}, 1, port);
    expect(link.health()).toMatchObject({ state: 'down' });
    expect(link.health().detail).toMatch(/sudo setcap cap_net_raw,cap_net_admin\+eip/);
    expect(logged).toEqual(['the Bluetooth adapter is not usable']);
  });

  test('that is missing is looked for now and then', async () => {
    const port = new FakePort('absent');
    const { link, clock, live, mote } = rig({}, 1, port);
    await clock.advance(65_000);
    expect(port.calls).toEqual(['reset', 'reset']);
    port.onReset = () => port.turn('on');
    await clock.advance(30_000);
    await live(2);
    expect(mote.peers.size).toBe(1);
    expect(link.health().state).toBe('up');
  });
});

test('closing ends every path, every timer and the adapter', async () => {
  const { link, live, listener, clock, port } = rig({}, 2);
  await live(3);
  const closing = link.close();
  await clock.advance(0);
  await closing;
  expect(listener.said.filter((line) => /the link is closing/.test(line))).toHaveLength(2);
  expect(port.calls.at(-1)).toBe('close');
  expect(link.health()).toMatchObject({ state: 'down', paths: 0, slots: { used: 0 } });
  await clock.advance(100_000);
  expect(clock.waiting).toBe(0);
});
