/** What commands are handed. */
import type { ExitCode } from './fault.js';
import type { Io } from './io.js';

/** What a command's action gets besides its own arguments. */
export interface Context {
  io: Io;
  /** Ends the command with this code though nothing was thrown. */
  exit(code: ExitCode): void;
}
