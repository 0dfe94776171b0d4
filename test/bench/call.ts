/**
 * A call from the owner's HTTP request to a board's handler and back, beside its parts and beside
 * a bare MQTT request and response over the very same broker.
 */
import { Agent, request } from 'node:http';
import { z } from 'zod';
import { type Report, type Say, type Section, verdict } from './report.js';
import { type Host, startFleet, startHost } from './rig/child.js';
import { withHome } from './rig/home.js';
import { seeds } from './rig/seeds.js';
import { percentile } from './stats.js';

const AIM_P50_MS = 5;
const AIM_P99_MS = 25;
const ROUNDS = 10;
const CALLS = 100;
const CALLERS = 16;
/** About what a CALL and its RESULT are long. */
const ECHO_BYTES = 64;
/** Numbers that the host takes for echoing clients. */
const ECHOES_FROM = 0xec00_0000;

const devicesShape = z.object({
  devices: z.array(z.object({ id: z.string(), online: z.boolean().nullable() })),
});
const answerShape = z.object({ ok: z.literal(true), result: z.unknown() });

/** The owner's side: JSON over connections that are kept. */
class Owner {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CALLERS });

  constructor(
    readonly url: string,
    readonly token: string,
  ) {}

  ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const asked = request(
        `${this.url}${path}`,
        {
          method,
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${this.token}`,
            ...(text === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
          },
        },
        (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.on('error', reject);
          response.on('end', () => {
            const said = Buffer.concat(parts).toString('utf8');
            if (response.statusCode === 200) resolve(JSON.parse(said));
            else reject(new Error(`${method} ${path}: ${response.statusCode} ${said}`));
          });
        },
      );
      asked.on('error', reject);
      asked.end(text);
    });
  }

  /** Milliseconds of one call. */
  async call(deviceId: string): Promise<number> {
    const begin = performance.now();
    const answer = await this.ask('POST', '/api/use-device', {
      action: 'invoke',
      device_id: deviceId,
      prompt: 'status',
    });
    const took = performance.now() - begin;
    answerShape.parse(answer);
    return took;
  }

  /** Devices, once as many as wanted are online. */
  async devices(wanted: number): Promise<string[]> {
    for (let tries = 0; tries < 300; tries++) {
      const { devices } = devicesShape.parse(await this.ask('GET', '/api/devices'));
      const online = devices.filter((device) => device.online);
      if (online.length >= wanted) return online.map((device) => device.id);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`the hub did not come to know ${wanted} boards within 30 s`);
  }

  close(): void {
    this.#agent.destroy();
  }
}

interface Measured {
  boards: number;
  echo: number[];
  disk: number[];
  health: number[];
  gateway: number[];
  call: number[];
  /** With `CALLERS` calls at a time. */
  crowd: number[];
  /** Of those, a second. */
  crowdRate: number;
}

async function rounds(
  host: Host,
  owner: Owner,
  home: string,
  echoId: string,
  boardIds: string[],
  devices: string[],
): Promise<Measured> {
  const all: Measured = {
    boards: boardIds.length,
    echo: [],
    disk: [],
    health: [],
    gateway: [],
    call: [],
    crowd: [],
    crowdRate: 0,
  };
  let crowdMs = 0;
  let at = 0;
  const next = (): string => devices[at++ % devices.length] ?? '';
  for (let round = -1; round < ROUNDS; round++) {
    const echo = await host.ask('echo', { boardId: echoId, times: CALLS, bytes: ECHO_BYTES });
    const disk = await host.ask('disk', { home, times: CALLS });
    const health: number[] = [];
    for (let i = 0; i < CALLS; i++) {
      const begin = performance.now();
      await owner.ask('GET', '/api/health');
      health.push(performance.now() - begin);
    }
    const gateway = await host.ask('call', { boardIds, verb: 'status', times: CALLS });
    const call: number[] = [];
    for (let i = 0; i < CALLS; i++) call.push(await owner.call(next()));
    const crowd: number[] = [];
    const begin = performance.now();
    let left = CALLS * 2;
    const caller = async (): Promise<void> => {
      while (left-- > 0) crowd.push(await owner.call(next()));
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    // The first round warms up what runs but once in a long life.
    if (round < 0) continue;
    crowdMs += performance.now() - begin;
    all.echo.push(...echo);
    all.disk.push(...disk);
    all.health.push(...health);
    all.gateway.push(...gateway);
    all.call.push(...call);
    all.crowd.push(...crowd);
  }
  all.crowdRate = (all.crowd.length / crowdMs) * 1000;
  return all;
}

async function measure(count: number, say: Say): Promise<Measured> {
  return withHome(async (home) => {
    const host = startHost();
    const fleet = startFleet();
    let owner: Owner | undefined;
    try {
      const boards = seeds(count);
      const echo = seeds(1, ECHOES_FROM);
      const echoId = echo[0]?.boardId ?? '';
      const { port, url, token } = await host.ask('start', {
        mode: 'stack',
        home,
        boards: [...boards, ...echo],
      });
      if (url === undefined || token === undefined) throw new Error('the hub did not start');
      owner = new Owner(url, token);
      await fleet.ask('connect', { port, kind: 'board', boards });
      await fleet.ask('connect', { port, kind: 'echo', boards: echo });
      const devices = await owner.devices(count);
      say(`call: ${count} boards are online at the hub`);
      const ids = boards.map(({ boardId }) => boardId);
      return await rounds(host, owner, home, echoId, ids, devices);
    } finally {
      owner?.close();
      await fleet.end();
      await host.end();
    }
  });
}

function rowsOf(m: Measured) {
  const base = percentile(m.echo, 50);
  const base99 = percentile(m.echo, 99);
  const row = (what: string, took: number[]) => ({
    what,
    boards: m.boards,
    p50: percentile(took, 50),
    p99: percentile(took, 99),
    ratio: percentile(took, 50) / base,
    ratio99: percentile(took, 99) / base99,
    rate: null as number | null,
    verdict: null as string | null,
  });
  const met = percentile(m.call, 50) < AIM_P50_MS && percentile(m.call, 99) < AIM_P99_MS;
  return [
    row('bare MQTT pair', m.echo),
    row('a page synced to disk', m.disk),
    row('GET /api/health', m.health),
    row('gateway to board and back', m.gateway),
    { ...row('owner’s HTTP call', m.call), verdict: verdict(met) },
    { ...row(`the same, ${CALLERS} at a time`, m.crowd), rate: m.crowdRate },
  ];
}

async function run(say: Say): Promise<Report> {
  const all = [await measure(1, say), await measure(200, say)];
  return {
    section: 'call',
    title: 'milliseconds from the owner’s POST /api/use-device to a board’s handler and back',
    baseline: 'a bare MQTT request and response over the same broker at the same QoS',
    columns: [
      { key: 'what', title: 'way' },
      { key: 'boards', title: 'boards' },
      { key: 'p50', title: 'p50', digits: 2 },
      { key: 'ratio', title: '×', digits: 1 },
      { key: 'p99', title: 'p99', digits: 2 },
      { key: 'ratio99', title: '×', digits: 1 },
      { key: 'rate', title: 'calls/s' },
      { key: 'verdict', title: '' },
    ],
    rows: all.flatMap(rowsOf),
    aims: all.flatMap((m) => {
      const [p50, p99] = [percentile(m.call, 50), percentile(m.call, 99)];
      const name = `call with ${m.boards} board${m.boards === 1 ? '' : 's'}`;
      return [
        {
          name,
          says: `p50 ${p50.toFixed(2)} ms, aim < ${AIM_P50_MS}`,
          figure: p50,
          met: p50 < AIM_P50_MS,
        },
        {
          name,
          says: `p99 ${p99.toFixed(2)} ms, aim < ${AIM_P99_MS}`,
          figure: p99,
          met: p99 < AIM_P99_MS,
        },
      ];
    }),
    notes: [
      `${ROUNDS} interleaved rounds of ${CALLS} each after one that is not counted; one caller unless said, board after board in turn`,
      'three processes: the owner; hub, relay door, gateway and broker in one, on disk with synchronous=FULL; simulated boards and the echoing client',
      'the pair: the broker’s process publishes, a bare client answers, QoS 1 both ways, 64 bytes',
    ],
  };
}

export const call: Section = { name: 'call', run };
