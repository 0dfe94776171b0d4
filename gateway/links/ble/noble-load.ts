/**
 * Loads a BLE library when one is asked for: both are optional at install, and their native parts
 * are missing where the install had no compiler.
 */
import { createRequire } from 'node:module';
import type { NobleLike } from './noble-types.js';
import { BleError } from './port.js';

export type NobleFork = 'abandonware' | 'stoprocent';

interface Fork {
  readonly package: string;
  readonly version: string;
  /** The package with the native socket. */
  readonly socket: string;
}

const FORKS: Readonly<Record<NobleFork, Fork>> = {
  abandonware: {
    package: '@abandonware/noble',
    version: '1.9.2-26',
    socket: '@abandonware/bluetooth-hci-socket',
  },
  stoprocent: {
    package: '@stoprocent/noble',
    version: '2.8.0',
    socket: '@stoprocent/bluetooth-hci-socket',
  },
};

/** `auto`: `@abandonware/noble` where its native part loads, else `@stoprocent/noble`. */
export function loadNoble(
  fork: NobleFork | 'auto' = 'auto',
  load: (name: string) => unknown = createRequire(import.meta.url),
): { fork: NobleFork; noble: NobleLike } {
  const wanted: NobleFork[] = fork === 'auto' ? ['abandonware', 'stoprocent'] : [fork];
  const failures: string[] = [];
  for (const name of wanted) {
    try {
      return { fork: name, noble: load(FORKS[name].package) as NobleLike };
    } catch (error) {
      failures.push(whatIsMissing(FORKS[name], error));
    }
  }
  throw new BleError(
    'unavailable',
    `Bluetooth is not available, so no BLE board was looked for. ${failures.join(' ')}`,
  );
}

function whatIsMissing(fork: Fork, error: unknown): string {
  const { code, message = String(error) } = (error ?? {}) as { code?: string; message?: string };
  const [line = ''] = message.split('\n');
  const install = `npm install ${fork.package}@${fork.version}`;
  if (code === 'MODULE_NOT_FOUND' && line.includes(`'${fork.package}'`)) {
    return `${fork.package} is not installed: ${install}`;
  }
  if (code === 'MODULE_NOT_FOUND' && line.includes(`'${fork.socket}'`)) {
    return `${fork.socket} is not installed: ${install} --include=optional`;
  }
  if (code === 'MODULE_NOT_FOUND' || code === 'ERR_DLOPEN_FAILED' || /native build/i.test(line)) {
    return (
      `The native part of ${fork.socket} is not built for this Node (${line}): ` +
      `sudo apt install build-essential python3 && npm rebuild ${fork.socket}`
    );
  }
  return `${fork.package} could not be loaded (${line}): npm rebuild ${fork.package} ${fork.socket}`;
}
