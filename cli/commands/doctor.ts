import type { Command } from 'commander';
import { HubClient } from '../client.js';
import type { Context } from '../context.js';
import { bluetoothChecks, mayListen } from '../doctor/bluetooth.js';
import type { Check } from '../doctor/check.js';
import { listenApart, radioChecks } from '../doctor/radio.js';
import { CliError, EXIT } from '../fault.js';
import { chooseHome } from '../home.js';
import { type Io, print, printJson } from '../io.js';
import { askRunning } from '../pair.js';
import { withProgress } from '../progress.js';
import { chooseTarget, type HubFlags } from '../target.js';
import { clean } from '../text.js';
import { type JsonFlag, withHub, withJson } from './options.js';
import { BROKER_PORT, HUB_PORT } from './ports.js';

export function addDoctor(program: Command, context: Context): void {
  const { io } = context;
  const command = program
    .command('doctor')
    .description('look for what would keep Motebridge from working, and say how to mend it');
  withJson(withHub(command), '{"ok":…,"checks":[{name,state,found,fix?}]}');
  command.action(async (flags: HubFlags & JsonFlag) => {
    const checks = await withProgress(io, 'looking', examine(io, flags));
    const fine = checks.every(({ state }) => state !== 'broken');
    if (flags.json === true) printJson(io, { ok: fine, checks });
    else for (const check of checks) say(io, check);
    if (!fine) context.exit(EXIT.failed);
  });
}

async function examine(io: Io, flags: HubFlags): Promise<Check[]> {
  const machine = await import('../doctor/machine.js');
  const place = await import('../doctor/place.js');
  const bluetooth = bluetoothChecks();
  const target = hubOf(io, flags);
  const named = [flags.url, io.env.MOTEBRIDGE_URL].some((url) => url !== undefined && url !== '');
  const { check: hub, running } = await place.hubCheck(target, named);
  return [
    machine.nodeCheck(),
    await machine.sqliteCheck(),
    place.homeCheck(chooseHome(io.env, flags.home).path),
    await place.portCheck('hub port', HUB_PORT, '--port', running),
    await place.portCheck('broker port', BROKER_PORT, '--broker-port', running),
    hub,
    machine.clockCheck(Date.now()),
    machine.filesCheck(machine.openFiles()),
    ...bluetooth,
    ...(await radioChecks(
      () => askRunning(io, flags.home)({ op: 'health' }),
      mayListen(bluetooth) ? listenApart : undefined,
    )),
  ];
}

function hubOf(io: Io, flags: HubFlags): HubClient | CliError {
  try {
    return new HubClient(chooseTarget(io.env, flags));
  } catch (error) {
    if (error instanceof CliError && error.exit !== EXIT.usage) return error;
    throw error;
  }
}

const MARKS = { ok: 'ok    ', warn: 'note  ', broken: 'BROKEN' } as const;

function say(io: Io, { name, state, found, fix }: Check): void {
  print(io, `${MARKS[state]}  ${name}: ${clean(found)}`);
  if (fix !== undefined) print(io, `        ${fix}`);
}
