import type { Command } from 'commander';
import { z } from 'zod';
import { cutText, ENROL_SAID, TINY_LIMITS } from '../../protocol/tiny.js';
import type { Device, HubClient } from '../client.js';
import type { Context } from '../context.js';
import { deviceSecret } from '../device-secret.js';
import { CliError, EXIT, usage } from '../fault.js';
import { note, print, printJson } from '../io.js';
import { oneDevice, unknownDevice } from '../one-device.js';
import { withProgress } from '../progress.js';
import type { HubFlags } from '../target.js';
import { ago, clean, oneLine, table } from '../text.js';
import { hubFrom, type JsonFlag, withHub, withJson } from './options.js';

type Flags = HubFlags & JsonFlag;

const enrolled = z.object({ device_id: z.string(), url: z.string() });
const revoked = z.object({ revoked: z.number() });

const HOW = `
The secret is what the device wants as \`Authorization: Bearer …\`. It comes from --secret-file,
MOTEBRIDGE_DEVICE_SECRET, or the first line of standard input:
  motebridge devices add robot https://robot.example < secret.txt`;

export function addDevices(program: Command, { io }: Context): void {
  const devices = program
    .command('devices')
    .description('list your boards and other devices; add and revoke those called by URL');
  withJson(withHub(devices), 'a JSON array: id, name, kind, online, capabilities, last_seen');
  devices.action(async (flags: Flags) => {
    const found = await withProgress(io, 'asking the hub', hubFrom(io, flags).devices());
    if (flags.json === true) printJson(io, found);
    else if (found.length === 0) {
      print(io, 'No boards yet. Add one with: motebridge boards add <name>');
    } else print(io, list(found, Date.now() / 1000));
  });

  const sub = (name: string, words: string, json: string): Command =>
    withJson(withHub(devices.command(name).description(words)), json);

  sub('add', 'add a device that the hub calls by its URL', '{"ok":true,"id":…,"name":…,"url":…}')
    .argument('<name>', 'what people and agents call it')
    .argument('<device-url>', 'its https origin, as in https://robot.example:8443')
    .option('--secret-file <file>', 'file with the secret that it wants to hear')
    .option('--capabilities <list>', 'what it can do', 'chat,telemetry,snapshot')
    .addHelpText('after', HOW)
    .action(async (words: string, url: string, _own: object, command: Command) => {
      // As the hub keeps it.
      const name = cutText(words.trim(), TINY_LIMITS.name);
      // The parent knows the same options, and takes them wherever they stand.
      const flags: Flags & AddFlags = command.optsWithGlobals();
      const hub = hubFrom(io, flags);
      const capabilities = capabilitiesOf(flags.capabilities);
      const secret = await deviceSecret(io, flags.secretFile);
      const body = { kind: 'endpoint', name, url, secret, capabilities };
      const made = await withProgress(io, 'asking the hub', enrol(hub, body));
      if (flags.json === true) printJson(io, { ok: true, id: made.device_id, name, url: made.url });
      else print(io, `Added ${oneLine(name, 64)} (${oneLine(made.device_id, 64)}).`);
      note(io, `The hub calls it at ${oneLine(made.url, 300)} when somebody asks, not before.`);
    });

  sub('revoke', 'end a device’s access, and forget its secret', '{"ok":true,"id":…,"name":…}')
    .argument('<device>', 'name or id')
    .action(async (wanted: string, _own: object, command: Command) => {
      const flags: Flags = command.optsWithGlobals();
      const hub = hubFrom(io, flags);
      const { id, name } = oneDevice(await hub.devices(), wanted, 'revoked');
      const done = await hub.ask('DELETE', '/api/devices', { deviceId: id }, revoked);
      if (done.revoked === 0) throw unknownDevice(wanted, 'revoked');
      if (flags.json === true) printJson(io, { ok: true, id, name });
      else print(io, `Revoked ${clean(name)} (${oneLine(id, 64)}).`);
    });
}

interface AddFlags {
  secretFile?: string;
  capabilities: string;
}

function capabilitiesOf(text: string): string[] {
  const named = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (named.length <= TINY_LIMITS.capabilities) return named;
  throw usage(`A device has at most ${TINY_LIMITS.capabilities} capabilities; name fewer.`);
}

async function enrol(hub: HubClient, body: object): Promise<z.infer<typeof enrolled>> {
  try {
    return await hub.ask('POST', '/api/devices', body, enrolled);
  } catch (error) {
    if (!(error instanceof CliError && error.message.includes(ENROL_SAID.urlNotPublic)))
      throw error;
    throw new CliError(
      'not_public',
      'The hub calls public hosts only, so nothing was added; one of your own network is allowed by name where the hub is started: `motebridge start --call-hosts <host>`.',
      EXIT.refused,
    );
  }
}

function list(devices: Device[], nowS: number): string {
  return table(
    ['NAME', 'STATE', 'LAST SEEN', 'CAPABILITIES', 'ID'],
    devices.map((device) => [
      device.name,
      device.online === null ? 'on call' : device.online ? 'online' : 'offline',
      device.last_seen === null ? 'never' : ago(nowS - device.last_seen),
      device.capabilities.join(' '),
      device.id,
    ]),
  );
}
