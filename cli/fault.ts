/** How the command ends: the exit codes are part of its interface. */
export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 3, refused: 4 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * An error a person reads: `message` is one sentence that says what happened and what to do
 * next, `code` is for scripts, `more` goes into the JSON form beside them.
 */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    readonly code: string,
    message: string,
    readonly exit: ExitCode = EXIT.failed,
    readonly more: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

/** Arguments that can't be read; exit code 2. */
export function usage(message: string): CliError {
  return new CliError('usage', message, EXIT.usage);
}

/** The system's error code (`ENOENT`, `EADDRINUSE`, …), looked for through `cause`, or ''. */
export function systemCode(error: unknown): string {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; depth += 1) {
    if ('code' in at && typeof at.code === 'string' && /^E[A-Z0-9_]+$/.test(at.code))
      return at.code;
    if (at instanceof AggregateError && at.errors.length > 0) at = at.errors[0];
    else at = at.cause;
  }
  return '';
}
