/** What surrounds a `start`: the data folder, its ports, and the hub that should answer. */
import { accessSync, constants, existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import type { HubClient } from '../client.js';
import { CliError, systemCode } from '../fault.js';
import { oneLine } from '../text.js';
import { broken, type Check, ok, warn } from './check.js';

const LOW_BYTES = 100_000_000;

/** Looks without making the folder: doctor changes nothing. */
export function homeCheck(home: string): Check {
  const name = 'data folder';
  const fix = 'mend its permissions, or name another folder with --home or MOTEBRIDGE_HOME';
  let at = home;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  try {
    accessSync(at, constants.W_OK | constants.X_OK);
    if (at === home) {
      const probe = join(home, `.doctor-${process.pid}`);
      writeFileSync(probe, 'x');
      rmSync(probe);
    }
    const { bavail, bsize } = statfsSync(at);
    const free = bavail * bsize;
    const mb = Math.floor(free / 1_000_000);
    if (free < LOW_BYTES) {
      return warn(name, `${home} has ${mb} MB left`, 'make room: a full disk stops all claims');
    }
    const state = at === home ? 'is writable' : 'can be made';
    return ok(name, `${home} ${state}, ${mb} MB free`);
  } catch (error) {
    return broken(name, `${home} can't be written (${systemCode(error) || 'unknown'})`, fix);
  }
}

/** Whether `start` could listen there now. */
export async function portCheck(
  name: string,
  port: number,
  option: string,
  running: boolean,
): Promise<Check> {
  const code = await new Promise<string>((done) => {
    const server = createServer();
    server.once('error', (error) => done(systemCode(error) || 'unknown'));
    server.listen(port, '127.0.0.1', () => server.close(() => done('')));
  });
  if (code === '') return ok(name, `${port} is free`);
  if (code === 'EADDRINUSE' && running) return ok(name, `${port} is in use while Motebridge runs`);
  const found = code === 'EADDRINUSE' ? `${port} is taken by another program` : `${port}: ${code}`;
  return warn(name, found, `start with another one: ${option} <n>, or ${option} 0 for any`);
}

export interface HubAnswer {
  check: Check;
  /** The hub's own clock, where it told. */
  running: boolean;
}

/** `expected` is true where somebody said that a hub is there. */
export async function hubCheck(hub: HubClient | CliError, expected: boolean): Promise<HubAnswer> {
  const name = 'hub';
  if (hub instanceof CliError) {
    return { check: warn(name, 'none is known here', 'run `motebridge start`'), running: false };
  }
  try {
    const health = await hub.health();
    const fine =
      typeof health === 'object' && health !== null && 'ok' in health && health.ok === true;
    if (!fine) {
      const fix = 'check that MOTEBRIDGE_URL names a hub';
      return { check: broken(name, `${hub.url} answers, but not as a hub`, fix), running: false };
    }
  } catch (error) {
    const why = error instanceof Error ? oneLine(error.message, 300) : 'unknown';
    const fix = 'run `motebridge start`, or set MOTEBRIDGE_URL to where it runs';
    const found = error instanceof CliError && error.code === 'hub_unreachable' ? hub.url : why;
    const check = expected
      ? broken(name, `nothing answers at ${found}`, fix)
      : warn(name, `nothing answers at ${found}`, fix);
    return { check, running: false };
  }
  try {
    const devices = await hub.devices();
    const online = devices.filter((device) => device.online === true).length;
    const found = `${hub.url} answers, ${online} of ${devices.length} devices online`;
    return { check: ok(name, found), running: true };
  } catch (error) {
    const why = error instanceof Error ? oneLine(error.message, 300) : 'unknown';
    return {
      check: broken(name, why, 'set MOTEBRIDGE_TOKEN to the token that `motebridge start` printed'),
      running: true,
    };
  }
}
