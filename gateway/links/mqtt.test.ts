import { createServer, type Server, Socket } from 'node:net';
import { Aedes } from 'aedes';
import mqtt, { type MqttClient } from 'mqtt';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { nodeClock } from '../node/clock.js';
import { startBroker } from './broker.js';
import { BOARD, OTHER, type Recorder, recorder, SECRET } from './broker-fixture.js';
import { LinkClosed } from './link.js';
import { type MqttLink, type MqttLinkOptions, mqttLink } from './mqtt.js';
import { TEST_TLS } from './tls-fixture.js';
import { encodeState, topicOf } from './topics.js';

/** Somebody else's broker: no rules at all. */
interface Foreign {
  aedes: Aedes;
  server: Server;
  sockets: Set<Socket>;
  port: number;
}

async function foreign(port = 0): Promise<Foreign> {
  const aedes = await Aedes.createBroker();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    aedes.handle(socket);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  return {
    aedes,
    server,
    sockets,
    port: typeof address === 'object' && address ? address.port : 0,
  };
}

async function stop({ aedes, server, sockets }: Foreign): Promise<void> {
  const down = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const socket of sockets) socket.destroy();
  await new Promise<void>((resolve) => aedes.close(resolve));
  await down;
}

let far: Foreign;
let heard: Recorder;
let link: MqttLink;
let peer: MqttClient;
/** Back-off waits that were asked for, in milliseconds; they end at once. */
let waits: number[];

function start(more: Partial<MqttLinkOptions> = {}): MqttLink {
  heard = recorder();
  waits = [];
  const clock = nodeClock();
  return mqttLink({
    url: `mqtt://127.0.0.1:${far.port}`,
    clock: {
      ...clock,
      after: (ms, run) => {
        waits.push(ms);
        return clock.after(Math.min(ms, 20), run);
      },
    },
    listener: heard,
    random: () => 0.5,
    ...more,
  });
}

beforeEach(async () => {
  far = await foreign();
  link = start();
  await link.ready;
  peer = await mqtt.connectAsync(`mqtt://127.0.0.1:${far.port}`, { reconnectPeriod: 0 });
});

afterEach(async () => {
  peer.end(true);
  await link.close();
  await stop(far);
});

const up = (id: string, bytes: Uint8Array | string, retain = false): Promise<unknown> =>
  peer.publishAsync(topicOf(id, 'up'), Buffer.from(bytes as Uint8Array), { qos: 1, retain });

function state(
  id: string,
  bootId: number,
  connection: number,
  online: boolean,
  retain = true,
): Promise<unknown> {
  const payload = Buffer.from(encodeState({ bootId, connection, online }));
  return peer.publishAsync(topicOf(id, 'state'), payload, { qos: 1, retain });
}

/** Everything published before it has been heard. */
async function settled(): Promise<void> {
  const marks = heard.log.filter((line) => line.startsWith(`received ${OTHER} ee`)).length;
  await up(OTHER, new Uint8Array([0xee]));
  await heard.until(`received ${OTHER} ee`, marks + 1);
}

/** What was heard of the board that a test is about. */
const log = (): string[] => heard.log.filter((line) => line.includes(BOARD));

test('small packets to the broker do not wait for each other', async () => {
  const prompt = vi.spyOn(Socket.prototype, 'setNoDelay');
  const another = start();
  await another.ready;
  const ports = prompt.mock.contexts.map((socket) => (socket as Socket).remotePort);
  prompt.mockRestore();
  await another.close();
  expect(ports).toContain(far.port);
});

test('a path opens at the first frame; frames go down at QoS 1, not retained', async () => {
  const got = new Promise<[string, Buffer, { qos: number; retain: boolean }]>((resolve) =>
    peer.once('message', (topic, payload, packet) => resolve([topic, payload, packet])),
  );
  await peer.subscribeAsync(topicOf(BOARD, 'down'), { qos: 1 });
  await up(BOARD, new Uint8Array([0, 7]));
  await heard.until('received');
  expect(heard.log).toEqual([`opened ${BOARD}`, `received ${BOARD} 0007`]);
  const [path] = heard.paths;
  expect(path).toMatchObject({ boardId: BOARD, via: 'mqtt', mustSeal: false });
  path?.send(new Uint8Array([1, 2]));
  const [topic, payload, packet] = await got;
  expect([topic, payload.toString('hex')]).toEqual([topicOf(BOARD, 'down'), '0102']);
  expect(packet).toMatchObject({ qos: 1, retain: false });
  expect(link.health()).toMatchObject({ via: 'mqtt', state: 'up', paths: 1, counters: {} });
});

test('a state of 0 counts only for the present connection; a late will takes nobody offline', async () => {
  await state(BOARD, 5, 1, true);
  await state(BOARD, 5, 2, true);
  await state(BOARD, 5, 1, false);
  await state(BOARD, 4, 9, false);
  await settled();
  expect(log()).toEqual([
    `opened ${BOARD}`,
    `closed ${BOARD} the board connected again`,
    `opened ${BOARD}`,
  ]);
  expect(link.health().counters).toEqual({ stale_offline: 2 });
  await state(BOARD, 5, 2, false);
  await settled();
  expect(log().at(-1)).toBe(`closed ${BOARD} the board went offline`);
});

test('a frame before the state of its connection opens the path that the state then names', async () => {
  await up(BOARD, new Uint8Array([1]));
  await state(BOARD, 5, 1, true);
  await up(BOARD, new Uint8Array([2]));
  await state(BOARD, 5, 1, false);
  await settled();
  expect(log()).toEqual([
    `opened ${BOARD}`,
    `received ${BOARD} 01`,
    `received ${BOARD} 02`,
    `closed ${BOARD} the board went offline`,
  ]);
});

test('what the broker retained: a state names the connection, a frame is ignored and counted', async () => {
  await link.close();
  await state(BOARD, 5, 1, true);
  await up(BOARD, new Uint8Array([1]), true);
  link = start();
  await link.ready;
  await settled();
  expect(log()).toEqual([]);
  expect(link.health().counters).toEqual({ retained_frame: 1 });
  await up(BOARD, new Uint8Array([2]));
  await state(BOARD, 5, 1, false);
  await settled();
  expect(log()).toEqual([
    `opened ${BOARD}`,
    `received ${BOARD} 02`,
    `closed ${BOARD} the board went offline`,
  ]);
});

test('an empty state means "forget"', async () => {
  await state(BOARD, 5, 1, true);
  await peer.publishAsync(topicOf(BOARD, 'state'), Buffer.alloc(0), { qos: 1, retain: true });
  await settled();
  expect(log()).toEqual([
    `opened ${BOARD}`,
    `closed ${BOARD} the board was forgotten at the broker`,
  ]);
  expect(link.health().counters).toEqual({});
});

test('ids are never read leniently', async () => {
  for (const topic of [
    'mote/00000000000000A1/up',
    'mote/00000000000000a/up',
    'mote/00000000000000a11/state',
    'mote//up',
    'mote/ 0000000000000a1/up',
    'mote/lamp 1/up',
  ]) {
    await peer.publishAsync(topic, Buffer.from([1]), { qos: 1 });
  }
  await settled();
  expect(heard.log).toEqual([`opened ${OTHER}`, `received ${OTHER} ee`]);
  expect(link.health().counters).toEqual({ bad_topic: 6 });
});

test('hostile payloads are passed on or counted, and the link stays', async () => {
  const hostile = ['9affffffff', 'c3', '81'.repeat(60_000), 'a1695f5f70726f746f5f5f01'];
  for (const hex of hostile) {
    await up(BOARD, Buffer.from(hex, 'hex'));
    await peer.publishAsync(topicOf(BOARD, 'state'), Buffer.from(hex, 'hex'), { qos: 1 });
  }
  await up(BOARD, new Uint8Array(0));
  await settled();
  expect(log()).toEqual([`opened ${BOARD}`, ...hostile.map((hex) => `received ${BOARD} ${hex}`)]);
  expect(link.health().counters).toEqual({ bad_state: 4, empty_frame: 1 });
});

test('a packet of 200 kB costs the connection, never the memory; the link comes back', async () => {
  await up(BOARD, new Uint8Array([1]));
  await heard.until(`received ${BOARD}`);
  await up(OTHER, new Uint8Array(200_000).fill(0x81));
  await heard.until(`closed ${BOARD} the broker sent a packet that is too large`);
  await expect.poll(() => link.health().state).toBe('up');
  await settled();
  expect(link.health().counters).toEqual({ disconnects: 1 });
});

test('a broker that restarts: every path closes, the subscriptions are made again', async () => {
  await up(BOARD, new Uint8Array([1]));
  await heard.until('received');
  const { port } = far;
  await stop(far);
  await heard.until('closed');
  const [path] = heard.paths;
  expect(() => path?.send(new Uint8Array([1]))).toThrow(LinkClosed);
  expect(link.health()).toMatchObject({ state: 'connecting', paths: 0 });
  // Refused a few times while it is away: half of the wait to all of it, which doubles.
  await expect.poll(() => waits.length).toBeGreaterThanOrEqual(3);
  expect(waits.slice(0, 3)).toEqual([750, 1_500, 3_000]);
  far = await foreign(port);
  await expect.poll(() => link.health().state, { timeout: 5_000 }).toBe('up');
  peer = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0 });
  await up(BOARD, new Uint8Array([2]));
  await heard.until('received', 2);
  expect(log().slice(-2)).toEqual([`opened ${BOARD}`, `received ${BOARD} 02`]);
});

test('one board that is too loud is held to its rate; too many boards are not taken', async () => {
  await link.close();
  link = start({ framesPerS: 0.001, frameBurst: 3, maxPaths: 2 });
  await link.ready;
  for (let i = 0; i < 10; i++) await up(BOARD, new Uint8Array([i]));
  await up('00000000000000c3', new Uint8Array([1]));
  await up(OTHER, new Uint8Array([1]));
  await expect.poll(() => link.health().counters).toEqual({ rate_limited: 7, too_many_boards: 1 });
  expect(log().filter((line) => line.startsWith('received'))).toHaveLength(3);
});

test('two boards with one id are flagged', async () => {
  await state(BOARD, 5, 1, true);
  await state(BOARD, 9, 1, true);
  await state(BOARD, 5, 2, true);
  await state(BOARD, 9, 2, true);
  await settled();
  expect(link.health().counters).toEqual({ duplicate_id: 1 });
});

test('a broker that lets nobody subscribe, or refuses the password, is said and tried again later', async () => {
  await link.close();
  const strict = await startBroker({
    port: 0,
    clock: nodeClock(),
    listener: recorder(),
    password: (id) => (id === BOARD ? SECRET : undefined),
  });
  link = start({ url: strict.url, clientId: BOARD, username: BOARD, password: SECRET });
  await expect.poll(() => link.health().detail).toMatch(/subscribe to mote/);
  await link.close();
  link = start({ url: strict.url, clientId: BOARD, username: BOARD, password: 'wrong' });
  await expect.poll(() => link.health().detail).toMatch(/can’t be used/);
  expect(link.health().detail).not.toContain('wrong');
  expect(link.health().state).toBe('connecting');
  await link.close();
  expect(link.health().state).toBe('down');
  await strict.close();
  link = start();
});

test('over TLS nothing must be sealed; a certificate that is not known is refused', async () => {
  const tls = await startBroker({
    port: 0,
    tls: TEST_TLS,
    clock: nodeClock(),
    listener: recorder(),
    password: () => undefined,
  });
  await link.close();
  // Nobody may subscribe there, but the handshake and the CONNECT answer show which way it went.
  link = start({ url: `mqtts://localhost:${tls.port}` });
  await expect.poll(() => link.health().detail).toMatch(/certificate/);
  await link.close();
  link = start({ url: `mqtts://localhost:${tls.port}`, ca: TEST_TLS.cert });
  await expect.poll(() => link.health().detail).toMatch(/can’t be used: Connection refused/);
  await link.close();
  await tls.close();
  link = start();
});
