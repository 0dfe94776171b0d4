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

/** A host with its fleet, connected and beating. */
class Beating {
  readonly #host = startHost();
  readonly #fleet = startFleet();

  async begin(
    mode: HostMode,
    kind: ClientKind,
    count: number,
    home: string,
    say: Say,
  ): Promise<void> {
    const boards = seeds(count);
    const { port } = await this.#host.ask('start', { mode, home, boards });
    const { ms } = await this.#fleet.ask('connect', { port, kind, boards });
    if (kind !== 'board') await this.#fleet.ask('beat', { everyS: BEAT_S });
    say(`heartbeat: ${count} ${kind} clients on ${mode}, connected in ${Math.round(ms)} ms`);
    // What connecting left behind is collected first.
    await this.#host.ask('memory', {});
  }

  async window(): Promise<Measured & { online: number }> {
    const before = {
      cpu: await this.#host.ask('cpu', {}),
      ...(await this.#host.ask('counts', {})),
    };
    await new Promise((resolve) => setTimeout(resolve, WINDOW_S * 1000));
    const after = { cpu: await this.#host.ask('cpu', {}), ...(await this.#host.ask('counts', {})) };
    return {
      share: (after.cpu.us - before.cpu.us) / (after.cpu.at - before.cpu.at) / 10,
      frames: after.frames - before.frames,
      online: after.online,
    };
  }

  async end(): Promise<void> {
    await this.#fleet.end();
    await this.#host.end();
  }
}

async function both(count: number, say: Say): Promise<{ broker: Measured; gateway: Measured }> {
  return withHome(async (home) => {
    const [broker, gateway] = [new Beating(), new Beating()];
    try {
      await broker.begin('broker', 'stating', count, home, say);
      await gateway.begin('gateway', 'board', count, home, say);
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      // Both over the same seconds: what else the machine does falls on both alike, and neither
      // takes more than a few percent of a core.
      const [bare, greeted] = await Promise.all([broker.window(), gateway.window()]);
      if (greeted.online !== count) {
        throw new Error(`${greeted.online} of ${count} boards are online after the window`);
      }
      return { broker: bare, gateway: greeted };
    } finally {
      await broker.end();
      await gateway.end();
    }
  });
}

async function run(say: Say): Promise<Report> {
  const limit = openFiles();
  const count = Math.min(BOARDS, (limit ?? BOARDS + SPARE_FILES) - SPARE_FILES);
  const { broker, gateway } = await both(count, say);
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
      `user and system time over a window of ${WINDOW_S} s, all connected and quiet else, both windows at the same time; clients in other processes`,
      `open files: ${limit ?? 'unknown'} a process here, ${count + SPARE_FILES} needed; ${count} of ${BOARDS} boards measured`,
      'BEAT at QoS 1, MQTT keep-alive 30 s (a publish counts as one)',
    ],
  };
}

export const heartbeat: Section = { name: 'heartbeat', run };
