/** What BLE boards need of this machine: a library, an adapter with power, and permission. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { oneLine } from '../text.js';
import { type Check, ok, warn } from './check.js';

/** What is looked at; tests bring their own machine. */
export interface BluetoothMachine {
  platform: NodeJS.Platform;
  /** Root of the file system. */
  root: string;
  uid: number | undefined;
  node: string;
  /** Why a package does not load, or undefined. */
  load(name: string): string | undefined;
}

const LIBRARIES = ['@abandonware/noble', '@stoprocent/noble'] as const;
const ROOT = 'this runs as root, which it need not';
const NO_NEED = 'nothing to do for MQTT boards, and `motebridge start --ble virtual` needs none';

export function thisMachine(): BluetoothMachine {
  return {
    platform: process.platform,
    root: '/',
    uid: process.getuid?.(),
    node: process.execPath,
    load: loadApart,
  };
}

export function bluetoothChecks(machine: BluetoothMachine = thisMachine()): Check[] {
  const library = libraryCheck(machine);
  if (machine.platform !== 'linux') return [library];
  const adapters = list(machine, 'sys/class/bluetooth').filter((name) => /^hci\d+$/.test(name));
  if (adapters.length === 0) {
    const fix = `plug one in, or load its driver (\`dmesg | grep -i bluetooth\`); ${NO_NEED}`;
    return [library, warn('bluetooth adapter', 'none found', fix)];
  }
  return [
    library,
    ok('bluetooth adapter', adapters.sort().join(', ')),
    powerCheck(machine),
    permissionCheck(machine),
    kernelCheck(machine),
  ];
}

/** Everything is there that a scan needs; root has it too. */
export function mayListen(checks: readonly Check[]): boolean {
  const fine = new Map(
    checks.map(({ name, state, found }) => [name, state === 'ok' || found === ROOT]),
  );
  return ['library', 'adapter', 'power', 'permission'].every((one) => fine.get(`bluetooth ${one}`));
}

/** Which fork loads: of the first the radio's part must be compiled, the second brings it along. */
export function libraryCheck({ load }: BluetoothMachine): Check {
  const tried: string[] = [];
  for (const name of LIBRARIES) {
    const why = load(name);
    if (why === undefined) {
      const before = tried.length === 0 ? '' : ` (${tried.join('; ')})`;
      return ok('bluetooth library', `${name} loads${before}`);
    }
    tried.push(`${name}: ${why}`);
  }
  return warn(
    'bluetooth library',
    tried.join('; '),
    `run \`npm install ${LIBRARIES[1]}\` where Motebridge is installed, or \`npm rebuild @abandonware/bluetooth-hci-socket\` (needs a C++ compiler and Python); ${NO_NEED}`,
  );
}

function powerCheck(machine: BluetoothMachine): Check {
  for (const name of list(machine, 'sys/class/rfkill')) {
    const at = `sys/class/rfkill/${name}`;
    if (read(machine, `${at}/type`) !== 'bluetooth') continue;
    if (read(machine, `${at}/hard`) === '1') {
      return warn('bluetooth power', 'a switch of this machine turns it off', 'turn the switch on');
    }
    if (read(machine, `${at}/soft`) === '1') {
      return warn('bluetooth power', 'it is blocked', 'run `sudo rfkill unblock bluetooth`');
    }
  }
  return ok('bluetooth power', 'not blocked');
}

/** CAP_NET_ADMIN and CAP_NET_RAW (capabilities(7)). */
const NEEDED = { cap_net_admin: 12n, cap_net_raw: 13n } as const;

function permissionCheck(machine: BluetoothMachine): Check {
  const status = read(machine, 'proc/self/status') ?? '';
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]{1,16})$/m.exec(status)?.[1] ?? '0'}`);
  const lacks = Object.entries(NEEDED)
    .filter(([, bit]) => ((effective >> bit) & 1n) === 0n)
    .map(([name]) => name);
  if (lacks.length === 0) {
    if (machine.uid === 0) {
      return warn(
        'bluetooth permission',
        ROOT,
        'run it as another user with cap_net_raw and cap_net_admin: docs/ble.md has a systemd unit',
      );
    }
    return ok('bluetooth permission', 'cap_net_raw and cap_net_admin');
  }
  return warn(
    'bluetooth permission',
    `it lacks ${lacks.join(' and ')}`,
    `run \`sudo setcap cap_net_raw,cap_net_admin+eip ${machine.node}\`, or use the systemd unit of docs/ble.md; both capabilities are needed`,
  );
}

/** Both daemon and gateway speak with the adapter then; each sees the other's connections. */
function kernelCheck(machine: BluetoothMachine): Check {
  const kernel = read(machine, 'proc/sys/kernel/osrelease') ?? 'unknown';
  const daemon = list(machine, 'proc').some(
    (pid) => /^\d+$/.test(pid) && read(machine, `proc/${pid}/comm`) === 'bluetoothd',
  );
  if (!daemon) return ok('bluetooth kernel', `Linux ${kernel}, no bluetoothd`);
  return warn(
    'bluetooth kernel',
    `Linux ${kernel}, and bluetoothd uses the adapter as well`,
    'fine where it is idle; if scans end or links drop, `sudo systemctl disable --now bluetooth`, or give Motebridge an adapter of its own (`--ble hci1`)',
  );
}

/** In a process of its own: it throws, or hangs on to the radio, where it likes. */
function loadApart(name: string): string | undefined {
  let path: string;
  try {
    path = createRequire(import.meta.url).resolve(name);
  } catch {
    return 'it is not installed';
  }
  const code = 'require(process.argv[1]); process.exit(0)';
  const tried = spawnSync(process.execPath, ['-e', code, path], {
    encoding: 'utf8',
    timeout: 5_000,
  });
  if (tried.status === 0) return undefined;
  if (tried.error !== undefined || tried.status === null) return 'it did not finish loading';
  const line = /^\w*Error[^\n]*/m.exec(tried.stderr)?.[0] ?? 'it failed';
  // Its errors list the folders it looked in; the first sentence is enough.
  return oneLine(line, 120);
}

function list({ root }: BluetoothMachine, path: string): string[] {
  try {
    return readdirSync(join(root, path));
  } catch {
    return [];
  }
}

function read({ root }: BluetoothMachine, path: string): string | undefined {
  try {
    return readFileSync(join(root, path), 'utf8').trimEnd();
  } catch {
    return undefined;
  }
}
