/**
 * Children of `flood.test.ts`. `broker`: the embedded broker. `default`: the library with its own
 * settings. `flood <port> <ms>`: ten boards that publish at QoS 0 as fast as the socket takes it.
 */
import { connect, createServer, type Socket } from 'node:net';
import { Aedes } from 'aedes';
import mqtt from 'mqtt';
import { startBroker } from '../links/broker.js';
import { topicOf } from '../links/topics.js';
import { nodeClock } from './clock.js';

const [role = '', port = '0', ms = '0'] = process.argv.slice(2);
const SECRET = 'not a secret';
const ids = Array.from({ length: 11 }, (_, i) => `00000000000000${(i + 16).toString(16)}`);

function field(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
}

/** MQTT 3.1.1, sections 3.1 and 3.3; both are shorter than 128 bytes. */
function connectPacket(id: string): Buffer {
  const head = Buffer.from([4, 0xc2, 0, 30]);
  const body = Buffer.concat([field('MQTT'), head, field(id), field(id), field(SECRET)]);
  return Buffer.concat([Buffer.from([0x10, body.length]), body]);
}

function publishPacket(id: string): Buffer {
  const body = Buffer.concat([field(topicOf(id, 'up')), Buffer.from([0, 0x82, 4, 1])]);
  return Buffer.concat([Buffer.from([0x30, body.length]), body]);
}

async function broker(): Promise<void> {
  let frames = 0;
  const listener = {
    opened() {},
    received() {
      frames += 1;
    },
    closed() {},
  };
  const password = (id: string) => (ids.includes(id) ? SECRET : undefined);
  const running = await startBroker({ port: 0, clock: nodeClock(), listener, password });
  process.stdout.write(`port ${running.port}\n`);
  setInterval(() => {
    const { counters } = running.health();
    const mb = Math.round(process.memoryUsage().rss / 2 ** 20);
    process.stdout.write(`seen ${JSON.stringify({ frames, mb, counters })}\n`);
  }, 200).unref();
}

async function plain(): Promise<void> {
  const aedes = await Aedes.createBroker();
  let frames = 0;
  const server = createServer((socket) => void aedes.handle(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const at = typeof address === 'object' && address ? address.port : 0;
  // One topic is listened to; what nobody hears ends at once, inside the call that took it on.
  const gateway = await mqtt.connectAsync(`mqtt://127.0.0.1:${at}`);
  gateway.on('message', () => (frames += 1));
  await gateway.subscribeAsync(topicOf(ids[0] ?? '', 'up'));
  process.stdout.write(`port ${at}\n`);
  setInterval(() => process.stdout.write(`seen ${JSON.stringify({ frames })}\n`), 200).unref();
}

async function flood(): Promise<void> {
  const sockets: Socket[] = [];
  let sent = 0;
  let ended = 0;
  for (const id of ids.slice(0, 10)) {
    const socket = connect({ port: Number(port), host: '127.0.0.1' });
    sockets.push(socket);
    socket.on('error', () => {});
    socket.once('close', () => (ended += 1));
    const many = Buffer.concat(new Array<Buffer>(1_000).fill(publishPacket(id)));
    const push = (): void => {
      for (let free = true; free && !socket.destroyed; ) {
        free = socket.write(many);
        sent += 1_000;
      }
    };
    socket.once('connect', () => {
      socket.write(connectPacket(id));
      socket.once('data', push);
      socket.on('drain', push);
    });
  }
  await new Promise((resolve) => setTimeout(resolve, Number(ms)));
  process.stdout.write(`sent ${sent} ended ${ended}\n`);
  for (const socket of sockets) socket.destroy();
}

if (role === 'broker') await broker();
if (role === 'default') await plain();
if (role === 'flood') await flood();
