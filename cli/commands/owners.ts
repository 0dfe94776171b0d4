import type { Command } from 'commander';
import { z } from 'zod';
import { askOwn } from '../ask-own.js';
import type { Context } from '../context.js';
import { usage } from '../fault.js';
import { note, print, printJson } from '../io.js';
import { madeShape, type OwnerRequest, ownerShape } from '../owner-admin.js';
import { clean, table } from '../text.js';
import { type JsonFlag, withHome, withJson } from './options.js';

interface Flags extends JsonFlag {
  home?: string;
}

const HOW = `
Owners share a hub and see nothing of each other. Works while \`motebridge start\` runs (through
it) and while it does not (in the data folder).`;

export function addOwners(program: Command, { io }: Context): void {
  const owners = program
    .command('owners')
    .description('who has an account at your own hub')
    .addHelpText('after', HOW);
  const sub = (name: string, words: string, json: string): Command =>
    withJson(withHome(owners.command(name).description(words)), json);
  const ask = (flags: Flags, request: OwnerRequest): Promise<unknown> =>
    askOwn(io, flags.home, { owners: request });

  sub('list', 'the owners, oldest first', 'a JSON array: id, name, created_at, devices').action(
    async (flags: Flags) => {
      const list = z.array(ownerShape).parse(await ask(flags, { op: 'list' }));
      if (flags.json === true) {
        printJson(io, list);
        return;
      }
      const rows = list.map((o) => [o.name, String(o.devices), day(o.created_at), o.id]);
      print(io, table(['NAME', 'DEVICES', 'CREATED', 'ID'], rows));
    },
  );

  sub('add', 'add an owner and print its token, this once', '{"ok":true,"id":…,"name":…,"token":…}')
    .argument('<name>', 'what people call the owner')
    .action(async (name: string, flags: Flags) => {
      const made = madeShape.parse(await ask(flags, { op: 'add', name }));
      if (flags.json === true) {
        printJson(io, { ok: true, ...made });
        return;
      }
      note(io, `Added ${clean(made.name)}. This token is shown once; hand it over safely:`);
      print(io, made.token);
    });

  sub('remove', 'remove an owner with everything of the owner’s', '{"ok":true,"id":…,"name":…}')
    .argument('<owner>', 'name or id')
    .option('--yes', 'do it: devices, events, media and tokens of the owner are gone for good')
    .action(async (owner: string, flags: Flags & { yes?: boolean }) => {
      if (flags.yes !== true) {
        throw usage(
          `This removes ${clean(owner)} with all devices, events, media and tokens for good; nothing was done yet, add --yes to do it.`,
        );
      }
      const gone = ownerShape.parse(await ask(flags, { op: 'remove', owner }));
      if (flags.json === true) printJson(io, { ok: true, id: gone.id, name: gone.name });
      else print(io, `Removed ${clean(gone.name)} (${gone.id}).`);
    });
}

/** `2027-01-15` of unix seconds. */
export const day = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);
