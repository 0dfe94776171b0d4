/** What `start` can be told about the hub in its own process, read and checked. */
import { readFileSync } from 'node:fs';
import { isLoopback } from '../gateway/links/loopback.js';
import { systemCode, usage } from './fault.js';
import type { Io } from './io.js';
import type { OwnHubOptions } from './own-hub.js';
import type { StartFlags } from './start-flags.js';
import { baseUrl } from './target.js';
import { oneLine } from './text.js';

/** Longer is no key, and might not fit the header it travels in. */
const KEY_CHARS = 4_096;

export function ownHubOptions(env: Io['env'], flags: StartFlags): OwnHubOptions {
  return {
    host: flags.host,
    port: flags.port,
    ...publicUrl(flags),
    ...callOptions(flags),
    ...firmwareOptions(flags),
    ...agentOptions(env, flags),
  };
}

/** What a hub elsewhere is told where it runs. */
export function onlyForOwnHub(flags: StartFlags): void {
  const given = {
    '--public-url': flags.publicUrl,
    '--call-hosts': flags.callHosts,
    '--call-ca': flags.callCa,
    '--firmware-hosts': flags.firmwareHosts,
    '--agent-url': flags.agentUrl,
    '--agent-model': flags.agentModel,
    '--agent-speech-model': flags.agentSpeechModel,
    '--agent-key-file': flags.agentKeyFile,
  };
  const wrong = Object.entries(given).find(([, value]) => value !== undefined);
  if (wrong === undefined) return;
  throw usage(`${wrong[0]} is for a hub of your own; leave it out with --hub.`);
}

function publicUrl({ publicUrl: url }: StartFlags): { publicUrl?: string } {
  if (url === undefined) return {};
  const base = baseUrl(url, '--public-url');
  if (base === new URL(base).origin) return { publicUrl: base };
  throw usage('--public-url is an origin without a path: the hub needs a host name of its own.');
}

/** Which private devices the own hub may call. */
function callOptions({ callHosts, callCa }: StartFlags): { callHosts?: string[]; callCa?: string } {
  const named = hosts('--call-hosts', callHosts);
  if (callCa !== undefined && named.length === 0) {
    throw usage('--call-ca is for the hosts of --call-hosts <list>; name them.');
  }
  return {
    ...(named.length === 0 ? {} : { callHosts: named }),
    ...(callCa === undefined ? {} : { callCa: pem(callCa) }),
  };
}

function firmwareOptions({ firmwareHosts }: StartFlags): { firmwareHosts?: string[] } {
  const named = hosts('--firmware-hosts', firmwareHosts);
  // As URLs are compared with them: lower case, and without the port that https has anyway.
  return named.length === 0
    ? {}
    : { firmwareHosts: named.map((host) => new URL(`https://${host}`).host) };
}

function agentOptions(env: Io['env'], flags: StartFlags): { agent?: OwnHubOptions['agent'] } {
  const { agentUrl, agentModel: model, agentSpeechModel: speechModel, agentKeyFile } = flags;
  if ((agentUrl === undefined) !== (model === undefined)) {
    throw usage('--agent-url and --agent-model go together: the chat API and its model.');
  }
  if (agentUrl === undefined || model === undefined) {
    if ((speechModel ?? agentKeyFile) === undefined) return {};
    throw usage('--agent-speech-model and --agent-key-file need --agent-url and --agent-model.');
  }
  if (model.trim() === '' || speechModel?.trim() === '') {
    throw usage('The model of the agent has no name; give it as its server lists it.');
  }
  const url = baseUrl(agentUrl, '--agent-url');
  const key = agentKey(env, agentKeyFile);
  if (key !== undefined && !isPrivate(url)) {
    throw usage('--agent-url must be https (or on this machine) where a key is sent to it.');
  }
  return {
    agent: {
      url,
      model,
      ...(speechModel === undefined ? {} : { speechModel }),
      ...(key === undefined ? {} : { key }),
    },
  };
}

/** Never an option by itself: a command line can be read by everybody on the machine. */
function agentKey(env: Io['env'], file: string | undefined): string | undefined {
  const from = file === undefined ? 'MOTEBRIDGE_AGENT_KEY' : '--agent-key-file';
  const key = (
    file === undefined ? env.MOTEBRIDGE_AGENT_KEY : text(file, 'the file with the key')
  )?.trim();
  if (file === undefined && (key === undefined || key === '')) return undefined;
  if (key === undefined || !/^[\x21-\x7e]+$/.test(key) || key.length > KEY_CHARS) {
    throw usage(`${from} holds no key: one line of printable ASCII without spaces.`);
  }
  return key;
}

function isPrivate(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, ''));
}

/** `host` or `host:port`, separated by commas. */
function hosts(flag: string, list: string | undefined): string[] {
  const named = (list ?? '')
    .split(',')
    .map((host) => host.trim())
    .filter((host) => host !== '');
  const wrong = named.find((host) => /[/@?#]/.test(host) || !URL.canParse(`https://${host}`));
  if (wrong === undefined) return named;
  throw usage(`${flag} takes hosts like nas.local or 10.0.0.7:8443, not "${oneLine(wrong, 64)}".`);
}

export function pem(file: string): string {
  return text(file, 'a PEM file');
}

function text(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw usage(`${file} can't be read (${systemCode(error)}); name ${what}.`);
  }
}
