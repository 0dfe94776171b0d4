import type { Command } from 'commander';
import type { Context } from '../context.js';
import { type JsonFlag, whole, withHome, withJson } from './options.js';
import { BROKER_PORT, HUB_PORT } from './ports.js';

export interface StartFlags extends JsonFlag {
  home?: string;
  host: string;
  port: number;
  brokerHost: string;
  brokerPort: number;
  /** False with --no-broker. */
  broker: boolean;
  mqtt?: string;
  sim?: string;
  publicUrl?: string;
  callHosts?: string;
  callCa?: string;
  hub?: string;
  token?: string;
  endpointHost: string;
  endpointPort?: number;
  endpointCert?: string;
  endpointKey?: string;
}

const AFTER = `
Examples:
  motebridge start --sim eink,env,camera       everything on this machine, with three boards
  motebridge start --broker-host 0.0.0.0       boards on the network may connect
  motebridge start --hub https://hub.example --token …   a hub elsewhere
It ends cleanly on Ctrl-C or SIGTERM; a second signal ends it at once.`;

export function addStart(program: Command, context: Context): void {
  const command = program
    .command('start')
    .description('run hub, gateway and broker, with simulated boards if you like')
    .option('--sim <list>', 'simulated boards: eink, env, camera, endpoint, as in eink,env:3')
    .option('--host <address>', 'where the hub listens', '127.0.0.1')
    .option('--port <n>', 'the hub’s port; 0 for any', whole(0, 65_535), HUB_PORT)
    .option('--public-url <url>', 'the address people reach the hub by, behind a reverse proxy')
    .option('--call-hosts <list>', 'private hosts where the hub may call devices by URL')
    .option('--call-ca <file>', 'authority of their certificates (PEM), if it is not a public one')
    .option('--broker-host <address>', 'where the broker listens', '127.0.0.1')
    .option('--broker-port <n>', 'the broker’s port; 0 for any', whole(0, 65_535), BROKER_PORT)
    .option('--no-broker', 'run no broker')
    .option('--mqtt <url>', 'use this broker instead: mqtt[s]://[user:password@]host[:port]')
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
