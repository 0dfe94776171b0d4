import type { Command } from 'commander';
import type { Context } from '../context.js';
import type { PairFlags } from '../pair-types.js';
import { withHome, withJson } from './options.js';

const AFTER = `
Examples:
  motebridge pair                          looks for boards, lists them, asks for the code
  motebridge pair MOTE1:0123… --name Hall  without a question, as for scripts
  motebridge pair --list --json            what is heard
  motebridge pair --address c0:ff:ee:00:12:34 --bind-key 231d…    a BTHome sensor
It goes through a running \`motebridge start --ble …\`. The code stands on the board or its display.`;

export function addPair(program: Command, { io }: Context): void {
  const command = program
    .command('pair')
    .description('pair a board over Bluetooth LE by its set-up code')
    .argument('[code]', 'the set-up code, or the text of its QR code')
    .option('--name <name>', 'what people and agents call it')
    .option('--list', 'only list the boards that are heard')
    .option('--address <address>', 'which of those: a board of another maker needs no code')
    .option('--bind-key <hex>', 'what opens the broadcasts of an encrypted BTHome sensor')
    .addHelpText('after', AFTER);
  withJson(withHome(command), '{"ok":true,"id":…,"name":…,"online":…}, and no question');
  command.action(async (code: string | undefined, flags: PairFlags) => {
    const { runPair } = await import('../pair.js');
    await runPair(io, code, flags);
  });
}
