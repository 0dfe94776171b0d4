/** What the hub's tests share: a hub in memory, a clock that is moved by hand, a failing store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createParser } from 'eventsource-parser';
import { afterEach, expect } from 'vitest';
import { type Database, openDatabase, type StoreFault, StoreUnavailable } from '../store/index.js';
import type { HubClock } from './clock.js';
import { createHub, type Hub, type HubOptions } from './hub.js';

export class TestClock implements HubClock {
  private monotonic = 1_000;
  private timers: { at: number; run: () => void }[] = [];
  constructor(private unixMs = 1_800_000_000_000) {}

  now = (): number => this.monotonic;
  wall = (): number => this.unixMs;

  after(ms: number, run: () => void) {
    const timer = { at: this.monotonic + ms, run };
    this.timers.push(timer);
    return {
      cancel: () => {
        this.timers = this.timers.filter((other) => other !== timer);
      },
    };
  }

  /** Moves both clocks; timers that fall due run in their order. */
  advance(ms: number): void {
    const end = this.monotonic + ms;
    for (;;) {
      const due = this.timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.timers = this.timers.filter((t) => t !== due);
      this.step(Math.max(0, due.at - this.monotonic));
      due.run();
    }
    this.step(end - this.monotonic);
  }

  /** Moves both clocks at once; what fell due on the way runs afterwards, once. */
  leap(ms: number): void {
    this.step(ms);
    this.advance(0);
  }

  /** Time passes and nothing that was planned happens yet. */
  hold(ms: number): void {
    this.step(ms);
  }

  /** Somebody sets the date. */
  setWall(byMs: number): void {
    this.unixMs += byMs;
  }

  private step(ms: number): void {
    this.monotonic += ms;
    this.unixMs += ms;
  }
}

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

export function onCleanup(clean: () => Promise<void> | void): void {
  cleanups.push(clean);
}

export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hub-'));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A store that fails on demand, as a full or broken disk would. */
export async function breakableStore(file = ':memory:') {
  const inner = await openDatabase(file);
  let fault: StoreFault | undefined;
  let commits = 0;
  const database: Database = {
    engine: inner.engine,
    async write(run) {
      if (fault) throw new StoreUnavailable(fault);
      const value = await inner.write(run);
      commits += 1;
      return value;
    },
    read(run) {
      if (fault) throw new StoreUnavailable(fault);
      return inner.read(run);
    },
    close: () => inner.close(),
  };
  return {
    database,
    commits: () => commits,
    break(as: StoreFault) {
      fault = as;
    },
    mend() {
      fault = undefined;
    },
  };
}

export interface Answer {
  status: number;
  body: Record<string, unknown>;
  headers: Record<string, unknown>;
  raw: string;
}

export interface Ask {
  as?: string;
  body?: unknown;
  /** Sent as it is, in place of `body`. */
  text?: string;
  headers?: Record<string, string>;
}

export class TestHub {
  constructor(
    readonly hub: Hub,
    readonly clock: TestClock,
    readonly token: string,
    readonly ownerId: string,
  ) {}

  async ask(method: string, url: string, { as, body, text, headers }: Ask = {}): Promise<Answer> {
    const payload = text ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await this.hub.app.inject({
      method: method as 'GET',
      url,
      headers: {
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
        ...(as === undefined ? {} : { authorization: `Bearer ${as}` }),
        ...headers,
      },
      ...(payload === undefined ? {} : { payload }),
    });
    const type = String(response.headers['content-type'] ?? '');
    const parsed: unknown = type.includes('json') && response.body !== '' ? response.json() : {};
    return {
      status: response.statusCode,
      body: { ...(parsed as object) },
      headers: { ...response.headers },
      raw: response.body,
    };
  }

  /** As the first owner. */
  own(method: string, url: string, body?: unknown): Promise<Answer> {
    return this.ask(method, url, { as: this.token, body });
  }

  async enrol(name = 'desk', extra: object = {}): Promise<{ deviceId: string; token: string }> {
    const { status, body } = await this.own('POST', '/api/devices', { name, ...extra });
    expect(status).toBe(200);
    return { deviceId: String(body.device_id), token: String(body.device_token) };
  }

  async send(toDevice: string, payload: unknown): Promise<string> {
    const { status, body } = await this.own('POST', '/api/devices/relay', { toDevice, payload });
    expect(status).toBe(200);
    return String(body.id);
  }

  async poll(device: object, max?: unknown): Promise<{ id: string; payload: string }[]> {
    const { status, body } = await this.ask('PUT', '/api/devices/relay', {
      body: { ...device, ...(max === undefined ? {} : { max }) },
    });
    expect(status).toBe(200);
    return body.messages as { id: string; payload: string }[];
  }

  reply(device: object, inReplyTo: string, payload: unknown): Promise<Answer> {
    return this.ask('PATCH', '/api/devices/relay', { body: { ...device, inReplyTo, payload } });
  }

  /** The payload the owner reads, or null. */
  async read(ref: string, as = this.token): Promise<string | null> {
    const { status, body } = await this.ask('GET', `/api/devices/relay?inReplyTo=${ref}`, { as });
    expect(status).toBe(200);
    return (body.reply as { payload: string } | null)?.payload ?? null;
  }

  async events(as = this.token): Promise<{ id: number; kind: string; detail: string }[]> {
    const { body } = await this.ask('GET', '/api/events', { as });
    return body.events as { id: number; kind: string; detail: string }[];
  }

  async gateway(name = 'pi'): Promise<TestGateway> {
    const made = await this.hub.enrolGateway(this.ownerId, name);
    return new TestGateway(this, made.gateway_token, made.gateway_id);
  }
}

const board = (boardId: string, name: string) => ({
  boardId,
  name,
  platform: 'esp32',
  capabilities: ['render_ui', 'status'],
  catalog: { firmware: '1.0', verbs: [], readings: [{ name: 't', unit: 'C' }] },
});

export class TestGateway {
  private seq = 0;
  constructor(
    private readonly test: TestHub,
    readonly token: string,
    readonly id: string,
  ) {}

  post(path: string, body: unknown): Promise<Answer> {
    return this.test.ask('POST', `/api/gateway/v1/${path}`, { as: this.token, body });
  }

  async board(name = 'eink', boardId = '00000000000000aa'): Promise<string> {
    const { status, body } = await this.post('boards', board(boardId, name));
    expect(status).toBe(200);
    return String(body.device_id);
  }

  tryBoard(boardId: string, name = 'eink'): Promise<Answer> {
    return this.post('boards', board(boardId, name));
  }

  up(...items: object[]): Promise<Answer> {
    const at = this.test.clock.wall();
    return this.post('up', {
      items: items.map((item) => {
        this.seq += 1;
        return { seq: this.seq, at, ...item };
      }),
    });
  }

  online(deviceId: string): Promise<Answer> {
    const presence = { state: 'online', since: this.test.clock.wall() };
    return this.up({ kind: 'presence', device_id: deviceId, presence });
  }
}

export interface TestHubOptions extends HubOptions {
  clock?: TestClock;
}

export async function testHub(options: TestHubOptions = {}): Promise<TestHub> {
  const clock = options.clock ?? new TestClock();
  const hub = await createHub({
    mediaDir: options.mediaDir ?? tempFolder(),
    ...(options.home === undefined ? { databaseFile: ':memory:' } : {}),
    ...options,
    clock,
  });
  onCleanup(() => hub.close());
  const owner = await hub.bootstrap('ann');
  return new TestHub(hub, clock, owner?.token ?? '', owner?.ownerId ?? '');
}

export interface Heard {
  event: string;
  id: string | undefined;
  data: Record<string, unknown>;
}

/** A stream over a real socket. `next` waits for an item, `comments` counts what is none. */
export class Listener {
  readonly seen: Heard[] = [];
  comments = 0;
  closed = false;
  private waiting: (() => void)[] = [];
  private readonly stop = new AbortController();

  static async open(
    url: string,
    token: string,
    headers: Record<string, string> = {},
  ): Promise<Listener> {
    const listener = new Listener();
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${token}`, ...headers },
      signal: listener.stop.signal,
    });
    listener.response = response;
    void listener.pump(response);
    onCleanup(() => listener.close());
    await listener.until(() => listener.comments > 0 || listener.closed);
    return listener;
  }

  response: Response | undefined;

  close(): void {
    this.stop.abort();
  }

  async until(done: () => boolean): Promise<void> {
    while (!done()) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  async items(count: number): Promise<Heard[]> {
    await this.until(() => this.seen.length >= count || this.closed);
    return this.seen.slice(0, count);
  }

  private async pump(response: Response): Promise<void> {
    const parser = createParser({
      onEvent: ({ event, id, data }) => {
        this.seen.push({ event: event ?? 'message', id, data: JSON.parse(data) });
      },
      onComment: () => {
        this.comments += 1;
      },
    });
    const decoder = new TextDecoder();
    const reader = response.body?.getReader();
    try {
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
        parser.feed(decoder.decode(part.value, { stream: true }));
        this.wake();
      }
    } catch {
      // Cut off by the test or by the hub.
    }
    this.closed = true;
    this.wake();
  }

  private wake(): void {
    for (const run of this.waiting.splice(0)) run();
  }
}
