/** The hub alone: its mailbox beside bare routes of the same statements, its push, its lists. */
import { openFiles } from './machine.js';
import { type Report, type Say, type Section, verdict } from './report.js';
import type { Child } from './rig/child.js';
import { startHubHost } from './rig/child.js';
import { withHome } from './rig/home.js';
import { Client } from './rig/http.js';
import type { Dialer, HubRequests, Pushed } from './rig/hub-wire.js';
import { percentile } from './stats.js';

const DEVICES = 20;
const CALLERS = 16;
const ROUNDS = 5;
const CYCLES = 300;
const STREAMS = 1_000;
const WARM = 20;
const PUSHES = 300;
const LISTS = 500;
const CLAIMS = 200;
const ROWS: readonly [number, number] = [100, 100_000];
const SPARE_FILES = 200;

type Host = Child<HubRequests>;
type Started = HubRequests['start']['answer'];

interface Server extends Started {
  host: Host;
  client: Client;
}

/** Send, fetch, answer, read: what a prompt costs, without the device's own work. */
async function cycle({ client, token }: Server, dialer: Dialer): Promise<number> {
  const begin = performance.now();
  const path = '/api/devices/relay';
  const payload = { type: 'invoke', prompt: 'status' };
  await client.ask('POST', path, { toDevice: dialer.deviceId, payload }, token);
  const { messages } = await client.ask<{ messages: { id: string }[] }>('PUT', path, dialer);
  const [got] = messages;
  if (!got || messages.length > 1) throw new Error(`${messages.length} envelopes in place of one`);
  const reply = { ...dialer, inReplyTo: got.id, payload: { result: 'ok' } };
  await client.ask('PATCH', path, reply);
  return performance.now() - begin;
}

interface Mailbox {
  took: number[];
  ms: number;
}

/** Each caller has a device of its own. */
async function cycles(server: Server, into: Mailbox): Promise<void> {
  const begin = performance.now();
  let left = CYCLES;
  const caller = async (dialer: Dialer): Promise<void> => {
    while (left-- > 0) into.took.push(await cycle(server, dialer));
  };
  await Promise.all(server.dialers.slice(0, CALLERS).map(caller));
  into.ms += performance.now() - begin;
}

async function timed(times: number, run: () => Promise<unknown>): Promise<number[]> {
  const took: number[] = [];
  for (let i = 0; i < times; i++) {
    const begin = performance.now();
    await run();
    took.push(performance.now() - begin);
  }
  return took;
}

interface Streams {
  count: number;
  /** Bytes for each stream. */
  used: number;
  rss: number;
  push: number[];
}

const STREAM = '/api/gateway/v1/stream';

/** Opens streams; after that `heard` of each is called with what comes. */
async function opened(server: Server, tokens: string[], heard: (i: number) => void) {
  const ends: (() => void)[] = [];
  for (let at = 0; at < tokens.length; at += 50) {
    const some = tokens.slice(at, at + 50).map((token, i) =>
      server.client.stream(STREAM, token, (text) => {
        if (text.includes('event: offer')) heard(at + i);
      }),
    );
    ends.push(...(await Promise.all(some)));
  }
  return ends;
}

/** Memory of `tokens` streams, and what `during` does while they are open. */
async function held<T>(
  server: Server,
  tokens: string[],
  heard: (i: number) => void,
  during: () => Promise<T>,
): Promise<{ used: number; rss: number; value: T }> {
  const warm = await opened(server, tokens.slice(0, WARM), () => {});
  const before = await server.host.ask('memory', {});
  const ends = await opened(server, tokens.slice(WARM), (i) => heard(i + WARM));
  const after = await server.host.ask('memory', {});
  const value = await during();
  for (const end of [...warm, ...ends]) end();
  const each = (bytes: number): number => bytes / (tokens.length - WARM);
  const used = each(after.heap + after.external - before.heap - before.external);
  return { used, rss: each(after.rss - before.rss), value };
}

async function streams(server: Server, boards: Pushed[]): Promise<Streams> {
  let arrived: (i: number) => void = () => {};
  const push = async (): Promise<number[]> => {
    const took: number[] = [];
    for (let i = 0; i < PUSHES; i++) {
      const at = WARM + ((i * 7) % (boards.length - WARM));
      const here = new Promise<void>((resolve) => {
        arrived = (heard) => heard === at && resolve();
      });
      const body = { toDevice: boards[at]?.deviceId, payload: { type: 'invoke', prompt: 'x' } };
      const begin = performance.now();
      const sent = server.client.ask('POST', '/api/devices/relay', body, server.token);
      await here;
      took.push(performance.now() - begin);
      await sent;
    }
    return took;
  };
  const tokens = boards.map((board) => board.token);
  const { value, ...memory } = await held(server, tokens, (i) => arrived(i), push);
  return { count: boards.length, ...memory, push: value };
}

/** A claim by its gateway while others' envelopes fill the mailbox. */
async function claims(server: Server, mine: Pushed, rows: number): Promise<number[]> {
  const deviceId = server.dialers[DEVICES - 1]?.deviceId ?? '';
  await server.host.ask('fill', { rows, deviceId });
  const took: number[] = [];
  for (let i = 0; i < CLAIMS; i++) {
    const body = { toDevice: mine.deviceId, payload: { type: 'invoke', prompt: 'x' } };
    const sent = await server.client.ask<{ id: string }>(
      'POST',
      '/api/devices/relay',
      body,
      server.token,
    );
    const ids = { envelope_ids: [sent.id] };
    const begin = performance.now();
    const { claimed } = await server.client.ask<{ claimed: string[] }>(
      'POST',
      '/api/gateway/v1/claim',
      ids,
      mine.token,
    );
    took.push(performance.now() - begin);
    if (claimed.length !== 1) throw new Error('an envelope could not be claimed');
  }
  return took;
}

async function withServer<T>(
  kind: 'hub' | 'bare',
  run: (server: Server) => Promise<T>,
): Promise<T> {
  return withHome(async (home) => {
    const host = startHubHost();
    let client: Client | undefined;
    try {
      const started = await host.ask('start', { kind, home, devices: DEVICES });
      client = new Client(started.url, CALLERS);
      return await run({ ...started, host, client });
    } finally {
      client?.close();
      await host.end();
    }
  });
}

async function measure(own: Server, bare: Server, say: Say) {
  // What warms up is not counted.
  for (let i = 0; i < 2; i++) {
    await cycles(own, { took: [], ms: 0 });
    await cycles(bare, { took: [], ms: 0 });
  }
  const list = () => own.client.ask('GET', '/api/devices', undefined, own.token);
  await timed(LISTS, list);
  const lists = await timed(LISTS, list);
  const health = await timed(LISTS, () => own.client.ask('GET', '/api/health'));
  const mailbox: Mailbox = { took: [], ms: 0 };
  const base: Mailbox = { took: [], ms: 0 };
  // Turn by turn, so that the machine's drift falls on both.
  for (let round = 0; round < ROUNDS; round++) {
    await cycles(own, mailbox);
    await cycles(bare, base);
  }
  say(`hub: ${mailbox.took.length} mailbox cycles on each server`);
  const count = Math.min(STREAMS, (openFiles() ?? STREAMS + SPARE_FILES) - SPARE_FILES);
  const boards = await own.host.ask('gateways', { count: count + WARM });
  const open = await streams(own, boards);
  const plain = await held(
    bare,
    boards.map((board) => board.token),
    () => {},
    async () => undefined,
  );
  say(`hub: ${count} streams held, ${PUSHES} envelopes pushed`);
  const [mine] = boards;
  if (!mine) throw new Error('no board was registered');
  await claims(own, mine, ROWS[0]);
  const few = await claims(own, mine, ROWS[0]);
  const many = await claims(own, mine, ROWS[1]);
  return { lists, health, mailbox, base, open, plain, few, many };
}

async function run(say: Say): Promise<Report> {
  const m = await withServer('hub', (own) => withServer('bare', (bare) => measure(own, bare, say)));
  const rate = ({ took, ms }: Mailbox): number => (took.length / ms) * 1000;
  const p = (took: number[]) => ({ p50: percentile(took, 50), p99: percentile(took, 99) });
  const row = (what: string, took: number[], base: number[] | undefined) => ({
    what,
    ...p(took),
    ratio: base === undefined ? null : p(took).p50 / p(base).p50,
    ratio99: base === undefined ? null : p(took).p99 / p(base).p99,
    rate: null as number | null,
    kb: null as number | null,
    verdict: null as string | null,
  });
  const speed = rate(m.mailbox) / rate(m.base);
  const tail = p(m.mailbox.took).p99 / p(m.base.took).p99;
  const grown = p(m.many).p50 / p(m.few).p50;
  const kb = (bytes: number): number => bytes / 1000;
  const aims = [
    {
      name: 'mailbox cycles',
      says: `${speed.toFixed(2)}x the bare routes, aim ≥ 1.0x`,
      figure: speed,
      met: speed >= 1,
    },
    {
      name: 'mailbox p99',
      says: `${tail.toFixed(2)}x the bare routes, aim ≤ 1.0x`,
      figure: tail,
      met: tail <= 1,
    },
    {
      name: `claim at ${ROWS[1]} rows`,
      says: `${grown.toFixed(2)}x the time at ${ROWS[0]} rows, aim ≤ 2x`,
      figure: grown,
      met: grown <= 2,
    },
  ];
  return {
    section: 'hub',
    title: 'milliseconds of the hub’s answers, cycles a second, kB of an open stream',
    baseline:
      'the row above each; the first is a bare fastify server with the same statements at synchronous=NORMAL, a transaction for each write',
    columns: [
      { key: 'what', title: 'what' },
      { key: 'p50', title: 'p50', digits: 2 },
      { key: 'ratio', title: '×', digits: 2 },
      { key: 'p99', title: 'p99', digits: 2 },
      { key: 'ratio99', title: '×', digits: 2 },
      { key: 'rate', title: 'cycles/s' },
      { key: 'kb', title: 'kB a stream', digits: 1 },
      { key: 'verdict', title: '' },
    ],
    rows: [
      { ...row('bare: send, fetch, reply', m.base.took, undefined), rate: rate(m.base) },
      {
        ...row('hub: send, fetch, reply', m.mailbox.took, m.base.took),
        rate: rate(m.mailbox),
        verdict: `${speed.toFixed(2)}x, ${verdict(speed >= 1 && tail <= 1)}`,
      },
      row('GET /api/health', m.health, undefined),
      row(`list of ${DEVICES} devices`, m.lists, m.health),
      { ...row('bare: open streams', [0], undefined), p50: null, p99: null, kb: kb(m.plain.used) },
      { ...row(`push, ${m.open.count} streams open`, m.open.push, undefined), kb: kb(m.open.used) },
      row(`claim, ${ROWS[0]} rows wait`, m.few, undefined),
      { ...row(`claim, ${ROWS[1]} rows wait`, m.many, m.few), verdict: verdict(grown <= 2) },
    ],
    aims,
    notes: [
      `three processes: the hub, the bare server, and who asks; the hub on disk with synchronous=FULL and group commit`,
      `mailbox: ${ROUNDS} interleaved rounds of ${CYCLES} cycles after two that are not counted, ${CALLERS} at a time, each with its own device`,
      'push: from the owner’s POST until the offer has come on the stream, one at a time',
      'a stream’s kB: heap and external memory after full collections, its connection included',
    ],
  };
}

export const hub: Section = { name: 'hub', run };
