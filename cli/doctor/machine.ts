/** What the machine must have: Node, SQLite, a clock, files. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { openDatabase } from '../../store/index.js';
import { oneLine } from '../text.js';
import { broken, type Check, ok, warn } from './check.js';

const OLDEST = [20, 19] as const;

export function nodeCheck(version: string = process.versions.node): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const fine = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
  if (fine) return ok('node', `Node ${version}`);
  return broken('node', `Node ${version}`, `install Node ${OLDEST.join('.')} or newer`);
}

export async function sqliteCheck(
  open: () => Promise<{ engine: string; close(): Promise<void> }> = () => openDatabase(':memory:'),
): Promise<Check> {
  try {
    const db = await open();
    await db.close();
    return ok('sqlite', db.engine);
  } catch (error) {
    const why = error instanceof Error ? oneLine(error.message, 240) : 'unknown';
    return broken(
      'sqlite',
      why,
      'run `npm install-scripts approve better-sqlite3` and `npm rebuild better-sqlite3` in the folder it is installed in (needs a C++ compiler and Python), or use Node 22.13 or newer',
    );
  }
}

/** Years in which this program may run; outside of them stamps and certificates fail. */
export function clockCheck(wallMs: number, hubWallMs?: number): Check {
  const year = new Date(wallMs).getUTCFullYear();
  const fix = 'set the date, for example with `timedatectl set-ntp true`';
  if (!(year >= 2025 && year < 2100)) {
    return broken('clock', `this machine says it is the year ${year}`, fix);
  }
  if (hubWallMs !== undefined && Math.abs(wallMs - hubWallMs) > 60_000) {
    const s = Math.round(Math.abs(wallMs - hubWallMs) / 1000);
    return warn('clock', `it is ${s} s off the hub's clock`, fix);
  }
  return ok('clock', new Date(wallMs).toISOString());
}

/** The soft limit of open files, or undefined where the system does not say. */
export function openFiles(): number | undefined {
  try {
    const line = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return line === null ? undefined : Number(line[1]);
  } catch {
    const said = spawnSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8', timeout: 2_000 });
    const value = Number.parseInt(said.stdout ?? '', 10);
    return Number.isNaN(value) ? undefined : value;
  }
}

/** Each board takes one; the rest of the process a few dozen. */
export function filesCheck(limit: number | undefined): Check {
  if (limit === undefined) return ok('open files', 'no limit found');
  const boards = Math.max(0, limit - 100);
  if (limit >= 1_024) return ok('open files', `${limit} (about ${boards} boards)`);
  const fix = 'raise it with `ulimit -n 4096` in the shell that starts Motebridge';
  if (limit < 128) return broken('open files', `only ${limit}`, fix);
  return warn('open files', `${limit} (about ${boards} boards)`, fix);
}
