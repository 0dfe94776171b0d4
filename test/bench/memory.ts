/** Memory of the gateway process for each connected board, above what the broker needs itself. */
import { type Report, type Say, type Section, verdict } from './report.js';
import { startFleet, startHost } from './rig/child.js';
import { withHome } from './rig/home.js';
import { seeds } from './rig/seeds.js';
import type { ClientKind, HostMode, Memory } from './rig/wire.js';

const BOARDS = 1_000;
const AIM_KB = 30;

interface Measured {
  /** Bytes for each client. */
  heap: number;
  external: number;
  rss: number;
}

async function measure(mode: HostMode, kind: ClientKind, say: Say): Promise<Measured> {
  return withHome(async (home) => {
    const host = startHost();
    const fleet = startFleet();
    try {
      const warm = seeds(20, BOARDS);
      const boards = seeds(BOARDS);
      const { port } = await host.ask('start', { mode, home, boards: [...boards, ...warm] });
      // The first ones pay for code and caches; they are no part of a board's price.
      await fleet.ask('connect', { port, kind, boards: warm });
      const before = await host.ask('memory', {});
      const { ms } = await fleet.ask('connect', { port, kind, boards });
      say(`memory: ${BOARDS} ${kind} clients on ${mode}, connected in ${Math.round(ms)} ms`);
      const { paths, online } = await host.ask('counts', {});
      const wanted = BOARDS + warm.length;
      if ((kind !== 'bare' && paths !== wanted) || (kind === 'board' && online !== wanted)) {
        throw new Error(`${paths} of ${wanted} clients are connected, ${online} boards online`);
      }
      const after = await host.ask('memory', {});
      const each = (of: keyof Memory): number => (after[of] - before[of]) / BOARDS;
      return { heap: each('heap'), external: each('external'), rss: each('rss') };
    } finally {
      await fleet.end();
      await host.end();
    }
  });
}

async function run(say: Say): Promise<Report> {
  const broker = await measure('broker', 'bare', say);
  const stating = await measure('broker', 'stating', say);
  const gateway = await measure('gateway', 'board', say);
  const stack = await measure('stack', 'board', say);
  const kb = (bytes: number): number => bytes / 1000;
  const used = (m: Measured): number => m.heap + m.external;
  const row = (what: string, m: Measured) => ({
    what,
    heap: kb(m.heap),
    external: kb(m.external),
    used: kb(used(m)),
    ratio: used(m) / used(broker),
    above: m === broker ? null : kb(used(m) - used(broker)),
    rss: kb(m.rss),
    rssAbove: m === broker ? null : kb(m.rss - broker.rss),
  });
  const above = kb(used(gateway) - used(broker));
  const rssAbove = kb(gateway.rss - broker.rss);
  const met = above <= AIM_KB;
  const report: Report = {
    section: 'memory',
    title: `kB for each of ${BOARDS} connected clients`,
    baseline: 'bare MQTT clients on the same embedded broker with nobody behind it',
    columns: [
      { key: 'what', title: 'process' },
      { key: 'heap', title: 'heap', digits: 1 },
      { key: 'external', title: 'external', digits: 1 },
      { key: 'used', title: 'used', digits: 1 },
      { key: 'ratio', title: '×', digits: 2 },
      { key: 'above', title: 'above the broker', digits: 1 },
      { key: 'rss', title: 'resident', digits: 1 },
      { key: 'rssAbove', title: 'above the broker', digits: 1 },
      { key: 'verdict', title: '' },
    ],
    rows: [
      { ...row('broker, bare clients', broker), verdict: null },
      { ...row('broker, clients with will and state', stating), verdict: null },
      { ...row('gateway, greeted boards', gateway), verdict: verdict(met) },
      { ...row('hub and gateway in one', stack), verdict: null },
    ],
    aims: [
      {
        name: 'gateway above the broker',
        says: `${above.toFixed(1)} kB a board in use (resident ${rssAbove.toFixed(1)}), aim ≤ ${AIM_KB}`,
        figure: above,
        met,
      },
    ],
    notes: [
      'used = V8 heap and external memory after full collections, before and after the clients came; 20 more came first',
      'the boards are simulated air sensors in another process; the gateway has its journal on disk, blobs and board book',
      'resident memory is what the system gave, with what the collector has not handed back: it drifts',
    ],
  };
  return report;
}

export const memory: Section = { name: 'memory', run };
