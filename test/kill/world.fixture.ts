/**
 * One world of the kill test: hub, gateway and broker as one process or as two, the boards and
 * the owner outside them. It kills, restarts, and keeps count of what each side saw.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openParts } from '../../cli/parts.js';
import type { StackOptions } from '../../cli/stack.js';
import {
  createSimBoard,
  type Model,
  memoryStore,
  mqttTransport,
  type SimBoard,
} from '../../device-sim/index.js';
import type { CallRecord } from '../../gateway/core/journal.js';
import { type Child, runChild } from '../../gateway/node/child-fixture.js';
import { nodeClock } from '../../gateway/node/clock.js';
import { openJournal } from '../../gateway/node/journal.js';
import { openDatabase } from '../../store/index.js';
import { Owner } from './owner.fixture.js';
import { POINTS, type Point } from './points.fixture.js';

export type Side = 'hub' | 'gateway';
/** `random`: by the test itself, at a random time and with no point in mind. */
export interface Kill {
  point: Point | 'random';
  side: Side;
  /** A board whose power fails while the process is down. */
  reboots: boolean;
}

export interface Envelope {
  /** Its payload, as JSON. */
  asked: string;
  /** The payload of its reply, as JSON. */
  answer: string | null;
  replies: number;
}
const ENVELOPES = `SELECT e.payload AS asked, max(r.payload) AS answer, count(r.id) AS replies
  FROM envelopes e LEFT JOIN replies r ON r.ref = e.id GROUP BY e.id`;
const UNANSWERED = 'SELECT id FROM envelopes WHERE id NOT IN (SELECT ref FROM replies)';

/** The first is never rebooted: nothing of it may end unknown. */
const BOARDS = ['steady', 'one', 'two'];
/** A point that is not passed within so long, with calls all the time, will not be. */
const PATIENCE_MS = 120_000;
/** The longest pause of a board between two connections. */
const BOARD_PAUSE_MS = 100;
const V8 = ['--max-semi-space-size=32'];

/** Seeded, so that a failure can be repeated. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state / 0x8000_0000;
  };
}

/**
 * Below the ports that outgoing connections get (from 32,768 on), so that nothing of this machine
 * takes one between a kill and the next start.
 */
let nextPort = 20_000 + (process.pid % 500) * 20;

async function freePort(): Promise<number> {
  for (;;) {
    const port = nextPort++;
    const server = createServer();
    const free = await new Promise<boolean>((done) => {
      server.once('error', () => done(false));
      server.listen(port, '127.0.0.1', () => done(true));
    });
    if (!free) continue;
    await new Promise<void>((done) => server.close(() => done()));
    return port;
  }
}

export class World {
  readonly owner: Owner;
  /** By number of the call: how often a board ran it. */
  readonly runs: Map<number, number>;
  readonly kills: Kill[] = [];
  readonly #program: string;
  readonly #apart: boolean;
  readonly #random: () => number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'motebridge-kill-'));
  readonly #boards: SimBoard[] = [];
  readonly #children = new Map<Side, Child>();
  readonly #clock = nodeClock();
  #ports = { hub: 0, broker: 0 };

  constructor(program: string, apart: boolean, seed: number) {
    this.#program = program;
    this.#apart = apart;
    this.#random = randomOf(seed);
    this.owner = new Owner();
    this.runs = this.owner.runs;
  }

  async start(): Promise<void> {
    this.#ports = { hub: await freePort(), broker: await freePort() };
    await this.#makeBoards();
    if (this.#apart) await this.#run('hub');
    await this.#run('gateway');
    for (const board of this.#boards) board.start();
    await this.owner.findsBoards(BOARDS);
    this.owner.begin();
  }

  /** Ends one process and starts it again. Rejects where the point is never passed. */
  async kill(kill: Kill): Promise<void> {
    const { point, side, reboots } = kill;
    const child = this.#child(side);
    if (point === 'random') {
      await this.owner.busy();
      await this.#pause(this.#random() * 60);
      child.process.kill('SIGKILL');
    } else {
      child.say(`${1 + Math.floor(this.#random() * POINTS[point].most)} ${point}`);
    }
    await this.#within(child.ended, `“${point}” was not passed`);
    const ended = await child.ended;
    const said = child.lines.at(-1);
    if (ended !== 'SIGKILL' || (point !== 'random' && said !== `killed ${point}`)) {
      throw new Error(`it ended with ${ended} and not at “${point}”: ${child.errors()}`);
    }
    this.kills.push(kill);
    if (reboots) this.#boards[1 + (this.kills.length % 2)]?.reboot();
    await this.#run(side);
  }

  /**
   * Everything has ended and is told, or `ms` have passed. The hub's file says of calls that the
   * owner does not know of: their send was stored, and its answer went down with the process.
   */
  async settle(ms: number): Promise<void> {
    const deadline = this.#clock.now() + ms;
    await this.owner.ends(ms);
    const db = await openDatabase(this.#hubFile);
    const open = (): number => db.read((r) => r.all(UNANSWERED).length);
    while (open() > 0 && this.#clock.now() < deadline) await this.#pause(50);
    await db.close();
  }

  /** Every envelope that the hub's file has, with its reply. */
  async envelopes(): Promise<Envelope[]> {
    const db = await openDatabase(this.#hubFile);
    const rows = db.read((r) => r.all<Envelope>(ENVELOPES));
    await db.close();
    return rows;
  }

  /** Calls that have no outcome in the gateway's journal. */
  async unsettled(): Promise<CallRecord[]> {
    const journal = await openJournal(join(this.#home('gateway'), 'journal.db'));
    const open = journal.open().filter((record) => !record.outcome);
    await journal.close();
    return open;
  }

  /** The processes end here; what they left on disk is to be read now. */
  async end(): Promise<void> {
    this.owner.stop();
    await Promise.all(this.#boards.map((board) => board.stop()));
    for (const child of this.#children.values()) {
      child.process.kill('SIGKILL');
      await child.ended;
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #hubFile(): string {
    return join(this.#home('hub'), 'hub.db');
  }

  #home(side: Side): string {
    return join(this.#folder, this.#apart ? side : 'both');
  }

  /** Where both are one process, it goes by the name of the gateway. */
  #child(side: Side): Child {
    const child = this.#children.get(this.#apart ? side : 'gateway');
    if (child === undefined) throw new Error(`there is no ${side}`);
    return child;
  }

  async #run(wanted: Side): Promise<void> {
    const side = this.#apart ? wanted : 'gateway';
    const child = runChild(this.#program, [JSON.stringify(this.#options(side))], V8);
    this.#children.set(side, child);
    const ready = await this.#within(child.line('ready '), `the ${side} did not start`);
    const { url, token } = JSON.parse(ready.slice('ready '.length));
    this.owner.uses(url, token);
  }

  #options(side: Side): StackOptions {
    const host = '127.0.0.1';
    const own = { host, port: this.#ports.hub };
    const elsewhere = { url: this.owner.url, token: this.owner.token };
    return {
      home: this.#home(side),
      hub: this.#apart && side === 'gateway' ? elsewhere : own,
      broker: this.#apart && side === 'hub' ? undefined : { host, port: this.#ports.broker },
      sims: [],
    };
  }

  async #makeBoards(): Promise<void> {
    const parts = await openParts(this.#home('gateway'));
    const clock = this.#clock;
    const random = this.#random;
    const impatient = {
      now: () => clock.now(),
      after: (ms: number, run: () => void) => clock.after(Math.min(ms, BOARD_PAUSE_MS), run),
    };
    for (const name of BOARDS) {
      const { boardId, key: text } = await parts.book.add(name);
      const key = new Uint8Array(Buffer.from(text, 'base64url'));
      const url = `mqtt://127.0.0.1:${this.#ports.broker}`;
      const transport = mqttTransport({ url, key, clock: impatient, random, backoffMs: 25 });
      const store = memoryStore();
      const model = this.#counting(name);
      this.#boards.push(
        createSimBoard({ model, name, boardId, key, clock, random, store, transport }),
      );
    }
    await parts.close();
  }

  #counting(name: string): Model {
    return () => ({
      name,
      platform: 'test',
      firmware: '1',
      maxCalls: 8,
      verbs: [
        {
          name: 'mark',
          signature: 'n:i0..1000000',
          description: 'Counts that it ran.',
          run: async ({ n }, context) => {
            this.owner.ran(Number(n));
            await context.sleep(this.#random() * 10);
            return Number(n);
          },
        },
      ],
    });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((done) => void this.#clock.after(ms, done));
  }

  async #within<T>(work: Promise<T>, otherwise: string): Promise<T> {
    let fail: (error: Error) => void = () => undefined;
    const late = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const timer = this.#clock.after(PATIENCE_MS, () => {
      const said = [...this.#children.values()].map((child) => child.errors()).join('\n');
      fail(
        new Error(`${otherwise} within ${PATIENCE_MS / 1000} s; ${this.owner.words()}; ${said}`),
      );
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      timer.cancel();
    }
  }
}
