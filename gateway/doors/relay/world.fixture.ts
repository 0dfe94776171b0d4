/** A clock moved by hand, a switchboard without boards' radios, and a journal that can break. */
import type { BoardCatalog } from '../../../protocol/catalog.js';
import type { Value } from '../../../protocol/kinds.js';
import { type CallRecord, type Journal, JournalUnavailable } from '../../core/journal.js';
import { memoryJournal } from '../../core/memory-journal.js';
import { Reporter } from '../../core/reporter.js';
import type {
  BoardId,
  BoardView,
  Call,
  Clock,
  Door,
  Outcome,
  Presence,
  Switchboard,
  SwitchboardEvents,
  UpItem,
} from '../../core/types.js';
import { EINK } from '../prompt/boards.fixture.js';
import { type FakeHub, HUB } from './hub.fixture.js';
import { createRelayDoor, type RelayDoor, type RelayDoorOptions } from './index.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class HandClock implements Clock {
  #now = 1_000;
  #timers: { at: number; run: () => void }[] = [];
  wallAt0 = 1_800_000_000_000;

  now = (): number => this.#now;
  wall = (): number => this.wallAt0 + this.#now;

  after(ms: number, run: () => void): { cancel(): void } {
    const timer = { at: this.#now + ms, run };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  /** Lets everything that can happen now happen; then time passes, timer by timer. */
  async advance(ms = 0): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      for (let i = 0; i < 4; i++) await turn();
      const due = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.#timers = this.#timers.filter((other) => other !== due);
      this.#now = Math.max(this.#now, due.at);
      due.run();
    }
    this.#now = end;
  }
}

/** A journal in memory whose disk can be full. */
export class BreakableJournal {
  broken = false;
  readonly journal: Journal;

  constructor() {
    const inner = memoryJournal();
    const check = (): void => {
      if (this.broken) throw new JournalUnavailable('the disk is full');
    };
    const guard =
      <A extends unknown[], R>(run: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        check();
        return run(...args);
      };
    this.journal = {
      ...inner,
      admit: guard(inner.admit),
      drop: guard(inner.drop),
      put: guard(inner.put),
      done: guard(inner.done),
    };
  }
}

export class FakeSwitchboard implements Switchboard {
  readonly released: string[] = [];
  readonly dropped: string[] = [];
  readonly cancelled: string[] = [];
  readonly admitted: Call[] = [];
  readonly answers: { boardId: BoardId; askId: number; answer: object }[] = [];
  readonly mailReplies: { mailId: number; ok: boolean; value: Value }[] = [];
  /** What the next calls are refused with, as the real one would after its checks. */
  refuse: Outcome | undefined;
  /** What the next calls fail with, as the codec would. */
  fail: Error | undefined;
  door: Door | undefined;
  readonly #views = new Map<BoardId, BoardView>();
  readonly #listeners = new Map<string, Set<(...args: never[]) => void>>();
  readonly #reporter: Reporter;

  constructor(
    readonly journal: Journal,
    readonly clock: Clock,
  ) {
    this.#reporter = new Reporter({ clock, journal, random: () => 0.5, log: () => undefined });
  }

  set(id: BoardId, state: Presence['state'], catalog: BoardCatalog | undefined = EINK): void {
    const since = this.clock.wall();
    const presence: Presence =
      state === 'asleep' ? { state, since, until: since + 600_000 } : { state, since };
    const view = {
      id,
      name: `board ${id.slice(-2)}`,
      presence,
      via: 'memory',
      catalog,
      readings: {},
    };
    this.#views.set(id, view);
    this.emit('presence', view);
  }

  recatalog(id: BoardId, catalog: BoardCatalog): void {
    const view = this.#views.get(id);
    if (!view) return;
    const next = { ...view, catalog };
    this.#views.set(id, next);
    this.emit('catalog', next);
  }

  emit<E extends keyof SwitchboardEvents>(
    event: E,
    ...args: Parameters<SwitchboardEvents[E]>
  ): void {
    for (const run of this.#listeners.get(event) ?? []) run(...(args as never[]));
  }

  async keep(
    item: Partial<UpItem> & Pick<UpItem, 'boardId' | 'kind' | 'body' | 'seq'>,
  ): Promise<void> {
    await this.journal.keep({ bootId: 1, at: this.clock.wall(), ...item });
    this.emit('kept');
  }

  /** The board's outcome comes in. */
  async finish(key: string, outcome: Outcome): Promise<void> {
    await this.journal.settle(key, outcome);
    const record = this.journal.find(key);
    if (record) this.#reporter.report(record);
  }

  boards = (): BoardView[] => [...this.#views.values()];
  board = (id: BoardId): BoardView | undefined => this.#views.get(id);

  attach(name: string, door: Door): void {
    this.door = door;
    this.#reporter.attach(name, door);
    for (const record of this.journal.open()) {
      if (record.outcome) this.#reporter.report(record);
      else void door.resume(record);
    }
  }

  on<E extends keyof SwitchboardEvents>(event: E, run: SwitchboardEvents[E]): () => void {
    const set = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, set.add(run as (...args: never[]) => void));
    return () => set.delete(run as (...args: never[]) => void);
  }

  async admit(call: Call): Promise<CallRecord> {
    if (this.fail) throw this.fail;
    const record = await this.journal.admit(call, 1, this.clock.wall(), this.refuse);
    this.admitted.push(call);
    return record;
  }

  answerHere(call: Call, outcome: Outcome): Promise<CallRecord> {
    return this.journal.admit(call, 0, this.clock.wall(), outcome);
  }

  release(key: string): void {
    this.released.push(key);
    const record = this.journal.find(key);
    if (record?.outcome && !record.reported) this.#reporter.report(record);
  }

  async drop(key: string): Promise<void> {
    await this.journal.drop(key);
    this.dropped.push(key);
  }

  cancel(key: string): void {
    this.cancelled.push(key);
  }

  call(): Promise<Outcome> {
    throw new Error('not used by this door');
  }

  answer(boardId: BoardId, askId: number, answer: object): void {
    this.answers.push({ boardId, askId, answer });
  }

  mailReply(_boardId: BoardId, mailId: number, ok: boolean, value: Value): void {
    this.mailReplies.push({ mailId, ok, value });
  }

  stop(): void {
    this.#reporter.stop();
  }
}

export const A = '00000000000000aa';
export const B = '00000000000000bb';

/** One gateway process: its door and switchboard go with it, journal, clock and hub stay. */
export class World {
  readonly clock = new HandClock();
  readonly disk = new BreakableJournal();
  readonly logged: string[] = [];
  switchboard: FakeSwitchboard;
  door: RelayDoor;
  readonly #options: Partial<RelayDoorOptions>;

  constructor(
    readonly hub: FakeHub,
    options: Partial<RelayDoorOptions> = {},
  ) {
    this.#options = options;
    this.switchboard = new FakeSwitchboard(this.disk.journal, this.clock);
    this.door = this.#makeDoor();
  }

  get journal(): Journal {
    return this.disk.journal;
  }

  /** Starts with one board online and everything settled. */
  async start(): Promise<this> {
    this.switchboard.set(A, 'online');
    this.door.start();
    await this.clock.advance();
    return this;
  }

  /** The process dies and comes back. */
  async restart(state: Presence['state'] = 'online'): Promise<void> {
    this.door.stop();
    this.switchboard.stop();
    this.switchboard = new FakeSwitchboard(this.disk.journal, this.clock);
    this.door = this.#makeDoor();
    this.switchboard.set(A, state);
    this.door.start();
    await this.clock.advance();
  }

  #makeDoor(): RelayDoor {
    return createRelayDoor({
      switchboard: this.switchboard,
      journal: this.disk.journal,
      clock: this.clock,
      random: () => 0.5,
      fetch: this.hub.fetch,
      hub: { url: HUB, gatewayToken: `mgw_${'g'.repeat(43)}`, ownerToken: `mto_${'o'.repeat(43)}` },
      log: (what, about) => this.logged.push(`${what} ${JSON.stringify(about)}`),
      ...this.#options,
    });
  }
}
