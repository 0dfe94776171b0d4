import { connect, type Socket } from 'node:net';
import { Aedes, type PublishPacket } from 'aedes';
import type { MqttClient } from 'mqtt';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { nodeClock } from '../node/clock.js';
import { startBroker } from './broker.js';
import {
  asBoard,
  BOARD,
  closing,
  dial,
  OTHER,
  online,
  type Recorder,
  recorder,
  SECRET,
} from './broker-fixture.js';
import type { Broker, BrokerOptions } from './broker-options.js';
import { LinkClosed } from './link.js';
import { TEST_TLS } from './tls-fixture.js';
import { encodeState, topicOf } from './topics.js';

let broker: Broker;
let heard: Recorder;
let lines: string[];
const clients: MqttClient[] = [];

async function start(more: Partial<BrokerOptions> = {}): Promise<void> {
  heard = recorder();
  lines = [];
  broker = await startBroker({
    port: 0,
    clock: nodeClock(),
    listener: heard,
    password: (id) => (id === BOARD || id === OTHER ? SECRET : undefined),
    log: (line, details) => lines.push(`${line} ${JSON.stringify(details)}`),
    ...more,
  });
}

async function board(id: string, bootId: number, connection = 1): Promise<MqttClient> {
  const client = await online(broker.url, id, { bootId, connection });
  clients.push(client);
  return client;
}

beforeEach(() => start());
afterEach(async () => {
  for (const client of clients.splice(0)) client.end(true);
  await broker.close();
});

test('frames go up and down, and the path closes with the connection', async () => {
  const client = await board(BOARD, 1);
  const got = new Promise<Buffer>((resolve) => client.once('message', (_, p) => resolve(p)));
  await client.publishAsync(topicOf(BOARD, 'up'), Buffer.from([0, 1, 2]), { qos: 1 });
  expect(heard.log).toEqual([`opened ${BOARD}`, `received ${BOARD} 000102`]);
  const [path] = heard.paths;
  expect(path).toMatchObject({ boardId: BOARD, via: 'mqtt', mustSeal: false });
  path?.send(new Uint8Array([9, 8]));
  expect((await got).toString('hex')).toBe('0908');
  client.end();
  await heard.until('closed');
  expect(() => path?.send(new Uint8Array([1]))).toThrow(LinkClosed);
  expect(broker.health()).toMatchObject({ via: 'mqtt', state: 'up', paths: 0, counters: {} });
});

test.each([
  ['a wrong password', { password: 'wrong' }, 'bad_credentials'],
  ['no password', { password: undefined }, 'bad_credentials'],
  [
    'a board nobody knows',
    { clientId: 'f'.repeat(16), username: 'f'.repeat(16) },
    'bad_credentials',
  ],
  ['another board’s user name', { username: OTHER }, 'bad_credentials'],
  ['an id in upper case', { clientId: 'A'.repeat(16), username: 'A'.repeat(16) }, 'bad_client_id'],
  ['an id with a wildcard', { clientId: '+', username: '+' }, 'bad_client_id'],
  ['no id', { clientId: '', clean: true }, 'bad_client_id'],
  [
    'a will on another board’s state',
    { will: { topic: topicOf(OTHER, 'state'), payload: Buffer.from([1]), qos: 0, retain: true } },
    'bad_will',
  ],
  [
    'a will on its command topic',
    { will: { topic: topicOf(BOARD, 'down'), payload: Buffer.from([1]), qos: 0, retain: true } },
    'bad_will',
  ],
] as const)('%s is refused and changes nothing', async (_name, options, counter) => {
  await board(BOARD, 1);
  await expect(dial({ ...asBoard(broker.url, BOARD), ...options })).rejects.toThrow();
  expect(broker.health().counters).toEqual({ [counter]: 1 });
  expect(heard.log).toEqual([`opened ${BOARD}`]);
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain(SECRET);
});

test('the reason of a refusal is logged once a minute for each id', async () => {
  for (let i = 0; i < 3; i++) {
    await expect(dial({ ...asBoard(broker.url, BOARD), password: 'x' })).rejects.toThrow();
  }
  expect(broker.health().counters).toEqual({ bad_credentials: 3 });
  expect(lines).toHaveLength(1);
});

/** A CONNECT (MQTT 3.1.1, section 3.1) with any bytes as client id. */
function connectPacket(id: Buffer): Buffer {
  const field = (b: Buffer): Buffer =>
    Buffer.concat([Buffer.from([b.length >> 8, b.length & 255]), b]);
  const body = Buffer.concat([
    field(Buffer.from('MQTT')),
    Buffer.from([4, 0xc2, 0, 30]),
    field(id),
    field(id),
    field(Buffer.from(SECRET)),
  ]);
  return Buffer.concat([Buffer.from([0x10, body.length]), body]);
}

function raw(): Promise<{ socket: Socket; closed: Promise<Buffer> }> {
  const socket = connect({ port: broker.port, host: '127.0.0.1' });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {});
  const closed = new Promise<Buffer>((r) => socket.once('close', () => r(Buffer.concat(chunks))));
  return new Promise((resolve) => socket.once('connect', () => resolve({ socket, closed })));
}

test('a client id of bad bytes gets "identifier rejected"', async () => {
  const { socket, closed } = await raw();
  socket.write(connectPacket(Buffer.from([0xc3, 0x28])));
  expect((await closed).toString('hex')).toBe('20020002');
  expect(broker.health().counters).toEqual({ bad_client_id: 1 });
});

test('a board publishes only on its own topics, and retains only its state', async () => {
  const bystander = await board(OTHER, 1);
  for (const [topic, retain] of [
    [topicOf(OTHER, 'up'), false],
    [topicOf(OTHER, 'state'), true],
    [topicOf(BOARD, 'down'), true],
    [topicOf(OTHER, 'down'), false],
    [topicOf(BOARD, 'up'), true],
    ['mote/x/up', false],
    ['$SYS/any', false],
    [`${topicOf(BOARD, 'up')}/more`, false],
  ] as const) {
    const client = await dial(asBoard(broker.url, BOARD));
    clients.push(client);
    const gone = closing(client);
    client.publish(topic, Buffer.from([1]), { retain });
    await gone;
  }
  expect(broker.health().counters).toMatchObject({ publish_refused: 8 });
  expect(bystander.connected).toBe(true);
  expect(heard.log).toEqual([`opened ${OTHER}`]);
});

test('a board subscribes only to its own down topic', async () => {
  const client = await dial(asBoard(broker.url, BOARD));
  clients.push(client);
  const topics = [
    '#',
    'mote/#',
    'mote/+/down',
    topicOf(OTHER, 'down'),
    topicOf(BOARD, 'up'),
    '$SYS/#',
  ];
  for (const topic of topics) {
    await expect(client.subscribeAsync(topic)).rejects.toThrow();
  }
  expect(broker.health().counters).toEqual({ subscription_refused: topics.length });
  const granted = await client.subscribeAsync(topicOf(BOARD, 'down'), { qos: 1 });
  expect(granted[0]?.qos).toBe(1);
});

test('a large packet ends the connection at its header, before it is gathered', async () => {
  const neighbour = await board(OTHER, 1);
  const client = await board(BOARD, 1);
  const gone = closing(client);
  client.publish(topicOf(BOARD, 'up'), Buffer.alloc(200_000, 0x81));
  await gone;
  await heard.until(`closed ${BOARD}`);
  expect(broker.health().counters).toMatchObject({ too_large: 1 });
  await neighbour.publishAsync(topicOf(OTHER, 'up'), Buffer.from([1]), { qos: 1 });
  expect(heard.log.at(-1)).toBe(`received ${OTHER} 01`);

  // Only the header comes: 256 MB announced, and none of it waited for.
  const { socket, closed } = await raw();
  socket.write(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]));
  expect(await closed).toHaveLength(0);
  // Before it is known a client gets 1 kB.
  const stranger = await raw();
  stranger.socket.write(Buffer.from([0x10, 0x81, 0x08]));
  expect(await stranger.closed).toHaveLength(0);
  expect(broker.health().counters).toMatchObject({ too_large: 3 });
});

test('bytes that are no MQTT end their own connection only', async () => {
  const client = await board(BOARD, 1);
  for (const bytes of ['ff'.repeat(40), '9affffffff', '10ffffffffff', '00', 'c000', '3003000161']) {
    const { socket, closed } = await raw();
    socket.end(Buffer.from(bytes, 'hex'));
    await closed;
  }
  await client.publishAsync(topicOf(BOARD, 'up'), Buffer.from([7]), { qos: 1 });
  expect(heard.log).toEqual([`opened ${BOARD}`, `received ${BOARD} 07`]);
});

test('hostile payloads reach the listener as they are, or are counted; the connection goes on', async () => {
  const client = await board(BOARD, 1);
  const hostile = ['9affffffff', 'a2000100016a', '81'.repeat(60_000), 'c3', '1b0020000000000000'];
  for (const hex of hostile) {
    await client.publishAsync(topicOf(BOARD, 'up'), Buffer.from(hex, 'hex'), { qos: 1 });
    await client.publishAsync(topicOf(BOARD, 'state'), Buffer.from(hex, 'hex'), { qos: 1 });
  }
  await client.publishAsync(topicOf(BOARD, 'up'), Buffer.alloc(0), { qos: 1 });
  expect(heard.log).toEqual([
    `opened ${BOARD}`,
    ...hostile.map((hex) => `received ${BOARD} ${hex}`),
  ]);
  expect(broker.health().counters).toEqual({ bad_state: 5, empty_frame: 1 });
});

test('a listener that throws is counted and ends nothing', async () => {
  await broker.close();
  await start({
    listener: {
      opened() {},
      received() {
        throw new Error('no');
      },
      closed() {},
    },
  });
  const client = await board(BOARD, 1);
  await client.publishAsync(topicOf(BOARD, 'up'), Buffer.from([1]), { qos: 1 });
  expect(client.connected).toBe(true);
  expect(broker.health().counters).toEqual({ listener_error: 1 });
});

test('a board that reboots takes over; the old connection’s will takes nothing offline', async () => {
  const before = await board(BOARD, 1);
  const gone = closing(before);
  await board(BOARD, 2);
  await gone;
  await heard.until(`opened ${BOARD}`, 2);
  expect(heard.log).toEqual([
    `opened ${BOARD}`,
    `closed ${BOARD} the board connected again`,
    `opened ${BOARD}`,
  ]);
  expect(broker.health()).toMatchObject({ paths: 1, counters: { takeovers: 1 } });
});

test('a state of 0 on the topic takes nobody offline; the end of the connection does', async () => {
  const client = await board(BOARD, 1);
  const off = Buffer.from(encodeState({ bootId: 1, connection: 1, online: false }));
  await client.publishAsync(topicOf(BOARD, 'state'), off, { qos: 1, retain: true });
  expect(broker.health().paths).toBe(1);
  client.stream.destroy();
  await heard.until(`closed ${BOARD}`);
  expect(broker.health().paths).toBe(0);
});

test('two boards that push each other out: the newest is held, the other refused for a while', async () => {
  let ahead = 0;
  await broker.close();
  const clock = nodeClock();
  await start({ clock: { ...clock, now: () => clock.now() + ahead } });
  await board(BOARD, 5);
  await board(BOARD, 9);
  await board(BOARD, 5, 2);
  const held = await board(BOARD, 9, 2);
  expect(broker.health().counters).toMatchObject({ takeovers: 3, duplicate_id: 1 });
  await expect(board(BOARD, 5, 3)).rejects.toThrow(/unavailable/i);
  expect(held.connected).toBe(true);
  expect(broker.health()).toMatchObject({ paths: 1, counters: { duplicate_refused: 1 } });
  // The held board itself may come again, and after ten seconds the other may too.
  await board(BOARD, 9, 3);
  ahead = 11_000;
  await board(BOARD, 5, 3);
  expect(broker.health().counters).toMatchObject({ takeovers: 5, duplicate_id: 1 });
});

test('a board that does not read is let go, and its neighbours are served', async () => {
  await broker.close();
  await start({ limits: { maxQueued: 100_000 } });
  const slow = await board(BOARD, 1);
  const quick = await board(OTHER, 1);
  const got = new Promise<Buffer>((resolve) => quick.once('message', (_, p) => resolve(p)));
  slow.stream.pause();
  const path = heard.paths.find((p) => p.boardId === BOARD);
  const flood = (): void => {
    for (let i = 0; i < 10_000; i++) path?.send(new Uint8Array(4_000));
  };
  expect(flood).toThrow(LinkClosed);
  expect(heard.log.at(-1)).toBe(`closed ${BOARD} the board does not read`);
  heard.paths.find((p) => p.boardId === OTHER)?.send(new Uint8Array([5]));
  expect((await got).toString('hex')).toBe('05');
  expect(broker.health().counters).toMatchObject({ slow_reader: 1 });
});

test('acknowledging what it was sent costs a board nothing of its rate; other acknowledgements do', async () => {
  await broker.close();
  await start({ limits: { messagesPerS: 1, messageBurst: 10 } });
  const client = await board(BOARD, 1);
  let got = 0;
  client.on('message', () => (got += 1));
  for (let i = 0; i < 30; i++) heard.paths[0]?.send(new Uint8Array([i]));
  await expect.poll(() => got).toBe(30);
  // It stands behind the thirty PUBACKs, and does not wait.
  await client.publishAsync(topicOf(BOARD, 'up'), Buffer.from([1]), { qos: 1 });
  expect(broker.health().counters).toEqual({});
  client.stream.write(Buffer.from('40020001'.repeat(30), 'hex'));
  await expect.poll(() => broker.health().counters).toMatchObject({ throttled: 1 });
});

test('a subscription does not walk what other boards have retained', async () => {
  await broker.close();
  const made = vi.spyOn(Aedes, 'createBroker');
  await start();
  const aedes = (await made.mock.results[0]?.value) as Aedes;
  made.mockRestore();
  const { persistence } = aedes as unknown as {
    persistence: { createRetainedStreamCombi(patterns: string[]): unknown };
  };
  const walk = vi.spyOn(Object.getPrototypeOf(persistence), 'createRetainedStreamCombi');
  await board(OTHER, 1);
  await board(BOARD, 1);
  expect(walk).not.toHaveBeenCalled();
  walk.mockRestore();
});

test('connections over the bound are turned away and counted', async () => {
  await broker.close();
  await start({ limits: { maxConnections: 1, maxWaiting: 5 } });
  const client = await board(BOARD, 1);
  const rest = await Promise.all([raw(), raw()]);
  await Promise.all(rest.map((each) => each.closed));
  expect(broker.health().counters).toEqual({ too_many_connections: 2 });
  expect(client.connected).toBe(true);
});

/** What the broker would tell a new subscriber, as `topic hex`. */
async function retained(aedes: Aedes): Promise<string[]> {
  const { persistence } = aedes as unknown as {
    persistence: { createRetainedStream(pattern: string): AsyncIterable<PublishPacket> };
  };
  const found: string[] = [];
  for await (const packet of persistence.createRetainedStream('#')) {
    found.push(`${packet.topic} ${Buffer.from(packet.payload).toString('hex')}`);
  }
  return found;
}

test('forgetting a board ends its connection and clears its retained state; a will stays behind', async () => {
  await broker.close();
  const made = vi.spyOn(Aedes, 'createBroker');
  await start();
  const aedes = (await made.mock.results[0]?.value) as Aedes;
  made.mockRestore();
  const first = await board(BOARD, 1);
  const replaced = closing(first);
  const client = await board(BOARD, 2);
  await replaced;
  // The old connection's will came before the new one's state, or not at all.
  expect(await retained(aedes)).toEqual([`${topicOf(BOARD, 'state')} 83020101`]);
  client.stream.destroy();
  await heard.until(`closed ${BOARD} the connection was lost`);
  await expect.poll(() => retained(aedes)).toEqual([`${topicOf(BOARD, 'state')} 83020100`]);
  const again = await board(BOARD, 3);
  const gone = closing(again);
  await broker.forget(BOARD);
  await gone;
  expect(heard.log.at(-1)).toBe(`closed ${BOARD} the board was removed`);
  await expect.poll(() => retained(aedes)).toEqual([]);
});

test('closing tells every path and is quick with boards connected', async () => {
  await board(BOARD, 1);
  const began = performance.now();
  await broker.close();
  expect(performance.now() - began).toBeLessThan(500);
  expect(heard.log.at(-1)).toBe(`closed ${BOARD} the link is closing`);
  expect(broker.health().state).toBe('down');
});

test('over TLS a board connects as ever, and plain bytes there end their own connection', async () => {
  await broker.close();
  await start({ tls: TEST_TLS });
  const { socket, closed } = await raw();
  socket.write(connectPacket(Buffer.from(BOARD)));
  await closed;
  const client = await dial({
    ...asBoard(broker.url, BOARD),
    protocol: 'mqtts',
    hostname: 'localhost',
    ca: TEST_TLS.cert,
  });
  clients.push(client);
  await client.publishAsync(topicOf(BOARD, 'up'), Buffer.from([3]), { qos: 1 });
  expect(heard.log).toEqual([`opened ${BOARD}`, `received ${BOARD} 03`]);
  expect(heard.paths[0]?.mustSeal).toBe(false);
  expect(broker.url).toMatch(/^mqtts:/);
  expect(broker.health().counters).toEqual({ tls_error: 1 });
});

test('a port that is taken is said, and nothing stays open', async () => {
  await expect(start({ port: broker.port })).rejects.toThrow(/EADDRINUSE/);
});
