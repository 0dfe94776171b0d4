/** The process that is measured: the embedded broker, alone or with the gateway and the hub. */
import { fdatasyncSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { createGateway, type Gateway } from '../../../gateway/core/gateway.js';
import type { Journal } from '../../../gateway/core/journal.js';
import type { Path, PathListener } from '../../../gateway/core/types.js';
import { createRelayDoor } from '../../../gateway/doors/relay/index.js';
import { startBroker } from '../../../gateway/links/broker.js';
import type { Broker } from '../../../gateway/links/broker-options.js';
import { openBlobStore } from '../../../gateway/node/blobs.js';
import { openBoardBook } from '../../../gateway/node/boards.js';
import { nodeClock } from '../../../gateway/node/clock.js';
import { httpFetch } from '../../../gateway/node/http-fetch.js';
import { openJournal } from '../../../gateway/node/journal.js';
import { createHub } from '../../../hub/index.js';
import { fromHex, mqttPassword } from '../../../protocol/identity.js';
import { openSecrets } from '../../../store/secrets.js';
import { collected } from './collected.js';
import { type HostRequests, serve } from './wire.js';

const clock = nodeClock();
const paths = new Map<string, Path>();
const echoes = new Map<string, () => void>();
const stops: (() => Promise<unknown> | unknown)[] = [];
let broker: Broker | undefined;
let gateway: Gateway | undefined;
let frames = 0;

/** What bare clients speak to; frames of echoing ones never reach a gateway. */
const listener: PathListener = {
  opened(path) {
    paths.set(path.boardId, path);
    if (!isEcho(path)) gateway?.opened(path);
  },
  received(path, frame) {
    frames++;
    if (isEcho(path)) echoes.get(path.boardId)?.();
    else gateway?.received(path, frame);
  },
  closed(path, reason) {
    if (paths.get(path.boardId) === path) paths.delete(path.boardId);
    if (!isEcho(path)) gateway?.closed(path, reason);
  },
};

/** Boards numbered from 0xec000000 on only echo. */
function isEcho(path: Path): boolean {
  return path.boardId.startsWith('beec0000ec');
}

async function start({
  mode,
  home,
  boards,
}: HostRequests['start']['ask']): Promise<HostRequests['start']['answer']> {
  const keys = new Map(boards.map(({ boardId, key }) => [boardId, key]));
  let password = (boardId: string): string | undefined => {
    const key = keys.get(boardId);
    return key === undefined ? undefined : mqttPassword(fromHex(key));
  };
  let hub: { url: string; token: string } | undefined;
  if (mode !== 'broker') {
    const journal = await openJournal(join(home, 'journal.db'));
    const secrets = await openSecrets(join(home, 'secrets.key'));
    const blobs = await openBlobStore(join(home, 'blobs'));
    const book = openBoardBook({ journal, secrets });
    for (const { boardId, key } of boards) {
      await book.add(`air ${boardId}`, { boardId, key: fromHex(key) });
    }
    password = (boardId) => book.password(boardId);
    gateway = createGateway({ clock, journal, blobs, keyOf: async (id) => book.key(id) });
    const made = gateway;
    if (mode === 'stack') hub = await startHub(home, made, journal, blobs);
    stops.push(
      () => made.stop(),
      () => journal.close(),
    );
  }
  broker = await startBroker({
    port: 0,
    clock,
    listener,
    password,
    // A whole fleet comes at once here, and one board is called as fast as it answers (what it
    // publishes would be held to 200 a second): the bounds are not what is measured.
    limits: {
      connectsPerS: 5_000,
      connectBurst: 5_000,
      messagesPerS: 100_000,
      messageBurst: 100_000,
    },
  });
  const made = broker;
  stops.unshift(() => made.close());
  return { port: made.port, ...hub };
}

async function startHub(
  home: string,
  switchboard: Gateway,
  journal: Journal,
  blobs: Parameters<typeof createRelayDoor>[0]['blobs'],
): Promise<{ url: string; token: string }> {
  const hub = await createHub({
    home: join(home, 'hub'),
    // The bench asks as fast as it is answered.
    limits: { ownerPerMinute: 1e9, addressPerMinute: 1e9 },
  });
  const owner = await hub.bootstrap();
  if (!owner) throw new Error('this hub has an owner already');
  const { url } = await hub.listen({ port: 0 });
  const { gateway_token } = await hub.enrolGateway(owner.ownerId, 'bench');
  const http = httpFetch();
  const door = createRelayDoor({
    fetch: http.fetch,
    switchboard,
    journal,
    ...(blobs ? { blobs } : {}),
    hub: { url, gatewayToken: gateway_token },
    clock,
    random: Math.random,
  });
  door.start();
  stops.push(
    () => door.stop(),
    () => http.close(),
    () => hub.close(),
  );
  return { url, token: owner.token };
}

async function echo({ boardId, times, bytes }: HostRequests['echo']['ask']): Promise<number[]> {
  const frame = new Uint8Array(bytes);
  const took: number[] = [];
  for (let i = 0; i < times; i++) {
    const path = paths.get(boardId);
    if (!path) throw new Error(`${boardId} is not connected`);
    const begin = performance.now();
    await new Promise<void>((resolve) => {
      echoes.set(boardId, resolve);
      path.send(frame);
    });
    took.push(performance.now() - begin);
  }
  return took;
}

async function call({ boardIds, verb, times }: HostRequests['call']['ask']): Promise<number[]> {
  const took: number[] = [];
  for (let i = 0; i < times; i++) {
    const boardId = boardIds[i % boardIds.length];
    if (!gateway || boardId === undefined) throw new Error('there is no gateway to call');
    const begin = performance.now();
    const outcome = await gateway.call({ boardId, verb, args: {}, ttlMs: 10_000 });
    took.push(performance.now() - begin);
    if (outcome.kind !== 'ok') throw new Error(`a call ended as ${JSON.stringify(outcome)}`);
  }
  return took;
}

/** A page appended and synced, as a commit does at least once. */
async function disk(home: string, times: number): Promise<number[]> {
  const file = await open(join(home, 'sync.bin'), 'a');
  try {
    const took: number[] = [];
    for (let i = 0; i < times; i++) {
      const begin = performance.now();
      writeSync(file.fd, page);
      fdatasyncSync(file.fd);
      took.push(performance.now() - begin);
    }
    return took;
  } finally {
    await file.close();
  }
}

const page = Buffer.alloc(4_096, 7);
const inspector = new Session();

async function profile(begin: boolean): Promise<string> {
  if (begin) {
    inspector.connect();
    await inspector.post('Profiler.enable');
    await inspector.post('Profiler.setSamplingInterval', { interval: 500 });
    await inspector.post('Profiler.start');
    return '';
  }
  const { profile: made } = await inspector.post('Profiler.stop');
  inspector.disconnect();
  return JSON.stringify(made);
}

serve<HostRequests>({
  start,
  counts: () => ({
    paths: paths.size,
    online: gateway?.boards().filter((board) => board.presence.state === 'online').length ?? 0,
    frames,
    counters: broker?.health().counters ?? {},
  }),
  memory: collected,
  cpu() {
    const { user, system } = process.cpuUsage();
    return { us: user + system, at: performance.now() };
  },
  echo,
  call,
  disk: ({ home, times }) => disk(home, times),
  profile: ({ begin }) => profile(begin),
  async stop() {
    for (const stop of stops) await stop();
    return null;
  },
});
