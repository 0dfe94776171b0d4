/** The hub in this process: its owner's token, and the gateway's own credential at it. */
import {
  type ChatAgentOptions,
  chatAgent,
  createHub,
  type Hub,
  type HubLog,
} from '../hub/index.js';
import { type Database, openDatabase } from '../store/index.js';
import { readCredentials } from './home.js';
import type { Parts } from './parts.js';

export interface OwnHub {
  readonly hub: Hub;
  readonly url: string;
  readonly token: string;
  readonly gatewayToken: string;
}

export interface OwnHubOptions {
  host: string;
  port: number;
  /** Under which people and agents reach it, where that is another address (a reverse proxy's). */
  publicUrl?: string;
  /** Private hosts at which it may call devices, and whose certificates they may show (PEM). */
  callHosts?: readonly string[];
  callCa?: string;
  /** Hosts that firmware may be published from; default: the own one, where it is https. */
  firmwareHosts?: readonly string[];
  /** Answers what devices ask. */
  agent?: ChatAgentOptions;
}

/** Where the gateway's credential at the own hub is kept, sealed. */
const ROOM = 'hub';
const KEY = 'own';

export async function openOwnHub(
  parts: Parts,
  at: OwnHubOptions,
  between?: (database: Database) => Database,
  log?: HubLog,
): Promise<OwnHub> {
  const { publicUrl, callHosts, callCa, firmwareHosts, agent } = at;
  const database = between?.(await openDatabase(parts.home.path('hub.db')));
  const hub = await createHub({
    home: parts.home.folder,
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(database === undefined ? {} : { database }),
    ...(callHosts === undefined ? {} : { endpointHosts: callHosts }),
    ...(callCa === undefined ? {} : { endpointCa: callCa }),
    ...(firmwareHosts === undefined ? {} : { firmwareHosts }),
    ...(agent === undefined ? {} : { agent: chatAgent(agent) }),
    ...(log === undefined ? {} : { log }),
  });
  try {
    const { token, ownerId } = await ownerOf(hub, parts);
    const gatewayToken = await credentialOf(hub, parts, ownerId);
    const { port } = await hub.listen(at);
    return { hub, url: `http://${reachable(at.host)}:${port}`, token, gatewayToken };
  } catch (error) {
    await hub.close();
    throw error;
  }
}

/** The hub's log in the form of the whole; of an error, its own words. */
export function hubLog(log: (what: string, about: Record<string, unknown>) => void): HubLog {
  const say = (fields: object, message: string): void => {
    const words = ([key, value]: [string, unknown]): [string, unknown] => [
      key,
      value instanceof Error ? `${value.name}: ${value.message}` : value,
    ];
    log(`hub: ${message}`, Object.fromEntries(Object.entries(fields).map(words)));
  };
  return { info: say, warn: say, error: say };
}

/** The host by which this machine reaches what listens at `host`. */
export function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/** The token of last time where the hub still takes it, else a new one. */
async function ownerOf(hub: Hub, parts: Parts): Promise<{ ownerId: string; token: string }> {
  const made = await hub.bootstrap();
  if (made !== undefined) return made;
  const [owner] = hub.owners();
  if (owner === undefined) throw new Error('the hub has no owner');
  const known = readCredentials(parts.home.folder)?.token;
  if (known !== undefined && (await accepts(hub, 'GET', '/api/devices', known))) {
    return { ownerId: owner.id, token: known };
  }
  return { ownerId: owner.id, token: await hub.createToken(owner.id, 'start') };
}

/** Kept across restarts: only the gateway that claimed an envelope may answer it. */
async function credentialOf(hub: Hub, parts: Parts, ownerId: string): Promise<string> {
  const { journal, secrets } = parts;
  const sealed = journal.get(ROOM, KEY);
  const known = sealed === undefined ? undefined : secrets.open(sealed, `${ROOM}/${KEY}`);
  if (known !== undefined && (await accepts(hub, 'POST', '/api/gateway/v1/up', known)))
    return known;
  const { gateway_token } = await hub.enrolGateway(ownerId, 'this machine');
  await journal.put(ROOM, KEY, secrets.seal(gateway_token, `${ROOM}/${KEY}`));
  return gateway_token;
}

async function accepts(
  hub: Hub,
  method: 'GET' | 'POST',
  url: string,
  token: string,
): Promise<boolean> {
  const { statusCode } = await hub.app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${token}` },
    ...(method === 'POST' ? { payload: { items: [] } } : {}),
  });
  return statusCode === 200;
}
