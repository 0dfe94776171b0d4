import { createServer, type Server, Socket } from 'node:net';
import { Aedes, type AedesPublishPacket, type Client } from 'aedes';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { decodeMessage, decodeValue } from '../../protocol/codec.js';
import { plainFrame, readFrame } from '../../protocol/frame.js';
import { mqttPassword } from '../../protocol/identity.js';
import type { Message } from '../../protocol/messages.js';
import { createSimBoard } from '../create.js';
import { memoryStore } from '../stores.js';
import type { BoardClock } from '../types.js';
import { mqttTransport } from './mqtt.js';

const ID = '00112233445566ff';
const KEY = new Uint8Array(16).fill(9);
const realClock: BoardClock = {
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

interface Broker {
  port: number;
  aedes: Aedes;
  /** What boards published, by topic, in order. */
  published: { topic: string; payload: Uint8Array; qos: number; retain: boolean }[];
  greeted: { id: string; user: string; password: string; clean: boolean }[];
  cut(): void;
  close(): Promise<void>;
}

async function broker(port = 0): Promise<Broker> {
  const aedes = await Aedes.createBroker();
  const published: Broker['published'] = [];
  const greeted: Broker['greeted'] = [];
  aedes.authenticate = (client, user, password, done) => {
    const { id, clean } = client as Client & { clean: boolean };
    greeted.push({ id, user: user ?? '', password: String(password), clean });
    done(null, true);
  };
  aedes.on('publish', (packet: AedesPublishPacket, client) => {
    const { topic, qos, retain } = packet;
    if (!topic.startsWith('mote/')) return;
    if (client || topic.endsWith('/state')) {
      published.push({ topic, payload: Uint8Array.from(packet.payload as Buffer), qos, retain });
    }
  });
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    aedes.handle(socket);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    aedes,
    published,
    greeted,
    cut,
    close: () =>
      new Promise((resolve) => {
        cut();
        aedes.close(() => server.close(() => resolve()));
      }),
  };
}

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function boardOn(at: Broker) {
  const board = createSimBoard({
    model: 'env',
    name: 'Air',
    boardId: ID,
    key: KEY,
    clock: realClock,
    random: Math.random,
    store: memoryStore(6),
    readingsS: 0,
    transport: mqttTransport({
      url: `mqtt://127.0.0.1:${at.port}`,
      key: KEY,
      clock: realClock,
      random: Math.random,
      backoffMs: 20,
    }),
  });
  board.start();
  cleanups.push(() => board.stop());
  return board;
}

function states(at: Broker): unknown[] {
  return at.published
    .filter((p) => p.topic === `mote/${ID}/state`)
    .map((p) => decodeValue(p.payload));
}

function messages(at: Broker): Message[] {
  return at.published
    .filter((p) => p.topic === `mote/${ID}/up`)
    .map((p) => decodeMessage(readFrame(p.payload).body));
}

function say(at: Broker, message: Message, retain = false): void {
  const payload = Buffer.from(plainFrame(message));
  at.aedes.publish(
    { cmd: 'publish', topic: `mote/${ID}/down`, payload, qos: 1, retain, dup: false },
    () => undefined,
  );
}

const WELCOME: Message = {
  type: 'welcome',
  session: 1,
  unixMs: 1_700_000_000_000,
  journalId: Uint8Array.of(1, 2, 3, 4),
  nextCallId: 1,
  nonce: null,
};

function callOf(bootId: number, callId: number): Message {
  return { type: 'call', callId, bootId, verb: 0, args: new Map(), ttlMs: 5_000 };
}

describe('a board over MQTT', () => {
  it('does not let small packets wait for each other', async () => {
    const at = await broker();
    cleanups.push(at.close);
    const prompt = vi.spyOn(Socket.prototype, 'setNoDelay');
    const board = await boardOn(at);
    await vi.waitFor(() => expect(states(at)).toHaveLength(1));
    const ports = prompt.mock.contexts.map((socket) => (socket as Socket).remotePort);
    prompt.mockRestore();
    await board.stop();
    expect(ports).toContain(at.port);
  });

  it('connects as its id with the password of its key, clean, and says its state', async () => {
    const at = await broker();
    cleanups.push(at.close);
    await boardOn(at);
    await vi.waitFor(() => expect(messages(at)[0]?.type).toBe('hello'));
    expect(at.greeted).toEqual([{ id: ID, user: ID, password: mqttPassword(KEY), clean: true }]);
    expect(states(at)).toEqual([[7, 1, 1]]);
    const state = at.published.find((p) => p.topic.endsWith('/state'));
    expect(state).toMatchObject({ qos: 1, retain: true });
    const up = at.published.find((p) => p.topic.endsWith('/up'));
    expect(up).toMatchObject({ qos: 1, retain: false });
  });

  it('runs a call and answers it', async () => {
    const at = await broker();
    cleanups.push(at.close);
    const board = await boardOn(at);
    await vi.waitFor(() => expect(messages(at)).toHaveLength(1));
    say(at, WELCOME);
    say(at, callOf(board.bootId, 1));
    await vi.waitFor(() =>
      expect(messages(at).map((m) => m.type)).toEqual(['hello', 'ack', 'result']),
    );
    expect(messages(at)[2]).toMatchObject({ callId: 1, value: { battery: 97 } });
  });

  it('ignores a retained command', async () => {
    const at = await broker();
    cleanups.push(at.close);
    say(at, WELCOME, true);
    const board = await boardOn(at);
    await vi.waitFor(() => expect(messages(at)).toHaveLength(1));
    say(at, callOf(board.bootId, 1));
    say(at, { type: 'error', code: 'x', message: 'the last word' });
    await vi.waitFor(() => expect(board.session?.counters.gateway_error).toBe(1));
    expect(board.online).toBe(false);
    expect(board.executions).toBe(0);
  });

  it('comes back after a cut with the next connection number; the will names the old one', async () => {
    const at = await broker();
    cleanups.push(at.close);
    const board = await boardOn(at);
    await vi.waitFor(() => expect(messages(at)).toHaveLength(1));
    say(at, WELCOME);
    await vi.waitFor(() => expect(board.online).toBe(true));
    at.cut();
    await vi.waitFor(() => expect(messages(at).filter((m) => m.type === 'hello')).toHaveLength(2));
    await vi.waitFor(() =>
      expect(states(at)).toEqual(
        expect.arrayContaining([
          [7, 1, 1],
          [7, 1, 0],
          [7, 2, 1],
        ]),
      ),
    );
    expect(board.online).toBe(false);
  });

  it('reboots without a word: the will tells, and the new boot starts at connection 1', async () => {
    const at = await broker();
    cleanups.push(at.close);
    const board = await boardOn(at);
    await vi.waitFor(() => expect(messages(at)).toHaveLength(1));
    board.reboot();
    await vi.waitFor(() =>
      expect(states(at)).toEqual(
        expect.arrayContaining([
          [7, 1, 1],
          [7, 1, 0],
          [8, 1, 1],
        ]),
      ),
    );
    await vi.waitFor(() => expect(messages(at).at(-1)).toMatchObject({ type: 'hello', bootId: 8 }));
  });

  it('says that it goes when it is stopped, and comes back no more', async () => {
    const at = await broker();
    cleanups.push(at.close);
    const board = await boardOn(at);
    await vi.waitFor(() => expect(messages(at)).toHaveLength(1));
    await board.stop();
    await vi.waitFor(() => expect(states(at).at(-1)).toEqual([7, 1, 0]));
    expect(at.aedes.connectedClients).toBe(0);
    expect(at.greeted).toHaveLength(1);
  });

  it('outlives a broker that is away for a while', async () => {
    const first = await broker();
    const { port } = first;
    const board = await boardOn(first);
    await vi.waitFor(() => expect(messages(first)).toHaveLength(1));
    await first.close();
    const second = await broker(port);
    cleanups.push(second.close);
    await vi.waitFor(() => expect(messages(second)[0]?.type).toBe('hello'), { timeout: 5_000 });
    expect(board.bootId).toBe(7);
  });
});
