/**
 * A board as a real MQTT client (frame.md "Links", amendment 11): client id and user name are its
 * id, each connection starts clean, and its last will says which connection of which boot ended.
 */
import { Socket } from 'node:net';
import { connect, type MqttClient } from 'mqtt';
import { encodeValue } from '../../protocol/codec.js';
import { mqttPassword } from '../../protocol/identity.js';
import type { Transport, TransportOwner } from '../board.js';
import type { BoardClock } from '../types.js';

export interface MqttTransportOptions {
  /** `mqtt://127.0.0.1:1883` or `mqtts://…`. */
  url: string;
  /** The board's 16-byte key; its password is made of it. */
  key: Uint8Array;
  clock: BoardClock;
  /** From 0 up to, but not including, 1: jitter, so that a fleet does not come back at once. */
  random: () => number;
  keepaliveS?: number;
  connectTimeoutMs?: number;
  /** First pause before connecting again, in milliseconds; doubles up to 30 s. Default 500. */
  backoffMs?: number;
  /** Why a connection failed or ended, for a log; it holds no secret. */
  onTrouble?(why: string): void;
}

const BACKOFF_MAX_MS = 30_000;

/**
 * Each connection is a client of its own, since a will is fixed at CONNECT and has to name the
 * connection. Nothing is queued over a cut: the session sends again what matters.
 */
export function mqttTransport(options: MqttTransportOptions): Transport {
  const { clock, random } = options;
  const password = mqttPassword(options.key);
  let owner: TransportOwner | undefined;
  let client: MqttClient | undefined;
  let timer: { cancel(): void } | undefined;
  let connection = 0;
  let bootId = -1;
  let failures = 0;

  function open(): void {
    if (!owner || client) return;
    timer?.cancel();
    const { boardId } = owner;
    if (owner.bootId !== bootId) {
      bootId = owner.bootId;
      connection = 0;
    }
    connection++;
    const here = connection;
    const topic = (leaf: string): string => `mote/${boardId}/${leaf}`;
    const state = (online: 0 | 1): Buffer => Buffer.from(encodeValue([bootId, here, online]));
    const mine = connect(options.url, {
      clientId: boardId,
      username: boardId,
      password,
      clean: true,
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      keepalive: options.keepaliveS ?? 30,
      connectTimeout: options.connectTimeoutMs ?? 10_000,
      will: { topic: topic('state'), payload: state(0), qos: 1, retain: true },
    });
    client = mine;
    // A small packet must not wait for the acknowledgement of the one before it (up to 40 ms).
    if (mine.stream instanceof Socket) mine.stream.setNoDelay(true);
    const present = (): boolean => client === mine;
    mine.on('connect', () => {
      mine.subscribe(topic('down'), { qos: 1 }, (error, grants) => {
        if (!present() || !owner) return;
        if (error || grants?.some((grant) => grant.qos === 128)) {
          drop(mine, 'the broker refused the subscription');
          return;
        }
        failures = 0;
        mine.publish(topic('state'), state(1), { qos: 1, retain: true });
        const wire = {
          send: (frame: Uint8Array): void => {
            if (present()) mine.publish(topic('up'), Buffer.from(frame), { qos: 1 });
          },
          close: (why: string): void => drop(mine, why),
        };
        owner.opened(wire, here);
      });
    });
    mine.on('message', (at, payload, packet) => {
      // A retained message on a command topic is somebody's mistake, and older than this connection.
      if (present() && at === topic('down') && !packet.retain) owner?.received(payload);
    });
    mine.on('error', (error) => options.onTrouble?.(error.message));
    mine.on('close', () => drop(mine, 'the connection ended'));
  }

  /** Ends a connection without a word, so that the broker publishes the will. */
  function drop(mine: MqttClient, why: string): void {
    if (client !== mine) return;
    client = undefined;
    mine.end(true);
    options.onTrouble?.(why);
    owner?.closed(why);
    again();
  }

  function again(): void {
    timer?.cancel();
    if (!owner) return;
    const pause = Math.min(
      BACKOFF_MAX_MS,
      (options.backoffMs ?? 500) * 2 ** Math.min(failures++, 10),
    );
    timer = clock.after(Math.round(pause * (0.5 + random())), open);
  }

  /** Says that it goes: a clean end makes the broker drop the will. */
  function leave(): Promise<void> {
    timer?.cancel();
    const mine = client;
    client = undefined;
    if (!mine || !owner) return Promise.resolve();
    const payload = Buffer.from(encodeValue([bootId, connection, 0]));
    const { boardId } = owner;
    owner.closed('the board left');
    return new Promise((resolve) => {
      if (!mine.connected) {
        mine.end(true, () => resolve());
        return;
      }
      mine.publish(`mote/${boardId}/state`, payload, { qos: 1, retain: true });
      // What was published before (SLEEP, a last result) is acknowledged first, or given up.
      const impatient = clock.after(1_000, () => mine.end(true, () => resolve()));
      mine.end(false, {}, () => {
        impatient.cancel();
        resolve();
      });
    });
  }

  return {
    start(of) {
      owner = of;
      open();
    },
    restart() {
      if (client) {
        const mine = client;
        client = undefined;
        mine.end(true);
        owner?.closed('the power failed');
      }
      failures = 0;
      open();
    },
    pause(ms) {
      void leave();
      timer = clock.after(ms, open);
    },
    async stop() {
      const left = leave();
      owner = undefined;
      await left;
    },
  };
}
