/** The MQTT side of a gateway: its own broker, or one elsewhere. */
import type { BoardId, Clock, PathListener } from '../gateway/core/types.js';
import { startBroker } from '../gateway/links/broker.js';
import type { Broker } from '../gateway/links/broker-options.js';
import type { Link, LinkLog } from '../gateway/links/link.js';
import { mqttLink } from '../gateway/links/mqtt.js';
import type { BrokerPlace } from './board-config.js';
import { reachable } from './own-hub.js';
import type { ExternalBroker } from './start-options.js';

export interface BrokerLinkInput {
  broker: { host: string; port: number } | ExternalBroker;
  clock: Clock;
  listener: PathListener;
  password(boardId: BoardId): string | undefined;
  log: LinkLog;
}

/** `own`: the broker that runs here. The error of a port that can't be had has `part: 'broker'`. */
export async function openBrokerLink(
  input: BrokerLinkInput,
): Promise<{ link: Link; own?: Broker; place: BrokerPlace }> {
  const { broker, clock, listener, password: passwordOf, log } = input;
  if ('url' in broker) {
    const { url, username, password, address } = broker;
    const link = mqttLink({
      url,
      clock,
      listener,
      log,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
    });
    return { link, place: { host: address.host, port: address.port, tls: address.tls } };
  }
  const { host, port } = broker;
  const started = { host, port, clock, listener, password: passwordOf, log };
  const own = await startBroker(started).catch((error) => {
    throw error instanceof Error ? Object.assign(error, { part: 'broker' }) : error;
  });
  return { link: own, own, place: { host: reachable(host), port: own.port, tls: false } };
}
