import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type BluetoothMachine, bluetoothChecks, libraryCheck } from './bluetooth.js';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const CAPS = (bits: string) => `Name:\tnode\nCapEff:\t${bits}\nCapBnd:\t000001ffffffffff\n`;
const BOTH = '0000000000003000';

/** A machine that has what BLE needs, with `files` laid over it. */
function machine(files: Record<string, string> = {}, also: Partial<BluetoothMachine> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'machine-'));
  folders.push(root);
  const all = {
    'sys/class/bluetooth/hci0/address': 'x',
    'sys/class/bluetooth/hci0:64/address': 'a connection, not an adapter',
    'sys/class/rfkill/rfkill0/type': 'bluetooth\n',
    'sys/class/rfkill/rfkill0/soft': '0\n',
    'sys/class/rfkill/rfkill0/hard': '0\n',
    'proc/self/status': CAPS(BOTH),
    'proc/sys/kernel/osrelease': '6.6.31\n',
    ...files,
  };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return {
    platform: 'linux' as const,
    root,
    uid: 1000,
    node: '/usr/bin/node',
    load: () => undefined,
    ...also,
  };
}

const states = (of: BluetoothMachine) =>
  Object.fromEntries(
    bluetoothChecks(of).map(({ name, state }) => [name.replace('bluetooth ', ''), state]),
  );
const fixOf = (of: BluetoothMachine, name: string) =>
  bluetoothChecks(of).find((check) => check.name === `bluetooth ${name}`)?.fix;

describe('what doctor says of Bluetooth', () => {
  it('nothing, where all is there', () => {
    expect(states(machine())).toEqual({
      library: 'ok',
      adapter: 'ok',
      power: 'ok',
      permission: 'ok',
      kernel: 'ok',
    });
  });

  it('names every adapter and counts no connection as one', () => {
    const two = machine({ 'sys/class/bluetooth/hci1/address': 'y' });
    expect(bluetoothChecks(two)[1]?.found).toBe('hci0, hci1');
  });

  it('without an adapter nothing else is asked for', () => {
    const none = { ...machine(), root: '/nowhere' };
    expect(states(none)).toEqual({ library: 'ok', adapter: 'warn' });
    expect(fixOf(none, 'adapter')).toContain('nothing to do for MQTT boards');
  });

  it('which capability is missing, and how both are given', () => {
    for (const [bits, lacks] of [
      ['0000000000001000', 'it lacks cap_net_raw'],
      ['0000000000002000', 'it lacks cap_net_admin'],
      ['0000000000000000', 'it lacks cap_net_admin and cap_net_raw'],
    ] as const) {
      const of = machine({ 'proc/self/status': CAPS(bits) });
      const check = bluetoothChecks(of)[3];
      expect(check).toMatchObject({ state: 'warn', found: lacks });
      expect(check?.fix).toContain('sudo setcap cap_net_raw,cap_net_admin+eip /usr/bin/node');
    }
    const garbled = machine({ 'proc/self/status': 'CapEff:\tnot hex\n' });
    expect(bluetoothChecks(garbled)[3]?.found).toBe('it lacks cap_net_admin and cap_net_raw');
  });

  it('that root is more than it needs', () => {
    expect(fixOf(machine({}, { uid: 0 }), 'permission')).toContain('docs/ble.md');
  });

  it('a block by software or by a switch, of Bluetooth alone', () => {
    const soft = { 'sys/class/rfkill/rfkill0/soft': '1\n' };
    expect(fixOf(machine(soft), 'power')).toContain('rfkill unblock bluetooth');
    expect(fixOf(machine({ 'sys/class/rfkill/rfkill0/hard': '1' }), 'power')).toContain('switch');
    const wlan = { ...soft, 'sys/class/rfkill/rfkill0/type': 'wlan\n' };
    expect(states(machine(wlan)).power).toBe('ok');
  });

  it('that bluetoothd shares the adapter', () => {
    expect(fixOf(machine({ 'proc/77/comm': 'bluetoothd\n' }), 'kernel')).toContain('--ble hci1');
    expect(states(machine({ 'proc/77/comm': 'node\n' })).kernel).toBe('ok');
  });

  it('which library loads, or why none does and how one would', () => {
    const first = (name: string) => (name.startsWith('@abandonware') ? 'no build' : undefined);
    expect(libraryCheck(machine({}, { load: first }))).toMatchObject({
      state: 'ok',
      found: '@stoprocent/noble loads (@abandonware/noble: no build)',
    });
    const none = libraryCheck(machine({}, { load: () => 'it is not installed' }));
    expect(none.state).toBe('warn');
    expect(none.fix).toContain('npm install @stoprocent/noble');
    expect(none.fix).toContain('npm rebuild @abandonware/bluetooth-hci-socket');
  });

  it('of another system only the library', () => {
    expect(states(machine({}, { platform: 'darwin' }))).toEqual({ library: 'ok' });
  });
});
