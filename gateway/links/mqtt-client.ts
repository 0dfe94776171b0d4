/**
 * One connection to an MQTT broker, with a socket of our own under it, so that a packet over the
 * cap ends the connection before it is gathered. Nothing is queued and nothing is sent again
 * after a cut: each connection starts clean, and its subscriptions are verified.
 */
import { randomBytes } from 'node:crypto';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { MqttClient } from 'mqtt';
import { isLoopback } from './loopback.js';
import { PacketMeter } from './packet-meter.js';

export interface BrokerAddress {
  host: string;
  port: number;
  tls: boolean;
  /** True where nobody else can listen or speak: TLS, or a broker on this machine. */
  private: boolean;
}

/** `mqtt://host[:port]` or `mqtts://host[:port]`. Throws `RangeError` with a way out. */
export function brokerAddress(url: string): BrokerAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const tls = parsed?.protocol === 'mqtts:';
  if (!parsed || (!tls && parsed.protocol !== 'mqtt:') || parsed.hostname === '') {
    throw new RangeError(
      'The broker address must look like mqtt://host:1883 or mqtts://host:8883.',
    );
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new RangeError('Give the broker’s user name and password apart, not in its address.');
  }
  const host = parsed.hostname.replace(/^\[|\]$/g, '');
  const port = parsed.port === '' ? (tls ? 8883 : 1883) : Number(parsed.port);
  return { host, port, tls, private: tls || isLoopback(host) };
}

export interface ConnectionOptions {
  address: BrokerAddress;
  username?: string;
  password?: string;
  clientId?: string;
  /** PEM of the authority that signed the broker's certificate, where it is not a public one. */
  ca?: string;
  maxPacket: number;
  topics: string[];
  subscribed(): void;
  message(topic: string, payload: Uint8Array, retained: boolean): void;
  /** Called once; `why` is for people. */
  ended(why: string): void;
}

export interface BrokerConnection {
  publish(topic: string, payload: Uint8Array): void;
  /** Bytes that the broker has not acknowledged yet. */
  backlog(): number;
  end(): void;
}

export function connectBroker(options: ConnectionOptions): BrokerConnection {
  const { address } = options;
  let why = 'the broker closed the connection';
  let over = false;
  let unacknowledged = 0;
  let socket: Socket | undefined;
  const client = new MqttClient(
    () => {
      socket = openSocket(address, options.ca);
      const meter = new PacketMeter(options.maxPacket);
      const own = socket;
      // Before the library's own reader, in the same turn, so that it sees every byte first.
      own.on('data', (chunk: Buffer) => {
        const fault = meter.feed(chunk);
        if (!fault) return;
        why = `the broker sent a packet that is ${fault === 'too_large' ? 'too large' : 'malformed'}`;
        own.destroy();
      });
      return own;
    },
    {
      protocolId: 'MQTT',
      protocolVersion: 4,
      clean: true,
      clientId: options.clientId ?? `motebridge-${randomBytes(6).toString('hex')}`,
      ...(options.username === undefined ? {} : { username: options.username }),
      ...(options.password === undefined ? {} : { password: options.password }),
      keepalive: 20,
      reconnectPeriod: 0,
      connectTimeout: 10_000,
      resubscribe: false,
      queueQoSZero: false,
    },
  );

  function finish(): void {
    if (over) return;
    over = true;
    socket?.destroy();
    client.end(true);
    options.ended(why);
  }

  client.on('connect', () => {
    const wanted = Object.fromEntries(options.topics.map((topic) => [topic, { qos: 1 as const }]));
    client.subscribe(wanted, (error, granted) => {
      if (over) return;
      const refused = granted?.filter((grant) => grant.qos === 128) ?? [];
      if (error || refused.length > 0 || granted?.length !== options.topics.length) {
        why = 'the broker does not let this user subscribe to mote/+/up and mote/+/state';
        finish();
        return;
      }
      options.subscribed();
    });
  });
  client.on('message', (topic, payload, packet) => {
    if (!over) options.message(topic, payload, packet.retain);
  });
  client.on('error', (error) => {
    why = `the broker can’t be used: ${error.message}`;
    finish();
  });
  client.on('close', finish);
  return {
    publish(topic, payload) {
      // Small frames cost the library more than their bytes, so each counts a little extra.
      const cost = payload.length + 256;
      unacknowledged += cost;
      client.publish(topic, Buffer.from(payload), { qos: 1, retain: false }, () => {
        unacknowledged -= cost;
      });
    },
    backlog: () => unacknowledged,
    end() {
      why = 'the link is closing';
      // A DISCONNECT first where the socket still takes one, so that the broker sends no will.
      if (client.connected) client.end(false, () => finish());
      else finish();
    },
  };
}

function openSocket(address: BrokerAddress, ca: string | undefined): Socket {
  const { host, port } = address;
  const name = isIP(host) ? {} : { servername: host };
  const socket = address.tls
    ? connectTls({ host, port, ...name, ...(ca === undefined ? {} : { ca }) })
    : connectTcp({ host, port });
  // A small packet must not wait for the acknowledgement of the one before it (up to 40 ms).
  return socket.setNoDelay(true);
}
