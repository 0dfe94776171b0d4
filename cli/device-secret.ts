/**
 * The secret by which a hub calls a device, from where it does not show: a file, the environment,
 * or standard input. Never an argument: a command line can be read by everybody on the machine.
 */
import { readFileSync } from 'node:fs';
import { systemCode, usage } from './fault.js';
import { type Io, note } from './io.js';

const VARIABLE = 'MOTEBRIDGE_DEVICE_SECRET';

/** The file wins over the environment, the environment over standard input. */
export async function deviceSecret(io: Io, file: string | undefined): Promise<string> {
  const secret = (file === undefined ? await fromElsewhere(io) : read(file)).trim();
  if (secret !== '') return secret;
  throw usage(
    `The device's secret is empty, so nothing was added; give it on standard input, in ${VARIABLE} or with --secret-file <file>.`,
  );
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw usage(`${file} can't be read (${systemCode(error)}); name the file with the secret.`);
  }
}

async function fromElsewhere(io: Io): Promise<string> {
  const set = io.env[VARIABLE];
  if (set !== undefined && set !== '') return set;
  if (io.stdin.isTTY) note(io, 'The device’s secret (it is not shown), then Enter:');
  const over = new AbortController();
  const stop = io.onStop(() => over.abort());
  try {
    return (await io.stdin.secret(over.signal)) ?? '';
  } finally {
    stop();
  }
}
