/**
 * The process of hub, gateway and broker is ended by SIGKILL while calls run, again and again.
 * The boards live outside it and count what they run (amendment 29).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  createSimBoard,
  type Model,
  memoryStore,
  mqttTransport,
  type SimBoard,
} from '../../device-sim/index.js';
import { nodeClock } from '../../gateway/node/clock.js';
import { fromHex } from '../../protocol/identity.js';

const KILLS = 10;
const CALLS_PER_KILL = 12;
const home = mkdtempSync(join(tmpdir(), 'motebridge-kill-'));
const main = join(import.meta.dirname, '../../dist/cli/main.js');
const runs = new Map<number, number>();
const boards: SimBoard[] = [];
let child: ChildProcess | undefined;

/** Seeded, so that a failure can be repeated. */
let seed = 20_260_101;
const random = (): number => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
  return seed / 0x8000_0000;
};

const counting: Model = () => ({
  name: 'counter',
  platform: 'test',
  firmware: '1',
  verbs: [
    {
      name: 'mark',
      signature: 'n:i0..1000000',
      description: 'Counts that it ran.',
      run: ({ n }) => {
        runs.set(Number(n), (runs.get(Number(n)) ?? 0) + 1);
        return Number(n);
      },
    },
  ],
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise<void>((done) => server.close(() => done()));
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return address.port;
}

function run(...args: string[]): Promise<string> {
  return new Promise((done, fail) => {
    const made = spawn(process.execPath, [main, ...args, '--home', home], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    made.stdout.on('data', (data) => (out += data));
    made.stderr.on('data', (data) => (err += data));
    made.on('exit', (code) =>
      code === 0 ? done(out) : fail(new Error(`${args[0]}: ${code} ${err}`)),
    );
  });
}

/** Starts the process; resolves with its URL and the owner's token when it serves. */
function start(port: number, brokerPort: number): Promise<{ url: string; token: string }> {
  const made = spawn(
    process.execPath,
    [
      main,
      'start',
      '--json',
      '--home',
      home,
      '--port',
      `${port}`,
      '--broker-port',
      `${brokerPort}`,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  child = made;
  return new Promise((done, fail) => {
    let out = '';
    let err = '';
    made.stderr.on('data', (data) => (err += data));
    made.stdout.on('data', (data) => {
      out += data;
      if (out.includes('\n')) done(JSON.parse(out) as { url: string; token: string });
    });
    made.on('exit', (code) => fail(new Error(`start ended with ${code}: ${err}`)));
  });
}

async function kill(): Promise<void> {
  const gone = new Promise((done) => child?.once('exit', done));
  child?.kill('SIGKILL');
  await gone;
}

afterAll(async () => {
  await Promise.all(boards.map((board) => board.stop()));
  if (child?.exitCode === null && child.signalCode === null) await kill();
  rmSync(home, { recursive: true, force: true });
});

describe('kill -9 while calls run', () => {
  it('ends every call in exactly one outcome and runs none twice', {
    timeout: 120_000,
  }, async () => {
    const [port, brokerPort] = [await freePort(), await freePort()];
    const clock = nodeClock();
    for (const name of ['one', 'two']) {
      const config = JSON.parse(await run('boards', 'add', name, '--json')) as {
        boardId: string;
        key: string;
      };
      const key = fromHex(config.key);
      const url = `mqtt://127.0.0.1:${brokerPort}`;
      boards.push(
        createSimBoard({
          model: counting,
          name,
          boardId: config.boardId,
          key,
          clock,
          random,
          store: memoryStore(),
          transport: mqttTransport({ url, key, clock, random, backoffMs: 50 }),
        }),
      );
    }
    let { url, token } = await start(port, brokerPort);
    for (const board of boards) board.start();
    const ask = async (path: string, init: RequestInit = {}): Promise<Record<string, unknown>> => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const answer = await fetch(`${url}${path}`, { ...init, headers });
      return (await answer.json()) as Record<string, unknown>;
    };
    const devices = async (): Promise<{ id: string; online: boolean }[]> => {
      for (;;) {
        const list = (await ask('/api/devices')).devices as { id: string; online: boolean }[];
        if (list.length === 2 && list.every((device) => device.online)) return list;
        await new Promise((done) => setTimeout(done, 20));
      }
    };
    const envelopes = new Map<number, string>();
    let n = 0;
    for (let round = 0; round < KILLS; round++) {
      const list = await devices();
      const sending = Array.from({ length: CALLS_PER_KILL }, async () => {
        const mine = n++;
        const toDevice = list[mine % 2]?.id;
        const payload = { type: 'invoke', prompt: `mark ${mine}` };
        const sent = await ask('/api/devices/relay', {
          method: 'POST',
          body: JSON.stringify({ toDevice, payload }),
        }).catch(() => undefined);
        if (typeof sent?.id === 'string') envelopes.set(mine, sent.id);
      });
      await new Promise((done) => setTimeout(done, 40 + random() * 80));
      if (round % 3 === 2) boards[round % 2]?.reboot();
      await kill();
      await Promise.all(sending);
      ({ url, token } = await start(port, brokerPort));
    }
    await devices();
    const replies = new Map<number, { ok: boolean; outcome: string; result: unknown }>();
    for (let tries = 0; tries < 1_500 && replies.size < envelopes.size; tries++) {
      for (const [mine, id] of envelopes) {
        if (replies.has(mine)) continue;
        const { reply } = (await ask(`/api/devices/relay?inReplyTo=${id}`)) as {
          reply: { payload: string } | null;
        };
        if (reply) replies.set(mine, JSON.parse(reply.payload));
      }
      await new Promise((done) => setTimeout(done, 20));
    }
    expect(envelopes.size).toBeGreaterThan(KILLS);
    expect(replies.size).toBe(envelopes.size);
    expect([...runs.values()].filter((times) => times > 1)).toEqual([]);
    for (const [mine, reply] of replies) {
      const times = runs.get(mine) ?? 0;
      if (reply.outcome === 'ok') expect([mine, times, reply.result]).toEqual([mine, 1, mine]);
      else if (reply.outcome !== 'outcome_unknown') expect([mine, times]).toEqual([mine, 0]);
    }
    expect([...replies.values()].filter((reply) => reply.ok).length).toBeGreaterThan(0);
  });
});
