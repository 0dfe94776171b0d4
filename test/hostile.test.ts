/**
 * A board that was given an identity and turns hostile, against the whole stack: what it sends on
 * every topic is its own loss, and boards beside it notice nothing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mqtt, { type MqttClient } from 'mqtt';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configShape } from '../cli/board-admin.js';
import type { BoardConfig } from '../cli/board-config.js';
import { HubClient } from '../cli/client.js';
import { type Stack, startStack } from '../cli/stack.js';
import { createSimBoard, memoryStore, mqttTransport } from '../device-sim/index.js';
import type { Gateway } from '../gateway/index.js';
import { nodeClock } from '../gateway/node/clock.js';
import { plainFrame } from '../protocol/frame.js';
import { boardIdBytes, fromHex } from '../protocol/identity.js';
import type { Message } from '../protocol/messages.js';

const home = mkdtempSync(join(tmpdir(), 'motebridge-hostile-'));
let stack: Stack;
let gateway: Gateway;
/** What a frame made the gateway throw. */
const thrown: unknown[] = [];
let hub: HubClient;
let mallory: BoardConfig;
/** Boards whose presence changed since the last look. */
const moved = new Set<string>();

beforeAll(async () => {
  stack = await startStack({
    home,
    hub: { host: '127.0.0.1', port: 0 },
    broker: { host: '127.0.0.1', port: 0 },
    sims: [{ kind: 'env', name: 'env' }],
    between: {
      listener(inner) {
        gateway = inner as Gateway;
        return {
          opened: (path) => inner.opened(path),
          closed: (path, reason) => inner.closed(path, reason),
          received(path, frame) {
            try {
              inner.received(path, frame);
            } catch (error) {
              thrown.push(error);
            }
          },
        };
      },
    },
  });
  hub = new HubClient({ url: stack.url, token: stack.token });
  expect(await stack.simsReady(15_000)).toBe(true);
  mallory = configShape.parse(await stack.admin.ask({ op: 'add', name: 'mallory' }));
  stack.onPresence((board) => moved.add(board.id));
});
afterAll(async () => {
  await stack?.stop();
  rmSync(home, { recursive: true, force: true });
});

const env = (): string => stack.boards().find((b) => b.id !== mallory.boardId)?.id ?? '';
const status = () =>
  hub.useDevice({
    action: 'invoke',
    device_id: 'env',
    prompt: 'status',
    wait: true,
    timeout_ms: 10_000,
  });

/** Rejects where it is refused. */
function dial(id: string, password: string): Promise<MqttClient> {
  const { host, port } = mallory.mqtt;
  const at = { host, port, clientId: id, username: id, password, reconnectPeriod: 0 };
  const client = mqtt.connect(at);
  client.on('error', () => client.end(true));
  return new Promise((done, fail) => {
    client.once('connect', () => done(client));
    client.once('close', () => fail(new Error('refused')));
  });
}

/** Publishes; resolves when the broker has taken it, or has ended the connection for it. */
async function publish(topic: string, bytes: Uint8Array, retain = false): Promise<'taken' | 'cut'> {
  const client = await dial(mallory.boardId, mallory.mqtt.password);
  const cut = new Promise<'cut'>((done) => client.once('close', () => done('cut')));
  const sent = client.publishAsync(topic, Buffer.from(bytes), { qos: 1, retain });
  const end = await Promise.race([
    sent.then(
      () => 'taken' as const,
      () => 'cut' as const,
    ),
    cut,
  ]);
  client.end(true);
  return end;
}

const hello = (): Message => ({
  type: 'hello',
  version: 1,
  boardId: boardIdBytes(mallory.boardId),
  bootId: 7,
  nonce: null,
  capsHash: new Uint8Array(8),
});

function hostile(): Uint8Array[] {
  let seed = 20_260_103;
  const next = (): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return seed >> 16;
  };
  const whole = plainFrame(hello());
  const hex = [
    '9affffffff',
    '009affffffff',
    '0082049affffffff',
    '0082181ea201000100',
    '0083181ea1695f5f70726f746f5f5f0101',
    'a1695f5f70726f746f5f5f01',
    '00820461ff',
    'c328',
    '0082041bffffffffffffffff',
    '0082043bffffffffffffffff',
    '831bffffffffffffffff0101',
    // Of seals, where nothing was greeted.
    `01${'00'.repeat(16)}`,
    `02${'ff'.repeat(40)}`,
    '01',
  ];
  return [
    ...hex.map(fromHex),
    ...Array.from({ length: 20 }, (_, i) => new Uint8Array(i + 1).map(next)),
    ...Array.from({ length: whole.length - 1 }, (_, i) => whole.slice(0, i + 1)),
    new Uint8Array(60_000).fill(0x81),
  ];
}

async function noticedNothing(): Promise<void> {
  expect(await status()).toMatchObject({ ok: true, result: { temperature: expect.any(Number) } });
  expect(moved.has(env())).toBe(false);
}

/** How often each fate of its frames was counted. */
function fates(): { frames: number; refused: number } {
  const counters = gateway.guard(mallory.boardId)?.counters ?? {};
  const refused = Object.entries(counters).filter(([name]) => /^(bad|ignored|shed)\./.test(name));
  return { frames: counters.frames ?? 0, refused: refused.reduce((sum, [, n]) => sum + n, 0) };
}

test('any bytes on its own topics are counted and dropped, or cost it the connection', {
  timeout: 60_000,
}, async () => {
  const client = await dial(mallory.boardId, mallory.mqtt.password);
  const { up, state } = mallory.mqtt.topics;
  const frames = hostile();
  for (const bytes of frames) {
    for (const topic of [up, state]) {
      await client.publishAsync(topic, Buffer.from(bytes), { qos: 0 });
    }
  }
  // In order, so everything before has been read when this is acknowledged; it is no frame.
  await client.publishAsync(up, Buffer.alloc(0), { qos: 1 });
  client.end(true);
  expect(fates()).toEqual({ frames: frames.length, refused: frames.length });
  expect(gateway.guard(mallory.boardId)?.quarantine.length).toBeGreaterThan(0);
  expect(thrown).toEqual([]);
  for (const topic of [mallory.mqtt.topics.up, mallory.mqtt.topics.state]) {
    expect(await publish(topic, new Uint8Array(200_000).fill(0x81))).toBe('cut');
  }
  await noticedNothing();
});

test('a topic that is not its own, and a retained command, end its connection', async () => {
  const state = new Uint8Array([0x83, 1, 1, 0]);
  const foreign = ['up', 'down', 'state'].map((leaf) => `mote/${env()}/${leaf}`);
  for (const topic of [...foreign, 'mote/x/up', 'mote', 'other/topic']) {
    for (const bytes of [state, new Uint8Array(0), fromHex('9affffffff')]) {
      expect([topic, await publish(topic, bytes)]).toEqual([topic, 'cut']);
    }
  }
  expect(await publish(mallory.mqtt.topics.down, state, true)).toBe('cut');
  expect(await publish(mallory.mqtt.topics.up, plainFrame(hello()), true)).toBe('cut');
  await noticedNothing();
});

test('a flood of greetings is shed, and answered a few times', async () => {
  const { up, down } = mallory.mqtt.topics;
  const client = await dial(mallory.boardId, mallory.mqtt.password);
  await client.subscribeAsync(down);
  let answers = 0;
  client.on('message', () => (answers += 1));
  const frame = Buffer.from(plainFrame(hello()));
  for (let i = 0; i < 300; i += 1) client.publish(up, frame, { qos: 0 });
  // In order, so everything before has been read when this is acknowledged.
  await client.publishAsync(up, frame, { qos: 1 });
  await noticedNothing();
  expect(answers).toBeGreaterThan(0);
  expect(answers).toBeLessThanOrEqual(10);
  client.end(true);
});

test('whoever has the id and not the key changes nothing, while a call runs either', async () => {
  const answer = status();
  for (const password of ['', 'x', mallory.mqtt.password]) {
    await expect(dial(env(), password)).rejects.toThrow('refused');
  }
  expect(await answer).toMatchObject({ ok: true });
  await noticedNothing();
});

test('with manners again it is a board like any other, and a second with its key takes over', {
  timeout: 60_000,
}, async () => {
  const { host, port } = mallory.mqtt;
  const board = () => {
    const key = fromHex(mallory.key);
    const common = { key, clock: nodeClock(), random: Math.random };
    return createSimBoard({
      model: 'env',
      name: 'mallory',
      boardId: mallory.boardId,
      ...common,
      store,
      transport: mqttTransport({ ...common, url: `mqtt://${host}:${port}` }),
    });
  };
  const store = memoryStore();
  const call = () =>
    hub.useDevice({
      action: 'invoke',
      device_id: 'mallory',
      prompt: 'status',
      wait: true,
      timeout_ms: 10_000,
    });
  const first = board();
  first.start();
  await expect.poll(async () => (await call()).ok, { timeout: 50_000 }).toBe(true);
  const { executions } = first;
  const second = board();
  second.start();
  // Until the second runs it, and from then on not the first.
  await expect
    .poll(async () => (await call()).ok && second.executions > 0, { timeout: 50_000 })
    .toBe(true);
  expect(executions).toBeGreaterThan(0);
  await Promise.all([first.stop(), second.stop()]);
  await noticedNothing();
});
