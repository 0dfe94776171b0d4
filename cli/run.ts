/** Runs one command line and answers its exit code; nothing here ends the process. */

import { Command, CommanderError } from 'commander';
import { addAudit } from './commands/audit.js';
import { addBoards } from './commands/boards.js';
import { addCall } from './commands/call.js';
import { addDevices } from './commands/devices.js';
import { addDoctor } from './commands/doctor.js';
import { addFrame } from './commands/frame.js';
import { addLogin } from './commands/login.js';
import { addMcp } from './commands/mcp.js';
import { addOwners } from './commands/owners.js';
import { addPair } from './commands/pair.js';
import { addResult } from './commands/result.js';
import { addSnapshot } from './commands/snapshot.js';
import { addStart } from './commands/start.js';
import { addTokens } from './commands/tokens.js';
import { addWatch } from './commands/watch.js';
import type { Context } from './context.js';
import { CliError, EXIT, type ExitCode } from './fault.js';
import { type Io, note, printJson } from './io.js';
import { oneLine } from './text.js';
import { version } from './version.js';

const AFTER = `
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 hub or board unreachable, 4 refused.
With --json there is one JSON document on stdout, errors included: {"ok":false,"error":{code,message}}.
The hub comes from --url/--token, --home, MOTEBRIDGE_URL and MOTEBRIDGE_TOKEN, or the
credentials that \`motebridge start\` leaves in its data folder (MOTEBRIDGE_HOME).`;

export function buildProgram(context: Context): Command {
  const program = new Command('motebridge')
    .description('Gives AI agents hands on small boards: hub, gateway and simulated boards.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .addHelpText('after', AFTER)
    .showSuggestionAfterError(true);
  for (const add of [
    addStart,
    addDevices,
    addCall,
    addResult,
    addSnapshot,
    addWatch,
    addMcp,
    addBoards,
    addPair,
    addLogin,
    addTokens,
    addOwners,
    addAudit,
    addFrame,
    addDoctor,
  ]) {
    add(program, context);
  }
  return program;
}

/** Subcommands don't inherit these from their parent, so they are set on each. */
function settle(command: Command, io: Io): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => io.stdout.write(text),
    writeErr: () => {
      // Said once, in our own words, by `report`.
    },
  });
  for (const child of command.commands) settle(child, io);
}

/** Whether the arguments ask for JSON: known before they are parsed, for their own errors. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? undefined : end).includes('--json');
}

/** `argv` without the node and script entries. */
export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  const program = buildProgram({
    io,
    exit: (given) => {
      code = given;
    },
  });
  settle(program, io);
  if (argv.length === 0) {
    note(io, program.helpInformation());
    return EXIT.usage;
  }
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    return report(error, io, wantsJson(argv));
  }
}

function report(error: unknown, io: Io, json: boolean): ExitCode {
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
  const fault = error instanceof CliError ? error : translate(error);
  note(io, `motebridge: ${fault.message}`);
  if (json) {
    printJson(io, {
      ok: false,
      error: { code: fault.code, message: fault.message },
      ...fault.more,
    });
  }
  return fault.exit;
}

function translate(error: unknown): CliError {
  if (error instanceof CommanderError) {
    // Commander's own words begin with "error: " and may carry a suggestion on a second line.
    const said = oneLine(error.message.replace(/^error: /, ''), 400).replace(/\.$/, '');
    const why = said === '(outputHelp)' || said === '' ? 'a command is missing' : said;
    const dash = error.code === 'commander.unknownOption';
    const hint = dash ? ' (put -- before a prompt that begins with a dash)' : '';
    return new CliError('usage', `${why}${hint}; see \`motebridge --help\`.`, EXIT.usage);
  }
  const why = error instanceof Error ? oneLine(error.message, 400) : 'unknown error';
  return new CliError(
    'failed',
    `${why}; run \`motebridge doctor\` to look for the cause, or set MOTEBRIDGE_DEBUG=1 to see where it happened.`,
  );
}
