/** BlueZ's emulator of Bluetooth controllers, in a process of its own on sockets of its own. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** H4 over a stream socket; each connection is one LE controller, at most 16. */
const SOCKET = 'bt-server-le';

/** What is missing to run it, as a person can mend it; undefined if nothing is. */
export function missing(): string | undefined {
  const absent = ['btvirt', 'gcc'].filter((name) => !installed(name));
  if (absent.length === 0) return undefined;
  return `no ${absent.join(' and no ')} here: apt-get install bluez-test-tools gcc libc6-dev`;
}

export interface Btvirt {
  /** Where controllers are to be had. */
  readonly path: string;
  stop(): Promise<void>;
}

/** Rejects, with what it said, if it ends before it listens. */
export async function startBtvirt(): Promise<Btvirt> {
  const folder = mkdtempSync(join(tmpdir(), 'mote-btvirt-'));
  try {
    const preload = join(folder, 'preload.so');
    const source = fileURLToPath(new URL('preload.c', import.meta.url));
    execFileSync('gcc', ['-shared', '-fPIC', '-Wall', '-Werror', '-o', preload, source]);
    const child = spawn('btvirt', ['-s'], {
      env: { ...process.env, LD_PRELOAD: preload, BTVIRT_DIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const path = join(folder, SOCKET);
    await listening(child, path);
    return {
      path,
      async stop() {
        await ended(child);
        rmSync(folder, { recursive: true });
      },
    };
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
}

async function listening(child: ChildProcess, path: string): Promise<void> {
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (bytes: Buffer) => {
      said += bytes;
    });
  }
  let fault: Error | undefined;
  child.once('error', (error) => {
    fault = error;
  });
  child.once('exit', (code, signal) => {
    fault = new Error(`btvirt ended at once (${code ?? signal}): ${said.trim()}`);
  });
  while (!(await answers(path))) {
    if (fault) throw fault;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A controller was to be had, and was given back. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => socket.end(() => resolve(true)));
    socket.on('error', () => resolve(false));
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill();
  await exit;
}

function installed(name: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
