/** What the hub's tests share: a hub in memory, its owner and gateways, a failing store. */
import { expect } from 'vitest';
import { type Database, openDatabase, type StoreFault, StoreUnavailable } from '../store/index.js';
import { onCleanup, tempFolder } from './cleanup.fixture.js';
import { TestClock } from './clock.fixture.js';
import { createHub, type Hub, type HubOptions } from './hub.js';
import type { Notice } from './notices.js';
import type { PushSender, Subscription } from './push-sender.js';

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

  private served: Promise<{ url: string }> | undefined;

  /** Where it listens, from the first time on that this is asked. */
  async url(): Promise<string> {
    this.served ??= this.hub.listen({ port: 0 });
    return (await this.served).url;
  }

  async list(as = this.token): Promise<Record<string, unknown>[]> {
    const { status, body } = await this.ask('GET', '/api/devices', { as });
    expect(status).toBe(200);
    return body.devices as Record<string, unknown>[];
  }

  async row(id: string): Promise<Record<string, unknown> | undefined> {
    return (await this.list()).find((one) => one.id === id);
  }

  /** The same hub as it is after a restart, with its first owner's token. */
  as(token: string, ownerId: string): TestHub {
    return new TestHub(this.hub, this.clock, token, ownerId);
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

  async gatewayOf(ownerId: string): Promise<TestGateway> {
    const made = await this.hub.enrolGateway(ownerId, 'theirs');
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

  /** The same gateway at a hub that was started again. */
  at(test: TestHub): TestGateway {
    return new TestGateway(test, this.token, this.id);
  }

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
    ...(options.home === undefined ? { databaseFile: ':memory:', mediaDir: tempFolder() } : {}),
    ...options,
    clock,
  });
  onCleanup(() => hub.close());
  const owner = await hub.bootstrap('ann');
  return new TestHub(hub, clock, owner?.token ?? '', owner?.ownerId ?? '');
}

export async function withBoard(options: TestHubOptions = {}) {
  const t = await testHub(options);
  const gateway = await t.gateway();
  return { t, gateway, board: await gateway.board() };
}

export async function withDevice(options: TestHubOptions = {}, name = 'desk') {
  const t = await testHub(options);
  return { t, device: await t.enrol(name) };
}

export const invoke = (prompt: string) => ({ type: 'invoke', prompt });

/** Keeps what would be pushed; answers `status`, or fails as a service that is away. */
export class FakePush implements PushSender {
  readonly publicKey = `B${'A'.repeat(86)}`;
  readonly sent: { to: string; notice: Notice }[] = [];
  /** By the endpoint; 201 for the rest. */
  readonly status = new Map<string, number | Error>();
  /** What services take their time with, where a test says so. */
  slow: Promise<void> | undefined;

  refuses(endpoint: string): string | undefined {
    return endpoint.startsWith('https://') ? undefined : 'endpoint must be https';
  }

  async send(to: Subscription, payload: string): Promise<number> {
    this.sent.push({ to: to.endpoint, notice: JSON.parse(payload) });
    await this.slow;
    const status = this.status.get(to.endpoint) ?? 201;
    if (status instanceof Error) throw status;
    return status;
  }
}

export const browser = (endpoint = 'https://push.example/a') => ({
  endpoint,
  keys: { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) },
});
