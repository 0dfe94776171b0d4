import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { defaultHome, HomeUnavailable, openHome } from './home.js';

let folder: string;
let lock: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'home-'));
  lock = join(folder, 'lock');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The number of a process that has ended. */
function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  return new Promise((done) => child.once('exit', () => done(child.pid ?? 0)));
}

test('the default is the user’s data folder of the system, or what the environment says', () => {
  const env = { MOTEBRIDGE_HOME: '/x/y' };
  expect(defaultHome(env, 'linux', '/u')).toBe(resolve('/x/y'));
  expect(defaultHome({}, 'linux', '/u')).toBe(join('/u', '.local', 'share', 'motebridge'));
  expect(defaultHome({ XDG_DATA_HOME: '/d' }, 'linux', '/u')).toBe(join('/d', 'motebridge'));
  expect(defaultHome({ XDG_DATA_HOME: 'rel' }, 'linux', '/u')).toContain('.local');
  expect(defaultHome({ MOTEBRIDGE_HOME: '' }, 'darwin', '/u')).toContain('Application Support');
  expect(defaultHome({ LOCALAPPDATA: '/l' }, 'win32', '/u')).toBe(join('/l', 'Motebridge'));
});

test('a home is one process’s at a time, and free after it', async () => {
  const home = await openHome(join(folder, 'new', 'home'));
  expect(home.path('a', 'b')).toBe(join(folder, 'new', 'home', 'a', 'b'));
  await expect(openHome(home.folder)).rejects.toThrow(HomeUnavailable);
  await home.close();
  await home.close();
  expect(existsSync(home.path('lock'))).toBe(false);
  await (await openHome(home.folder)).close();
});

test('the lock of a living process is respected, and nothing of it is touched', async () => {
  // The process that runs this one lives and is not this one.
  const text = JSON.stringify({ pid: process.ppid, host: hostname() });
  writeFileSync(lock, text);
  await expect(openHome(folder)).rejects.toThrow(`in use by process ${process.ppid}`);
  expect(readFileSync(lock, 'utf8')).toBe(text);
});

test.each([
  ['a dead process', async () => JSON.stringify({ pid: await deadPid(), host: hostname() })],
  [
    'an earlier process of our number',
    async () => JSON.stringify({ pid: process.pid, host: hostname() }),
  ],
  ['nobody (an empty file)', async () => ''],
  ['nobody (no JSON)', async () => '{"pid":'],
  ['nobody (null)', async () => 'null'],
])('the lock of %s is taken over', async (_name, text) => {
  writeFileSync(lock, await text());
  const home = await openHome(folder);
  expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject({ pid: process.pid });
  expect(readdirSync(folder)).toEqual(['lock']);
  await home.close();
});

test.runIf(process.platform === 'linux')(
  'a number that was given to a later process is told',
  async () => {
    writeFileSync(lock, JSON.stringify({ pid: process.ppid, host: hostname(), began: '1' }));
    await (await openHome(folder)).close();
  },
);

test.runIf(process.platform === 'linux')(
  'a process that was killed and that nobody has asked about holds nothing',
  async () => {
    // The shell becomes a `sleep`, which never asks about the child that it had; a child that
    // ended while the shell was still one would be asked about.
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const pid = Number(await new Promise((done) => parent.stdout.once('data', done)));
      const comm = (of?: number) => readFileSync(`/proc/${of}/comm`, 'utf8').trim();
      await expect.poll(() => [comm(parent.pid), comm(pid)]).toEqual(['sleep', 'sleep']);
      process.kill(pid, 'SIGKILL');
      await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) Z /);
      writeFileSync(lock, JSON.stringify({ pid, host: hostname() }));
      await (await openHome(folder)).close();
    } finally {
      parent.kill();
    }
  },
);

test.runIf(process.platform === 'linux')(
  'a file system that takes no folder is told, and not asked for ever',
  async () => {
    const nowhere = openHome('/proc/motebridge/home');
    await expect(nowhere).rejects.toMatchObject({ code: 'home_unwritable' });
  },
);

test('the folders above are made too, for their owner alone', async () => {
  const home = await openHome(join(folder, 'a', 'b'));
  expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700);
  await home.close();
});

test('a holder on another machine counts as dead once it is silent for a minute', async () => {
  writeFileSync(lock, JSON.stringify({ pid: 1, host: 'elsewhere' }));
  await expect(openHome(folder)).rejects.toThrow(HomeUnavailable);
  const old = Date.now() / 1000 - 61;
  utimesSync(lock, old, old);
  await (await openHome(folder)).close();
});

test('while another takes a dead lock over, the home is in use; a takeover that died is not minded', async () => {
  writeFileSync(lock, '');
  writeFileSync(join(folder, 'lock.turn'), '');
  await expect(openHome(folder)).rejects.toThrow(HomeUnavailable);
  const old = Date.now() / 1000 - 11;
  utimesSync(join(folder, 'lock.turn'), old, old);
  await (await openHome(folder)).close();
});

test('a folder that can’t be made is said with a way out', async () => {
  writeFileSync(join(folder, 'file'), '');
  await expect(openHome(join(folder, 'file', 'x'))).rejects.toThrow(/ENOTDIR.*MOTEBRIDGE_HOME/);
});
