/**
 * The data folder (`home`): journal and hub databases, and `credentials.json`, by which the
 * other commands find what `start` runs.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { defaultHome } from '../gateway/node/home.js';
import { CliError, systemCode } from './fault.js';

type Env = Readonly<Record<string, string | undefined>>;

/** `credentials.json`; readable by its owner alone. */
const credentialsSchema = z.object({
  /** The hub's base URL, without a slash at the end. */
  url: z.string().max(2048),
  /** The owner's token (`mto_…`, or a session token of a hub elsewhere). */
  token: z.string().max(4096),
  /** Where a running `start` takes `boards …`; gone when it has stopped. */
  control: z.object({ url: z.string().max(2048), token: z.string().max(256) }).optional(),
});
export type Credentials = z.infer<typeof credentialsSchema>;

export interface HomeChoice {
  path: string;
  /** True when a flag named it, which then wins over the environment's hub. */
  named: boolean;
}

export function chooseHome(env: Env, flag: string | undefined): HomeChoice {
  if (flag !== undefined && flag !== '') return { path: resolve(flag), named: true };
  const named = env.MOTEBRIDGE_HOME;
  if (named !== undefined && named !== '') return { path: resolve(named), named: false };
  return { path: defaultHome(env), named: false };
}

const file = (home: string): string => join(home, 'credentials.json');

/** Undefined where there are none; a file that can't be read is an error, not an absence. */
export function readCredentials(home: string): Credentials | undefined {
  let text: string;
  try {
    text = readFileSync(file(home), 'utf8');
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CliError(
      'home_unreadable',
      `${file(home)} can't be read (${code}); run this as the user who started Motebridge, or name another folder with --home.`,
    );
  }
  try {
    return credentialsSchema.parse(JSON.parse(text));
  } catch {
    throw new CliError(
      'home_unreadable',
      `${file(home)} isn't a credentials file; move it away and run \`motebridge start\` again.`,
    );
  }
}

/** Whole or not at all, and for the owner's eyes only. */
export function writeCredentials(home: string, credentials: Credentials): void {
  makeHome(home);
  const temporary = `${file(home)}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  chmodSync(temporary, 0o600);
  renameSync(temporary, file(home));
}

export function makeHome(home: string): void {
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new CliError(
      'home_unwritable',
      `The data folder ${home} can't be made (${systemCode(error)}); name another one with --home.`,
    );
  }
}
