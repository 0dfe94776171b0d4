/** What a command may touch of the process, handed in so that tests can stand in for it. */
export interface Stream {
  write(text: string | Uint8Array): void;
  readonly isTTY: boolean;
}

export interface Io {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Calls `run` at SIGINT and SIGTERM; the answer stops that. */
  onStop(run: () => void): () => void;
  /** Ends the process here and now, with nothing closed. */
  exitNow(code: number): void;
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
