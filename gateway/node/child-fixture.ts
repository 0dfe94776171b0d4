/** Runs a TypeScript file of this tree as a child process, for tests that kill or load one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Compiled modules, which a bundle takes as they are. */
const NATIVE = ['better-sqlite3', '@napi-rs/canvas', 'cbor-extract'];

/**
 * Bundles a TypeScript file for Node; resolves to a file below `.cache` that can be run. `whole`
 * takes the libraries in, for a child that must start fast.
 */
export async function bundleChild(file: URL, options: { whole?: boolean } = {}): Promise<string> {
  const children = join(root, '.cache', 'children');
  await mkdir(children, { recursive: true });
  const folder = await mkdtemp(join(children, 'c-'));
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    ...(options.whole ? { ssr: { noExternal: true, external: NATIVE } } : {}),
    build: {
      minify: options.whole === true,
      ssr: fileURLToPath(file),
      outDir: folder,
      target: 'node20',
      rollupOptions: { output: { entryFileNames: 'child.mjs' } },
    },
  });
  return join(folder, 'child.mjs');
}

export interface Child {
  readonly process: ChildProcess;
  /** Lines of standard output, as they come. */
  readonly lines: string[];
  /** Resolves at the first line that starts with `start`; rejects if the child ends before. */
  line(start: string): Promise<string>;
  /** Resolves when it has ended: exit code, or the signal's name. */
  readonly ended: Promise<number | string | null>;
  /** Writes a line to its standard input. */
  say(line: string): void;
  /** What it wrote to standard error. */
  errors(): string;
}

/** `file` as `bundleChild` made it; `flags` are Node's. */
export function runChild(file: string, args: string[], flags: string[] = []): Child {
  const child = spawn(process.execPath, [...flags, file, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const waiting: { start: string; done: (line: string) => void; failed: (e: Error) => void }[] = [];
  let errors = '';
  // What is still being written to one that was killed goes nowhere.
  child.stdin.on('error', () => undefined);
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4_000);
  });
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => {
    lines.push(line);
    for (const each of [...waiting]) {
      if (!line.startsWith(each.start)) continue;
      waiting.splice(waiting.indexOf(each), 1);
      each.done(line);
    }
  });
  const ended = new Promise<number | string | null>((resolve) => {
    child.once('close', (code, signal) => {
      for (const each of waiting) each.failed(new Error(`the child ended: ${errors}`));
      resolve(signal ?? code);
    });
  });
  return {
    process: child,
    lines,
    line(start) {
      const found = lines.find((line) => line.startsWith(start));
      if (found !== undefined) return Promise.resolve(found);
      return new Promise((done, failed) => waiting.push({ start, done, failed }));
    },
    ended,
    say: (line) => void child.stdin.write(`${line}\n`),
    errors: () => errors,
  };
}
