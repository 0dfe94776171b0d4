/** `motebridge start`: brings everything up, says where it is, and ends it cleanly. */
import { existsSync } from 'node:fs';
import type { BoardView } from '../gateway/core/types.js';
import { parseBle } from './ble-options.js';
import { startControl } from './control.js';
import { CliError, systemCode, usage } from './fault.js';
import { chooseHome, readCredentials, writeCredentials } from './home.js';
import { type Io, note, print, printJson } from './io.js';
import { onlyForOwnHub, ownHubOptions, pem } from './own-hub-options.js';
import { withProgress } from './progress.js';
import type { Stack, StackOptions } from './stack-types.js';
import type { StartFlags } from './start-flags.js';
import { isBoard, isOwn, parseBroker, parseSims } from './start-options.js';
import { baseUrl } from './target.js';
import { oneLine } from './text.js';
import { version } from './version.js';

/** Boards in the same process are there in a second or two; a slow machine gets more. */
const SIMS_MS = 15_000;
/** Within this, what still hangs is left behind. */
const STOP_MS = 2_800;

export function stackOptions(io: Io, flags: StartFlags): StackOptions {
  const sims = flags.sim === undefined ? [] : parseSims(flags.sim);
  const ble = parseBle(flags);
  if (ble?.adapter !== 'virtual' && sims.some((sim) => isBoard(sim) && !isOwn(sim))) {
    throw usage('Simulated necklaces and BTHome sensors speak BLE only; add --ble virtual.');
  }
  if (ble?.adapter !== 'virtual') {
    if (flags.mqtt === undefined && !flags.broker && sims.some(isBoard)) {
      throw usage(
        'Simulated boards need a broker; leave --no-broker out, name one with --mqtt, or let them speak BLE with --ble virtual.',
      );
    }
  }
  if ((flags.hub === undefined) !== (flags.token === undefined)) {
    throw usage('--hub and --token go together: the hub elsewhere and your token there.');
  }
  if (flags.hub !== undefined) onlyForOwnHub(flags);
  return {
    home: chooseHome(io.env, flags.home).path,
    hub:
      flags.hub === undefined || flags.token === undefined
        ? ownHubOptions(io.env, flags)
        : { url: baseUrl(flags.hub, '--hub'), token: flags.token },
    broker:
      flags.mqtt !== undefined
        ? parseBroker(flags.mqtt)
        : flags.broker
          ? { host: flags.brokerHost, port: flags.brokerPort }
          : undefined,
    sims,
    ble,
    endpoint: endpointOptions(flags),
    log: logger(io),
  };
}

function endpointOptions(flags: StartFlags): StackOptions['endpoint'] {
  const { endpointPort: port, endpointHost: host, endpointCert: cert, endpointKey: key } = flags;
  if ((cert === undefined) !== (key === undefined)) {
    throw usage('--endpoint-cert and --endpoint-key go together: certificate and private key.');
  }
  if (port === undefined && cert !== undefined) {
    throw usage('--endpoint-cert needs --endpoint-port <n>, where boards are to be served.');
  }
  if (port === undefined) return undefined;
  if (cert === undefined || key === undefined) return { host, port };
  return { host, port, tls: { cert: pem(cert), key: pem(key) } };
}

/** Only where it was asked for: what a person has to know is said by other means. */
function logger(io: Io): StackOptions['log'] {
  if ((io.env.MOTEBRIDGE_DEBUG ?? '') === '') return undefined;
  return (what, about) => note(io, oneLine(`${what} ${JSON.stringify(about)}`, 1_000));
}

export async function runStart(io: Io, flags: StartFlags): Promise<void> {
  const options = stackOptions(io, flags);
  let starting = true;
  let hung: NodeJS.Timeout | undefined;
  const stopping = new Promise<void>((done) => {
    let asked = false;
    io.onStop(() => {
      // Whoever asks twice does not want to wait.
      if (asked) io.exitNow(1);
      asked = true;
      // Once it is up, `Ending` sees to that; what hangs before is left behind just as well.
      if (starting) hung = setTimeout(() => leave(io), STOP_MS);
      done();
    });
  });
  // Noble prints what it thinks of an adapter on standard output, where only our lines belong.
  if (typeof options.ble?.adapter === 'number') {
    console.log = (...words: unknown[]) => options.log?.('noble', { says: words.join(' ') });
  }
  const { startStack } = await import('./stack.js');
  const stack = await withProgress(io, 'starting', startStack(options))
    .catch((error) => {
      throw startFault(error, flags);
    })
    .finally(() => {
      starting = false;
      clearTimeout(hung);
    });
  const ending = new Ending(io, stack, options.home);
  try {
    const control = await startControl({
      boards: stack.admin,
      owners: stack.owners,
      pairing: stack.pairing,
    });
    ending.control = control;
    writeCredentials(options.home, {
      url: stack.url,
      token: stack.token,
      control: { url: control.url, token: control.token },
    });
    const sims = options.sims.length === 0 ? Promise.resolve(true) : stack.simsReady(SIMS_MS);
    const ready = await Promise.race([withProgress(io, 'waiting for boards', sims), stopping]);
    if (ready === false) note(io, 'motebridge: not every simulated board has come up yet.');
    // Undefined where the stop came first.
    if (ready !== undefined && flags.json === true) {
      printJson(io, { ready: true, url: stack.url, token: stack.token });
    } else if (ready !== undefined) {
      greet(io, stack, options, flags);
      await sayBluetooth(io, stack, options.ble);
      for (const { name, code } of stack.codes) print(io, `to pair      ${name}  ${code}`);
      sayBoards(io, stack);
      for (const sim of options.sims) if (!isBoard(sim)) print(io, `on call      ${sim.name}`);
    }
    await stopping;
    if (flags.json !== true) print(io, 'Stopping …');
  } finally {
    await ending.run();
  }
}

function leave(io: Io): void {
  note(io, 'motebridge: something did not end in time and was left behind.');
  io.exitNow(1);
}

/** Ends everything once, within the time that a person or a service manager waits. */
class Ending {
  control: { close(): Promise<void> } | undefined;

  constructor(
    private readonly io: Io,
    private readonly stack: Stack,
    private readonly home: string,
  ) {}

  async run(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((done) => {
      timer = setTimeout(() => done('late'), STOP_MS);
    });
    const ended = await Promise.race([this.all().then(() => 'ended'), late]);
    clearTimeout(timer);
    if (ended === 'late') leave(this.io);
  }

  private async all(): Promise<void> {
    await this.control?.close();
    const stored = readCredentials(this.home);
    if (stored !== undefined) {
      writeCredentials(this.home, { url: stored.url, token: stored.token });
    }
    await this.stack.stop();
  }
}

/** Words for what commonly keeps it from starting; the rest comes as it is. */
export function startFault(
  error: unknown,
  flags: Pick<StartFlags, 'port' | 'brokerPort' | 'endpointPort'>,
): unknown {
  const code = systemCode(error);
  const part = error instanceof Error && 'part' in error ? error.part : 'hub';
  const [what, flag, port] =
    part === 'broker'
      ? (['broker', '--broker', flags.brokerPort] as const)
      : part === 'endpoint'
        ? (['endpoint door', '--endpoint', flags.endpointPort] as const)
        : (['hub', '-', flags.port] as const);
  const option = `${flag}-port`;
  if (code === 'EADDRINUSE') {
    return new CliError(
      'port_in_use',
      `Port ${port} for the ${what} is in use; choose another one with ${option} <n>, or ${option} 0 for any.`,
    );
  }
  if (part === 'endpoint' && code.startsWith('ERR_')) {
    return usage(
      `The certificate or key given with --endpoint-cert and --endpoint-key can't be used (${code}); give both as PEM files that belong together.`,
    );
  }
  if (code === 'EACCES') {
    return new CliError(
      'port_refused',
      `Port ${port} for the ${what} may not be used by this user; choose one above 1023 with ${option} <n>.`,
    );
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new CliError(
      'address',
      `The ${what} can't listen at that address (${code}); give one of this machine's addresses with ${flag}-host.`,
    );
  }
  return error;
}

/** How the person got here is how the next commands are written. */
export function commandWords(env: Io['env']): string {
  if (env.npm_lifecycle_event === 'npx') return 'npx motebridge';
  return env.npm_lifecycle_event === undefined ? 'motebridge' : 'npm run -s motebridge --';
}

function greet(io: Io, stack: Stack, options: StackOptions, flags: StartFlags): void {
  const { place } = stack;
  print(io, `Motebridge ${version()} is running; Ctrl-C ends it.`);
  print(io);
  print(io, `  hub     ${stack.url}`);
  if (!('url' in options.hub)) print(io, `  login   ${stack.token}`);
  if (place !== undefined) {
    print(io, `  broker  ${place.tls ? 'mqtts' : 'mqtt'}://${place.host}:${place.port}`);
  }
  if (stack.endpointUrl !== undefined) print(io, `  boards  ${stack.endpointUrl}`);
  print(io, `  data    ${options.home}`);
  print(io);
  const words = commandWords(io.env);
  const home = flags.home === undefined ? '' : ` --home ${shellWord(flags.home)}`;
  const eink = options.sims.find(({ kind }) => kind === 'eink')?.name;
  const other = options.sims.find((sim) => isBoard(sim) && sim.kind !== 'eink')?.name;
  const called = options.sims.find((sim) => !isBoard(sim))?.name;
  const next = [`${words} devices${home}`];
  if (stack.codes.length > 0)
    next.splice(0, 1, `${words} pair${home}`, `${words} boards list${home}`);
  else if (eink !== undefined) {
    const card = '{"type":"kv","title":"Status","rows":{"in":"19:30"}}';
    next.push(`${words} call${home} ${eink} 'render_ui ${card}'`);
    next.push(`${words} snapshot${home} ${eink} -o ${eink}.png`);
  } else if (other !== undefined) {
    next.push(`${words} call${home} ${other} status`, `${words} watch${home}`);
  } else if (called !== undefined) {
    next.push(`${words} snapshot${home} ${called} -o ${called}.jpg`);
  } else next.push(`${words} boards add${home} <name>`, `${words} watch${home}`);
  if (called !== undefined) next.push(`${words} call${home} ${called} hello`);
  print(io, 'Try next, in another terminal:');
  for (const line of next) print(io, `  ${line}`);
  print(io);
}

async function sayBluetooth(io: Io, stack: Stack, ble: StackOptions['ble']): Promise<void> {
  if (ble === undefined) return;
  const health = await stack.bluetooth();
  if (health?.state !== 'down') return;
  const name = ble.adapter === 'virtual' ? 'the virtual adapter' : `hci${ble.adapter}`;
  // Noble calls one that is not there switched off.
  const missing = process.platform === 'linux' && !existsSync(`/sys/class/bluetooth/${name}`);
  const why = missing
    ? `this machine has no adapter ${name}; plug it in, or see which there are with \`motebridge doctor\``
    : (health.detail ?? 'it is down');
  note(io, `motebridge: no board is reached over ${name} yet: ${why}.`);
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Says each board's state when it changes, beginning with how they are now. */
function sayBoards(io: Io, stack: Stack): void {
  const said = new Map<string, string>();
  const say = (board: BoardView): void => {
    const { state } = board.presence;
    if (said.get(board.id) === state) return;
    if (state === 'unreachable' && !said.has(board.id)) return;
    said.set(board.id, state);
    print(io, `${state.padEnd(11)}  ${oneLine(board.name, 64)}`);
  };
  stack.onPresence(say);
  for (const board of stack.boards()) say(board);
}
