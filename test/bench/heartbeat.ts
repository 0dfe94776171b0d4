/** CPU of the gateway process with 2,000 boards that do nothing but beat. */
import { openFiles } from './machine.js';
import type { Report, Say, Section } from './report.js';
import { startFleet, startHost } from './rig/child.js';
import { withHome } from './rig/home.js';
import { seeds } from './rig/seeds.js';
import type { ClientKind, HostMode } from './rig/wire.js';

const BOARDS = 2_000;
const BEAT_S = 30;
const WINDOW_S = 30;
/** What a process needs besides its connections. */
const SPARE_FILES = 200;

interface Measured {
  /** Percent of one core. */
  share: number;
  /** Frames that came in the window. */
  frames: number;
}

async function measure(
  mode: HostMode,
  kind: ClientKind,
  count: number,
  say: Say,
): Promise<Measured> {
  return withHome(async (home) => {
    const host = startHost();
    const fleet = startFleet();
    try {
      const boards = seeds(count);
      const { port } = await host.ask('start', { mode, home, boards });
      const { ms } = await fleet.ask('connect', { port, kind, boards });
      if (kind !== 'board') await fleet.ask('beat', { everyS: BEAT_S });
      say(`heartbeat: ${count} ${kind} clients on ${mode}, connected in ${Math.round(ms)} ms`);
      // What connecting left behind is collected and settled first.
      await host.ask('memory', {});
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      const [cpu, counts] = [await host.ask('cpu', {}), await host.ask('counts', {})];
      await new Promise((resolve) => setTimeout(resolve, WINDOW_S * 1000));
      const [cpu2, counts2] = [await host.ask('cpu', {}), await host.ask('counts', {})];
      if (kind === 'board' && counts2.online !== count) {
        throw new Error(`${counts2.online} of ${count} boards are online after the window`);
      }
      return {
        share: (cpu2.us - cpu.us) / (cpu2.at - cpu.at) / 10,
        frames: counts2.frames - counts.frames,
      };
    } finally {
      await fleet.end();
      await host.end();
    }
  });
}

async function run(say: Say): Promise<Report> {
  const limit = openFiles();
  const count = Math.min(BOARDS, (limit ?? BOARDS + SPARE_FILES) - SPARE_FILES);
  // Two at once would share two cores with their fleets; each has the machine for itself.
  const broker = await measure('broker', 'stating', count, say);
  const gateway = await measure('gateway', 'board', count, say);
  const row = (what: string, m: Measured) => ({
    what,
    frames: m.frames,
    share: m.share,
    each: (m.share / 100 / m.frames) * WINDOW_S * 1e6,
    ratio: m.share / broker.share,
  });
  return {
    section: 'heartbeat',
    title: `share of one core of the gateway process, ${count} boards with a BEAT each ${BEAT_S} s`,
    baseline: 'MQTT clients that publish the same bytes to the same broker with nobody behind it',
    columns: [
      { key: 'what', title: 'process' },
      { key: 'frames', title: 'frames' },
      { key: 'share', title: '% of a core', digits: 2 },
      { key: 'each', title: 'µs a beat', digits: 0 },
      { key: 'ratio', title: '×', digits: 2 },
    ],
    rows: [row('broker, bytes of a beat', broker), row('gateway, simulated boards', gateway)],
    aims: [],
    notes: [
      `user and system time over a window of ${WINDOW_S} s, all boards connected and quiet else; clients in another process`,
      `open files: ${limit ?? 'unknown'} a process here, ${count + SPARE_FILES} needed; ${count} of ${BOARDS} boards measured`,
      'BEAT at QoS 1, MQTT keep-alive 30 s (a publish counts as one)',
    ],
  };
}

export const heartbeat: Section = { name: 'heartbeat', run };
