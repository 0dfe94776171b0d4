import type { Command } from 'commander';
import type { Context } from '../context.js';
import { CliError, EXIT } from '../fault.js';
import { chooseHome, readCredentials, writeCredentials } from '../home.js';
import { type Io, note, print, printJson } from '../io.js';
import {
  exchange,
  LOGIN_MS,
  listenForCode,
  mayLogInAt,
  mustBeHub,
  newState,
  pastedCode,
} from '../login.js';
import { baseUrl } from '../target.js';
import { clean } from '../text.js';
import { type JsonFlag, whole, withHome, withJson } from './options.js';

interface Flags extends JsonFlag {
  home?: string;
  /** False with --no-browser. */
  browser: boolean;
  wait: number;
}

const AFTER = `
Opens the hub's page in your browser, where you allow it; the token is kept in the data folder
(readable by you alone) and is good for 90 days. Where the browser is on another machine, paste
the address that it ended at.`;

export function addLogin(program: Command, { io }: Context): void {
  const command = program
    .command('login')
    .description('log in at a hub through your browser')
    .argument('[url]', 'the hub (default: MOTEBRIDGE_URL, then the data folder)')
    .option('--no-browser', 'print the address, open nothing')
    .option('--wait <s>', 'how long to wait for you, in seconds', whole(1, 300), LOGIN_MS / 1000)
    .addHelpText('after', AFTER);
  withJson(withHome(command), '{"ok":true,"url":…,"user":…,"expires":…}; the token is not printed');
  command.action((url: string | undefined, flags: Flags) => logIn(io, url, flags));
}

async function logIn(io: Io, given: string | undefined, flags: Flags): Promise<void> {
  const home = chooseHome(io.env, flags.home).path;
  const url = hubOf(io, home, given);
  mayLogInAt(url);
  await mustBeHub(url);
  const state = newState();
  const callback = await listenForCode(state);
  const over = new AbortController();
  const forget = io.onStop(() => over.abort('stopped'));
  const timer = setTimeout(() => over.abort('late'), flags.wait * 1000);
  try {
    const page = `${url}/auth/cli?port=${callback.port}&state=${state}`;
    note(io, 'Allow this login in your browser:');
    note(io, `  ${page}`);
    if (flags.browser) io.open(page);
    const pasted = io.stdin.isTTY ? paste(io, state, over.signal) : undefined;
    const ways = [callback.code, ended(over.signal, url)];
    const code = await Promise.race(pasted === undefined ? ways : [...ways, pasted]);
    const { token, user, expires } = await exchange(url, code, state);
    // Where `start` runs in this folder, `boards …` still has to find it.
    const control = readCredentials(home)?.control;
    writeCredentials(home, { url, token, ...(control === undefined ? {} : { control }) });
    if (flags.json === true) printJson(io, { ok: true, url, user, expires });
    else {
      const until = new Date(expires * 1000).toISOString().slice(0, 10);
      print(io, `Logged in at ${url} as ${clean(user.name)}, until ${until}.`);
    }
  } finally {
    clearTimeout(timer);
    forget();
    over.abort('done');
    await callback.close();
  }
}

function hubOf(io: Io, home: string, given: string | undefined): string {
  if (given !== undefined) return baseUrl(given, 'The hub');
  const { MOTEBRIDGE_URL: named } = io.env;
  if (named !== undefined && named !== '') return baseUrl(named, 'MOTEBRIDGE_URL');
  const stored = readCredentials(home)?.url;
  if (stored !== undefined) return stored;
  throw new CliError(
    'no_hub',
    `No hub is known in ${home}; name it: motebridge login https://hub.example`,
    EXIT.usage,
  );
}

/** Asks again until what was pasted can be read; never resolves where the input ended. */
async function paste(io: Io, state: string, signal: AbortSignal): Promise<string> {
  note(io, 'Or paste the address that the browser ended at, or the code in it:');
  for (;;) {
    const line = await io.stdin.line(signal);
    if (line === undefined) return new Promise<string>(() => {});
    const code = pastedCode(line, state);
    if (code !== undefined) return code;
    if (line.trim() !== '') note(io, 'That is no answer to this login; paste the whole address.');
  }
}

function ended(signal: AbortSignal, url: string): Promise<never> {
  return new Promise((_, fail) => {
    signal.addEventListener('abort', () => {
      const stopped = signal.reason === 'stopped';
      const why = stopped ? 'The login was stopped' : 'Nobody allowed the login in time';
      const code = stopped ? 'stopped' : 'login_timeout';
      fail(new CliError(code, `${why}; run \`motebridge login ${url}\` again.`));
    });
  });
}
