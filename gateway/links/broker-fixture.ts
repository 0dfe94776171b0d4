/** What the tests of the MQTT links share: a listener that remembers, and bare MQTT clients. */
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import type { Path, PathListener } from '../core/types.js';
import { type BoardState, encodeState, topicOf } from './topics.js';

export const BOARD = '00000000000000a1';
export const OTHER = '00000000000000b2';
export const SECRET = 'not a secret';

export interface Recorder extends PathListener {
  /** `opened <id>`, `received <id> <hex>`, `closed <id> <reason>`, in order. */
  readonly log: string[];
  readonly paths: Path[];
  /** Resolves when the log holds an entry that starts with `start`; `count` of them if given. */
  until(start: string, count?: number): Promise<void>;
}

export function recorder(): Recorder {
  const log: string[] = [];
  const paths: Path[] = [];
  const waiting: { start: string; count: number; done: () => void }[] = [];
  const seen = (start: string): number => log.filter((line) => line.startsWith(start)).length;

  function add(line: string): void {
    log.push(line);
    for (const each of [...waiting]) {
      if (seen(each.start) < each.count) continue;
      waiting.splice(waiting.indexOf(each), 1);
      each.done();
    }
  }
  return {
    log,
    paths,
    opened(path) {
      paths.push(path);
      add(`opened ${path.boardId}`);
    },
    received: (path, frame) =>
      add(`received ${path.boardId} ${Buffer.from(frame).toString('hex')}`),
    closed: (path, reason) => add(`closed ${path.boardId} ${reason}`),
    until(start, count = 1) {
      if (seen(start) >= count) return Promise.resolve();
      return new Promise((done) => waiting.push({ start, count, done }));
    },
  };
}

export type Pair = Pick<BoardState, 'bootId' | 'connection'>;

/** Options of a well-behaved board; `pair` gives it its last will. */
export function asBoard(url: string, id: string, pair?: Pair): IClientOptions {
  const { hostname, port } = new URL(url);
  return {
    protocol: 'mqtt',
    hostname,
    port: Number(port),
    clientId: id,
    username: id,
    password: SECRET,
    reconnectPeriod: 0,
    ...(pair
      ? {
          will: {
            topic: topicOf(id, 'state'),
            payload: Buffer.from(encodeState({ ...pair, online: false })),
            qos: 1,
            retain: true,
          },
        }
      : {}),
  };
}

/** Resolves once connected, rejects when refused. */
export function dial(options: IClientOptions): Promise<MqttClient> {
  const client = mqtt.connect(options);
  return new Promise((resolve, reject) => {
    client.once('connect', () => resolve(client));
    client.once('error', (error) => {
      client.end(true);
      reject(error);
    });
    client.once('close', () => reject(new Error('closed')));
  });
}

/** Connects, subscribes, and says it is online. */
export async function online(url: string, id: string, pair: Pair): Promise<MqttClient> {
  const client = await dial(asBoard(url, id, pair));
  client.on('error', () => {});
  await client.subscribeAsync(topicOf(id, 'down'), { qos: 1 });
  const payload = Buffer.from(encodeState({ ...pair, online: true }));
  await client.publishAsync(topicOf(id, 'state'), payload, { qos: 1, retain: true });
  return client;
}

export function closing(client: MqttClient): Promise<void> {
  return new Promise((resolve) => {
    if (!client.connected && client.stream.destroyed) resolve();
    else client.once('close', () => resolve());
  });
}
