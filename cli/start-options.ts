/** What `start` can be told, read and checked. */
import { type BrokerAddress, brokerAddress } from '../gateway/links/mqtt-client.js';
import { usage } from './fault.js';
import { clean } from './text.js';

/** Boards behind the gateway, and a device that the hub calls by its URL. */
export const SIM_KINDS = ['eink', 'env', 'camera', 'necklace', 'bthome', 'endpoint'] as const;
export type SimKind = (typeof SIM_KINDS)[number];

/** A simulated board or device to play. */
export interface SimChoice {
  kind: SimKind;
  name: string;
}
export type BoardChoice = SimChoice & { kind: Exclude<SimKind, 'endpoint'> };

/** Boards of other makers speak BLE only, and nothing of ours. */
export type OwnChoice = SimChoice & { kind: Exclude<SimKind, 'endpoint' | 'necklace' | 'bthome'> };

export function isOwn(choice: SimChoice): choice is OwnChoice {
  return !['endpoint', 'necklace', 'bthome'].includes(choice.kind);
}

export function isBoard(choice: SimChoice): choice is BoardChoice {
  return choice.kind !== 'endpoint';
}

const MOST = 200;

/** `eink,env:3` is eink, env, env-2 and env-3. */
export function parseSims(text: string): SimChoice[] {
  const sims: SimChoice[] = [];
  for (const part of text.split(',').map((item) => item.trim())) {
    if (part === '') continue;
    const [, word = '', count = '1'] = /^([a-z]+)(?::([1-9]\d{0,3}))?$/.exec(part) ?? [];
    const kind = SIM_KINDS.find((known) => known === word);
    if (kind === undefined) {
      throw usage(
        `There is no simulated board "${clean(part)}"; choose from ${SIM_KINDS.join(', ')}, or eink:3 for three.`,
      );
    }
    for (let n = 0; n < Number(count); n += 1) {
      const before = sims.filter((sim) => sim.kind === kind).length;
      sims.push({ kind, name: before === 0 ? kind : `${kind}-${before + 1}` });
      if (sims.length > MOST) throw usage(`At most ${MOST} simulated boards run in one process.`);
    }
  }
  return sims;
}

export interface ExternalBroker {
  url: string;
  address: BrokerAddress;
  username?: string;
  password?: string;
}

/** `mqtt://[user[:password]@]host[:port]`; what authenticates is taken out of the address. */
export function parseBroker(text: string): ExternalBroker {
  if (!URL.canParse(text)) {
    throw usage('--mqtt takes an address like mqtt://host:1883 or mqtts://host:8883.');
  }
  const url = new URL(text);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  try {
    return {
      url: url.toString(),
      address: brokerAddress(url.toString()),
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    };
  } catch (error) {
    throw usage(`--mqtt: ${error instanceof Error ? error.message : 'not a broker address'}`);
  }
}
