/** Calls and pictures over BLE, beside the same libraries with nothing of ours between them. */
import type { SimBoardInput } from '../../device-sim/create.js';
import { type Report, type Say, type Section, verdict } from './report.js';
import { onAir } from './rig/air.js';
import { rawPair } from './rig/raw-air.js';
import { median, percentile } from './stats.js';

const CALLS = 500;
const WARM = 50;
const PICTURE = 48_000;
const PICTURES = 60;
const WARM_PICTURES = 10;
const RECONNECTS = 5;
const BOARDS = 20;
/** Of calls to twenty boards; a minute where MOTEBRIDGE_BENCH_LONG is set. */
const CROWD_MS = process.env.MOTEBRIDGE_BENCH_LONG === undefined ? 10_000 : 60_000;
const CROWD_EVERY_MS = 250;

const model: SimBoardInput['model'] = (host) => ({
  name: 'Bench',
  platform: 'bench',
  firmware: '1',
  verbs: [
    {
      name: 'echo',
      signature: 'text:s64',
      description: 'answers what it got',
      run: ({ text }) => text ?? '',
    },
    {
      name: 'picture',
      signature: '',
      description: 'a blob of the size of a panel',
      run: async () => {
        await host.blob({
          mediaType: 'application/octet-stream',
          purpose: 'snapshot',
          bytes: new Uint8Array(PICTURE),
        });
        return null;
      },
    },
  ],
});

/** Milliseconds of the processor, all threads. */
const cpu = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

async function timed(count: number, run: () => Promise<void>): Promise<number[]> {
  const took: number[] = [];
  for (let i = 0; i < count; i++) {
    const begin = performance.now();
    await run();
    took.push(performance.now() - begin);
  }
  return took;
}

interface Took {
  calls: number[];
  pictures: number[];
  /** Of the processor, for each picture. */
  work: number[];
}

/** Turn about, so that neither has the warmer process. */
async function beside(): Promise<{ raw: Took; own: Took }> {
  const bare = await rawPair();
  const rig = onAir();
  try {
    const { boardId } = rig.board(1, model);
    await rig.online(boardId);
    const call = async (verb: string, args: Record<string, string> = {}): Promise<void> => {
      const outcome = await rig.gateway.call({ boardId, verb, args, ttlMs: 30_000 });
      if (outcome.kind !== 'ok') throw new Error(`a call ended as ${outcome.kind}`);
    };
    const echo = (): Promise<void> => call('echo', { text: 'x'.repeat(16) });
    const turnAbout = async (
      warm: number,
      count: number,
      rawly: () => Promise<void>,
      owned: () => Promise<void>,
    ): Promise<[number[], number[]]> => {
      const took: [number[], number[]] = [[], []];
      for (let i = 0; i < warm + count; i++) {
        const pair = [...(await timed(1, rawly)), ...(await timed(1, owned))];
        if (i >= warm) pair.forEach((ms, n) => void took[n]?.push(ms));
      }
      return took;
    };
    const calls = await turnAbout(WARM, CALLS, () => bare.echo(32), echo);
    const work: [number[], number[]] = [[], []];
    const worked = (n: 0 | 1, run: () => Promise<void>) => async (): Promise<void> => {
      const before = cpu();
      await run();
      work[n].push(cpu() - before);
    };
    const pictures = await turnAbout(
      WARM_PICTURES,
      PICTURES,
      worked(0, () => bare.notifications(PICTURE)),
      worked(1, () => call('picture')),
    );
    const of = (n: 0 | 1): Took => ({
      calls: calls[n],
      pictures: pictures[n],
      work: work[n].slice(WARM_PICTURES),
    });
    return { raw: of(0), own: of(1) };
  } finally {
    await rig.close();
    await bare.close();
  }
}

/** The first loss of a link: one that did not hold 30 s is tried again later each time. */
async function reconnected(): Promise<number> {
  const rig = onAir();
  try {
    const { boardId, controller } = rig.board(1, model);
    await rig.online(boardId);
    const begin = performance.now();
    for (const link of controller.links.values()) link.lose();
    while (rig.gateway.board(boardId)?.presence.state === 'online') {
      await new Promise((done) => setTimeout(done, 1));
    }
    await rig.online(boardId);
    const args = { text: 'back' };
    const outcome = await rig.gateway.call({ boardId, verb: 'echo', args, ttlMs: 30_000 });
    if (outcome.kind !== 'ok') throw new Error(`a call ended as ${outcome.kind}`);
    return performance.now() - begin;
  } finally {
    await rig.close();
  }
}

async function crowd(): Promise<{ calls: number; lost: number; took: number[] }> {
  const rig = onAir();
  try {
    const ids = Array.from({ length: BOARDS }, (_, n) => rig.board(n + 1, model).boardId);
    for (const id of ids) await rig.online(id);
    const took: number[] = [];
    let lost = 0;
    const one = async (boardId: string): Promise<void> => {
      const begin = performance.now();
      const args = { text: 'crowd' };
      const outcome = await rig.gateway.call({ boardId, verb: 'echo', args, ttlMs: 10_000 });
      if (outcome.kind === 'ok') took.push(performance.now() - begin);
      else lost++;
    };
    const calls: Promise<void>[] = [];
    const end = performance.now() + CROWD_MS;
    while (performance.now() < end) {
      calls.push(...ids.map(one));
      await new Promise((done) => setTimeout(done, CROWD_EVERY_MS));
    }
    await Promise.all(calls);
    return { calls: calls.length, lost, took };
  } finally {
    await rig.close();
  }
}

async function run(say: Say): Promise<Report> {
  say('radio: calls and pictures, beside noble and bleno alone');
  const { raw, own } = await beside();
  say('radio: lost links');
  const back: number[] = [];
  for (let i = 0; i < RECONNECTS; i++) back.push(await reconnected());
  say(`radio: ${BOARDS} boards for ${CROWD_MS / 1000} s`);
  const many = await crowd();
  const share = median(raw.pictures) / median(own.pictures);
  const mean = (of: number[]): number => of.reduce((sum, ms) => sum + ms, 0) / of.length;
  const [rawWork, ownWork] = [mean(raw.work), mean(own.work)];
  const row = (what: string, took: number[], base: number[] | undefined) => ({
    what,
    p50: percentile(took, 50),
    p99: percentile(took, 99),
    ratio: base === undefined ? null : percentile(took, 50) / percentile(base, 50),
  });
  return {
    section: 'radio',
    title: `milliseconds over a virtual radio without airtime; MTU 247, sealed`,
    baseline: 'a raw write or notifications of the same noble and bleno, same bytes',
    columns: [
      { key: 'what', title: 'what' },
      { key: 'p50', title: 'p50', digits: 2 },
      { key: 'p99', title: 'p99', digits: 2 },
      { key: 'ratio', title: '×', digits: 2 },
    ],
    rows: [
      row('raw write and notification', raw.calls, raw.calls),
      row('call', own.calls, raw.calls),
      row(`raw notifications, ${PICTURE} bytes`, raw.pictures, raw.pictures),
      row(`picture as a blob, ${PICTURE} bytes`, own.pictures, raw.pictures),
      row('… of the processor, raw', raw.work, raw.work),
      row('… of the processor, blob', own.work, raw.work),
      row('link lost to first answer', back, undefined),
      row(`call, ${BOARDS} boards at once`, many.took, undefined),
    ],
    aims: [
      {
        name: `${BOARDS} boards on one central`,
        says: `${many.lost} of ${many.calls} calls lost in ${CROWD_MS / 1000} s, none: ${verdict(many.lost === 0)}`,
        figure: many.lost,
        met: many.lost === 0,
      },
    ],
    notes: [
      `${CALLS} calls and ${PICTURES} pictures, each after one of the baseline; medians of pictures give their goodput`,
      `a picture takes ${ownWork.toFixed(1)} ms of the processor on the whole, its bytes as raw notifications ${rawWork.toFixed(1)} ms; goodput is ${share.toFixed(2)}× of theirs where no airtime is counted, sealing and hashing on both ends are`,
      'journal and blob store in memory; the virtual controller takes no time, so all of it is work of this process',
      `${BOARDS} boards are each called every ${CROWD_EVERY_MS} ms; MOTEBRIDGE_BENCH_LONG=1 makes it a minute`,
    ],
  };
}

export const radio: Section = { name: 'radio', run };
