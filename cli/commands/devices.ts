import type { Command } from 'commander';
import type { Device } from '../client.js';
import type { Context } from '../context.js';
import { print, printJson } from '../io.js';
import { withProgress } from '../progress.js';
import type { HubFlags } from '../target.js';
import { ago, table } from '../text.js';
import { hubFrom, type JsonFlag, withHub, withJson } from './options.js';

export function addDevices(program: Command, { io }: Context): void {
  const command = program.command('devices').description('list your boards and other devices');
  withJson(withHub(command), 'a JSON array: id, name, kind, online, capabilities, last_seen');
  command.action(async (flags: HubFlags & JsonFlag) => {
    const devices = await withProgress(io, 'asking the hub', hubFrom(io, flags).devices());
    if (flags.json === true) {
      printJson(io, devices);
      return;
    }
    if (devices.length === 0) {
      print(io, 'No boards yet. Add one with: motebridge boards add <name>');
      return;
    }
    print(io, list(devices, Date.now() / 1000));
  });
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
