/** What a command may touch of the process, handed in so that tests can stand in for it. */
import { spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';

export interface Stream {
  write(text: string | Uint8Array): void;
  readonly isTTY: boolean;
}

/** What a person types. */
export interface Input {
  readonly isTTY: boolean;
  /** The next line; undefined at the end of the input, or when `signal` is aborted. */
  line(signal: AbortSignal): Promise<string | undefined>;
  /** The same, not shown on the terminal. */
  secret(signal: AbortSignal): Promise<string | undefined>;
}

export interface Io {
  readonly stdin: Input;
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Calls `run` at SIGINT and SIGTERM; the answer stops that. */
  onStop(run: () => void): () => void;
  /** Ends the process here and now, with nothing closed. */
  exitNow(code: number): void;
  /** Shows an address in the person's browser, where there is one. */
  open(url: string): void;
  /** Milliseconds on a clock that never jumps, for progress lines. */
  now(): number;
}

/** Writes one JSON document and a line end: what `--json` promises. */
export function printJson(io: Io, value: unknown): void {
  io.stdout.write(`${JSON.stringify(value)}\n`);
}

export function print(io: Io, line = ''): void {
  io.stdout.write(`${line}\n`);
}

export function note(io: Io, line: string): void {
  io.stderr.write(`${line}\n`);
}

const readLine = (signal: AbortSignal): Promise<string | undefined> =>
  nextLine(createInterface({ input: process.stdin }), signal);

function readSecret(signal: AbortSignal): Promise<string | undefined> {
  const { stdin } = process;
  // In a terminal's raw mode readline itself shows what is typed: here to nobody.
  const output = new Writable({ write: (_part, _encoding, done) => done() });
  return nextLine(
    createInterface({ input: stdin, output, terminal: stdin.isTTY === true }),
    signal,
  );
}

async function nextLine(lines: Interface, signal: AbortSignal): Promise<string | undefined> {
  try {
    return await new Promise<string | undefined>((done) => {
      lines.once('line', done);
      lines.once('close', () => done(undefined));
      signal.addEventListener('abort', () => done(undefined), { once: true });
      if (signal.aborted) done(undefined);
    });
  } finally {
    lines.close();
    process.stdin.pause();
  }
}

/** The address is an argument of its own, never part of a shell's line. */
function openUrl(url: string): void {
  const [command, ...args] =
    process.platform === 'darwin'
      ? ['open']
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler']
        : ['xdg-open'];
  if (command === undefined) return;
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  // A machine without a browser: the address stands on the terminal.
  child.on('error', () => {});
  child.unref();
}

/** The real process. */
export function processIo(): Io {
  const stream = (of: NodeJS.WriteStream): Stream => ({
    write: (text) => {
      of.write(text);
    },
    isTTY: of.isTTY === true,
  });
  return {
    stdout: stream(process.stdout),
    stderr: stream(process.stderr),
    stdin: { isTTY: process.stdin.isTTY === true, line: readLine, secret: readSecret },
    open: openUrl,
    env: process.env,
    now: () => performance.now(),
    exitNow: (code) => process.exit(code),
    onStop: (run) => {
      process.on('SIGINT', run);
      process.on('SIGTERM', run);
      return () => {
        process.off('SIGINT', run);
        process.off('SIGTERM', run);
      };
    },
  };
}
