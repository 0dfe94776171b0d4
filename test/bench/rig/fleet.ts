/** A process full of clients: bare MQTT ones, echoing ones, or simulated boards. */
import { connect, type MqttClient } from 'mqtt';
import { createSimBoard } from '../../../device-sim/create.js';
import { memoryStore } from '../../../device-sim/stores.js';
import { mqttTransport } from '../../../device-sim/transports/mqtt.js';
import { nodeClock } from '../../../gateway/node/clock.js';
import { encodeValue } from '../../../protocol/codec.js';
import { plainFrame } from '../../../protocol/frame.js';
import { fromHex, mqttPassword } from '../../../protocol/identity.js';
import { type BoardSeed, type FleetRequests, serve } from './wire.js';

/** Connections under way at once: a gateway is not the place where a storm is measured. */
const AT_ONCE = 64;

const clock = nodeClock();
const bare: { boardId: string; client: MqttClient; readyAt: number }[] = [];
const stops: (() => Promise<void> | void)[] = [];
const timers: NodeJS.Timeout[] = [];

function connectBare(
  port: number,
  seed: BoardSeed,
  kind: 'bare' | 'stating' | 'echo',
): Promise<void> {
  const { boardId, key } = seed;
  const topic = `mote/${boardId}/state`;
  const state = (online: 0 | 1): Buffer => Buffer.from(encodeValue([1, 1, online]));
  const client = connect(`mqtt://127.0.0.1:${port}`, {
    clientId: boardId,
    username: boardId,
    password: mqttPassword(fromHex(key)),
    clean: true,
    reconnectPeriod: 0,
    keepalive: 30,
    ...(kind === 'bare' ? {} : { will: { topic, payload: state(0), qos: 1, retain: true } }),
  });
  stops.push(() => void client.end(true));
  if (kind === 'echo') {
    client.on('message', (_topic, payload) =>
      client.publish(`mote/${boardId}/up`, payload, { qos: 1 }),
    );
  }
  return new Promise((resolve, reject) => {
    const ready = (): void => {
      bare.push({ boardId, client, readyAt: performance.now() });
      resolve();
    };
    const said = (): void => {
      if (kind === 'bare') ready();
      else client.publish(topic, state(1), { qos: 1, retain: true }, ready);
    };
    client.once('error', reject);
    client.once('connect', () => {
      client.subscribe(`mote/${boardId}/down`, { qos: 1 }, (error) =>
        error ? reject(error) : said(),
      );
    });
  });
}

function connectBoard(port: number, seed: BoardSeed, number: number): Promise<void> {
  let x = number * 2_654_435_761;
  const random = (): number => {
    x = (Math.imul(x, 1_664_525) + 1_013_904_223) >>> 0;
    return x / 2 ** 32;
  };
  const key = fromHex(seed.key);
  const trouble: string[] = [];
  const board = createSimBoard({
    boardId: seed.boardId,
    model: 'env',
    name: `air-${number}`,
    key,
    transport: mqttTransport({
      url: `mqtt://127.0.0.1:${port}`,
      key,
      clock,
      random,
      onTrouble: (why) => trouble.push(why),
    }),
    clock,
    store: memoryStore(),
    random,
    // Beats only: what a sensor sends beyond them is its owner's choice.
    readingsS: 0,
  });
  stops.push(() => board.stop());
  board.start();
  return new Promise((resolve, reject) => {
    const give = setTimeout(() => {
      clearInterval(poll);
      reject(new Error(`${seed.boardId} was not welcomed: ${trouble.join('; ') || 'no answer'}`));
    }, 60_000);
    const poll = setInterval(() => {
      if (!board.online) return;
      clearInterval(poll);
      clearTimeout(give);
      resolve();
    }, 5);
  });
}

async function connectAll(ask: FleetRequests['connect']['ask']): Promise<{ ms: number }> {
  const start = performance.now();
  const queue = ask.boards.map((seed, i) => [seed, i] as const);
  const worker = async (): Promise<void> => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const [seed, i] = next;
      if (ask.kind === 'board') await connectBoard(ask.port, seed, i);
      else await connectBare(ask.port, seed, ask.kind);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { ms: performance.now() - start };
}

/** As boards do: each at its own time after it came. */
function beat(everyS: number): null {
  const now = performance.now();
  const everyMs = everyS * 1000;
  for (const { boardId, client, readyAt } of bare) {
    const send = (): void => {
      const uptimeS = Math.round((performance.now() - readyAt) / 1000);
      const frame = Buffer.from(plainFrame({ type: 'beat', uptimeS }));
      client.publish(`mote/${boardId}/up`, frame, { qos: 1 });
    };
    const first = everyMs - ((now - readyAt) % everyMs);
    const timer = setTimeout(() => {
      send();
      timers.push(setInterval(send, everyMs));
    }, first);
    timers.push(timer);
  }
  return null;
}

serve<FleetRequests>({
  connect: connectAll,
  beat: ({ everyS }) => beat(everyS),
  async stop() {
    for (const timer of timers) clearTimeout(timer);
    await Promise.all(stops.map((stop) => stop()));
    return null;
  },
});
