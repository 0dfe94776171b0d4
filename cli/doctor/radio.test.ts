import { describe, expect, it } from 'vitest';
import { addressOf, FakeMote, FakePort } from '../../gateway/links/ble/fake-port.fixture.js';
import { idOf, rig } from '../../gateway/links/ble/rig.fixture.js';
import { FakeClock } from '../../test/support/clock.js';
import { CliError, EXIT } from '../fault.js';
import { bleHealthShape } from '../pair-admin.js';
import { hearing, hearingCheck, linkChecks, radioChecks } from './radio.js';

/** A scan with two boards about, the adapter being `port`. */
async function heardBy(port: FakePort, ...boards: number[]) {
  const clock = new FakeClock();
  const scan = hearing(port, clock);
  const motes = boards.map((n) => new FakeMote(clock, idOf(n), addressOf(n)));
  for (let i = 0; i < 10; i++) {
    await clock.advance(1_000);
    for (const mote of motes) port.advertise(mote);
  }
  return scan;
}

describe('a scan of doctor’s own', () => {
  it('counts who is heard, each once, and is over afterwards', async () => {
    const port = new FakePort();
    const heard = await heardBy(port, 1, 2);
    expect(heard).toMatchObject({ state: 'on', heard: 2, loudest: expect.any(Number) });
    expect(hearingCheck(heard)).toMatchObject({
      name: 'bluetooth scan',
      state: 'ok',
      found: expect.stringMatching(/^2 devices heard in 5 s, the nearest at -\d+ dBm$/),
    });
    expect(port.scanning).toBe(false);
  });

  it('warns of an adapter that hears nothing', async () => {
    const port = new FakePort();
    port.deaf = true;
    expect(hearingCheck(await heardBy(port, 1))).toMatchObject({
      state: 'warn',
      found: 'nothing was heard in 5 s',
    });
  });

  it.each(['off', 'absent', 'unauthorized', 'unknown'] as const)(
    'does not scan with an adapter that is %s',
    async (state) => {
      const port = new FakePort(state);
      const heard = await heardBy(port, 1);
      expect(heard).toEqual({ state, heard: 0 });
      expect(hearingCheck(heard).state).toBe('warn');
      expect(port.calls).not.toContain('startScan');
    },
  );

  it('ends where the adapter does not say that it scans', async () => {
    const port = new FakePort();
    port.hangs.add('startScan').add('stopScan');
    expect(await heardBy(port)).toEqual({ state: 'on', heard: 0 });
  });
});

describe('where a gateway runs', () => {
  it('it is asked, as it has the adapter to itself', async () => {
    const { link, live, mote } = rig();
    await live(3, mote);
    const checks = linkChecks(bleHealthShape.parse(link.health()));
    expect(checks).toMatchObject([
      { name: 'bluetooth scan', state: 'ok' },
      { name: 'bluetooth slots', state: 'ok', found: '1 of 64 connections in use' },
    ]);
  });

  it('says that every connection is taken', async () => {
    const { link, live, motes } = rig({ slots: 1 }, 2);
    await live(3, ...motes);
    expect(linkChecks(bleHealthShape.parse(link.health()))[1]).toMatchObject({
      state: 'warn',
      found: '1 of 1 connections in use',
    });
  });

  it('says that its adapter is deaf', async () => {
    const { link, live, port } = rig();
    port.deaf = true;
    await live(200);
    expect(linkChecks(bleHealthShape.parse(link.health()))[0]).toMatchObject({ state: 'warn' });
  });
});

it('listens itself where none runs, or one without BLE, and where there is something to use', async () => {
  const listen = async () => ({ state: 'on' as const, heard: 3 });
  for (const code of ['no_ble', 'not_running']) {
    const none = () => Promise.reject(new CliError(code, 'no', EXIT.refused));
    expect(await radioChecks(none, listen)).toMatchObject([{ state: 'ok' }]);
    expect(await radioChecks(none, undefined)).toEqual([]);
  }
  const broken = () => Promise.reject(new CliError('control', 'It does not answer.', EXIT.failed));
  expect(await radioChecks(broken, listen)).toMatchObject([
    { state: 'warn', found: expect.stringContaining('It does not answer.') },
  ]);
  expect(await radioChecks(async () => ({ nonsense: 1 }), listen)).toMatchObject([
    { state: 'warn' },
  ]);
});
