import type { Command } from 'commander';
import type { Context } from '../context.js';
import type { StartFlags } from '../start-flags.js';
import { whole, withHome, withJson } from './options.js';
import { BROKER_PORT, HUB_PORT } from './ports.js';

const AFTER = `
Examples:
  motebridge start --sim eink,env,camera       everything on this machine, with three boards
  motebridge start --broker-host 0.0.0.0       boards on the network may connect
  motebridge start --ble virtual --sim eink,env,necklace,bthome    over a simulated radio
  motebridge start --ble hci0                  boards that speak BLE, as \`motebridge pair\` pairs them
  motebridge start --hub https://hub.example --token …   a hub elsewhere
It ends cleanly on Ctrl-C or SIGTERM; a second signal ends it at once.`;

export function addStart(program: Command, context: Context): void {
  const command = program
    .command('start')
    .description('run hub, gateway and broker, with simulated boards if you like')
    .option(
      '--sim <list>',
      'simulated boards, as in eink,env:3: eink, env, camera, endpoint; necklace, bthome over BLE',
    )
    .option('--host <address>', 'where the hub listens', '127.0.0.1')
    .option('--port <n>', 'the hub’s port; 0 for any', whole(0, 65_535), HUB_PORT)
    .option('--public-url <url>', 'the address people reach the hub by, behind a reverse proxy')
    .option('--call-hosts <list>', 'private hosts where the hub may call devices by URL')
    .option('--call-ca <file>', 'authority of their certificates (PEM), if it is not a public one')
    .option('--firmware-hosts <list>', 'hosts that firmware for boards may be published from')
    .option(
      '--agent-url <url>',
      'chat API that answers boards’ questions: http://127.0.0.1:11434/v1',
    )
    .option('--agent-model <name>', 'the model it answers with')
    .option('--agent-speech-model <name>', 'the model that writes spoken questions down')
    .option(
      '--agent-key-file <file>',
      'its key, else MOTEBRIDGE_AGENT_KEY; none where it needs none',
    )
    .option('--broker-host <address>', 'where the broker listens', '127.0.0.1')
    .option('--broker-port <n>', 'the broker’s port; 0 for any', whole(0, 65_535), BROKER_PORT)
    .option('--no-broker', 'run no broker')
    .option('--mqtt <url>', 'use this broker instead: mqtt[s]://[user:password@]host[:port]')
    .option('--ble <adapter>', 'speak with BLE boards over hci0, or over a virtual radio: virtual')
    .option('--ble-slots <n>', 'connections the adapter carries, if it says too many', whole(1, 64))
    .option('--unpaired', 'leave simulated BLE boards for `motebridge pair`')
    .option('--hub <url>', 'use the hub at this address instead of an own one')
    .option('--token <token>', 'your session token at that hub')
    .option('--endpoint-port <n>', 'serve boards to hubs that call by URL', whole(0, 65_535))
    .option('--endpoint-host <address>', 'where that listens', '127.0.0.1')
    .option('--endpoint-cert <file>', 'its TLS certificate (PEM); else put a proxy in front')
    .option('--endpoint-key <file>', 'the certificate’s private key (PEM)')
    .addHelpText('after', AFTER);
  withJson(withHome(command), 'one line when it serves: {"ready":true,"url":…,"token":…}');
  command.action(async (flags: StartFlags) => {
    const { runStart } = await import('../start.js');
    await runStart(context.io, flags);
  });
}
