/**
 * The folder that holds everything of one gateway, for one process at a time: a lock file names
 * its holder, and the lock of a process that is dead is taken over.
 */
import { readFile, rm, stat, utimes } from 'node:fs/promises';
import { homedir, hostname } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { createFile, makeFolder, replaceFile } from '../../store/files.js';

/** Another process uses the home, or it can't be written; nothing was opened. */
export class HomeUnavailable extends Error {
  override readonly name = 'HomeUnavailable';

  constructor(
    readonly code: 'home_in_use' | 'home_unwritable',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface Home {
  readonly folder: string;
  /** A file's path in it. */
  path(...names: string[]): string;
  /** Gives up the lock. */
  close(): Promise<void>;
}

/** `MOTEBRIDGE_HOME`, else the user's data folder of this system. */
export function defaultHome(
  env: Record<string, string | undefined> = process.env,
  platform: string = process.platform,
  user: string = homedir(),
): string {
  if (env.MOTEBRIDGE_HOME) return resolve(env.MOTEBRIDGE_HOME);
  if (platform === 'darwin') return join(user, 'Library', 'Application Support', 'Motebridge');
  if (platform === 'win32') {
    return join(env.LOCALAPPDATA || join(user, 'AppData', 'Local'), 'Motebridge');
  }
  // The XDG base directory specification: a relative path is to be ignored.
  const data = env.XDG_DATA_HOME;
  const base = data && isAbsolute(data) ? data : join(user, '.local', 'share');
  return join(base, 'motebridge');
}

interface Holder {
  pid: number;
  host: string;
  /** When that process began, as the system counts it; tells it from a later one of its number. */
  began?: string;
}

const BEAT_MS = 10_000;
/** A holder on another machine (or in another container) counts as dead after this silence. */
const SILENCE_MS = 60_000;
/** Homes that this process holds. */
const held = new Set<string>();

/** Makes the folder if need be and locks it. Rejects with `HomeUnavailable`. */
export async function openHome(folder: string = defaultHome()): Promise<Home> {
  const home = resolve(folder);
  const lock = join(home, 'lock');
  if (held.has(home)) throw inUse(home, process.pid);
  held.add(home);
  try {
    await makeFolder(home);
    await takeLock(home, lock);
  } catch (error) {
    held.delete(home);
    if (error instanceof HomeUnavailable) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new HomeUnavailable(
      'home_unwritable',
      `The folder ${home} can’t be used (${code}). Mend its permissions, or name another one with --home or MOTEBRIDGE_HOME.`,
      { cause: error },
    );
  }
  const beat = setInterval(
    () => void utimes(lock, new Date(), new Date()).catch(() => {}),
    BEAT_MS,
  );
  beat.unref();
  return {
    folder: home,
    path: (...names) => join(home, ...names),
    async close() {
      clearInterval(beat);
      if (!held.delete(home)) return;
      await rm(lock, { force: true });
    },
  };
}

async function takeLock(home: string, lock: string): Promise<void> {
  const began = await processBegan(process.pid);
  const me: Holder = { pid: process.pid, host: hostname(), ...(began ? { began } : {}) };
  const text = `${JSON.stringify(me)}\n`;
  if (await createFile(lock, text)) return;
  const before = await readFile(lock, 'utf8').catch(() => '');
  if (await lives(lock, before)) throw inUse(home, parseHolder(before)?.pid);
  // Of several that find a dead lock only one may replace it: whoever makes this file.
  const turn = join(home, 'lock.turn');
  const turnAge = await age(turn);
  if (turnAge !== undefined && turnAge > BEAT_MS) await rm(turn, { force: true });
  if (!(await createFile(turn, text))) throw inUse(home, undefined);
  try {
    const now = await readFile(lock, 'utf8').catch(() => undefined);
    if (now !== undefined && now !== before) throw inUse(home, parseHolder(now)?.pid);
    if (now === undefined) {
      if (!(await createFile(lock, text))) throw inUse(home, undefined);
    } else {
      await replaceFile(lock, text);
    }
  } finally {
    await rm(turn, { force: true });
  }
}

/** Whether a lock's holder may still be at work. */
async function lives(lock: string, text: string): Promise<boolean> {
  const holder = parseHolder(text);
  // Not ours, or gone since: as good as dead.
  if (!holder) return false;
  if (holder.host !== hostname())
    return ((await age(lock)) ?? Number.POSITIVE_INFINITY) < SILENCE_MS;
  // This process holds no lock on it (see `held`), so the number was another's.
  if (holder.pid === process.pid) return false;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const began = await processBegan(holder.pid);
  if (began === 'ended') return false;
  return began === undefined || holder.began === undefined || began === holder.began;
}

function parseHolder(text: string): Holder | undefined {
  try {
    const holder = JSON.parse(text) as Partial<Holder> | null;
    const { pid, host, began } = holder ?? {};
    if (!Number.isInteger(pid) || typeof host !== 'string') return undefined;
    return { pid: pid as number, host, ...(typeof began === 'string' ? { began } : {}) };
  } catch {
    return undefined;
  }
}

/**
 * Linux: the 22nd field of its stat, clock ticks after boot; `ended` for one that has ended and
 * that its parent has not asked about (in a container, often nobody ever does). Elsewhere unknown.
 */
async function processBegan(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The second field is the program's name in brackets, which may hold anything.
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
  return /^[ZX]$/i.test(fields?.[0] ?? '') ? 'ended' : fields?.[19];
}

async function age(file: string): Promise<number | undefined> {
  const info = await stat(file).catch(() => undefined);
  return info && Date.now() - info.mtimeMs;
}

function inUse(home: string, pid: number | undefined): HomeUnavailable {
  const who = pid === undefined ? 'another process' : `process ${pid}`;
  return new HomeUnavailable(
    'home_in_use',
    `${home} is in use by ${who}; nothing was started. End that one, or use another --home.`,
  );
}
