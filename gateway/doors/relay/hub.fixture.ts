/** A hub that answers in place of the network, and misbehaves on demand. */
import type { Fetch } from './client.js';

export const HUB = 'http://hub.test';

export interface Seen {
  method: string;
  path: string;
  body: Record<string, unknown>;
  headers: Headers;
}

type Responder = (seen: Seen) => Response | Promise<Response>;

export const json = (status: number, body: unknown): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } });
export const no = (status: number, error: string, more: object = {}): Response =>
  json(status, { ok: false, error, ...more });
/** Never answers. */
export const silence = (): Promise<Response> => new Promise(() => undefined);

export class FakeHub {
  readonly seen: Seen[] = [];
  /** No connection at all. */
  down = false;
  readonly replies = new Map<string, string>();
  readonly claimed = new Set<string>();
  /** Envelopes that another gateway has. */
  readonly taken = new Set<string>();
  readonly items: Record<string, unknown>[] = [];
  /** Mailbox of a tiny hub, by device id. */
  readonly mail = new Map<string, { id: string; payload: string; created_at: number }[]>();
  /** Tokens that a tiny hub takes; none of them once `revoked`. */
  revoked = false;
  readonly #faults = new Map<string, Responder[]>();
  readonly #always = new Map<string, Responder>();
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  #events = 0;

  constructor(readonly kind: 'own' | 'tiny' = 'own') {}

  /** The next answer on this route, once. */
  once(route: string, responder: Responder): void {
    this.#faults.set(route, [...(this.#faults.get(route) ?? []), responder]);
  }

  /** Every answer on this route, until undefined. */
  always(route: string, responder: Responder | undefined): void {
    if (responder) this.#always.set(route, responder);
    else this.#always.delete(route);
  }

  of(route: string): Seen[] {
    return this.seen.filter(({ method, path }) => `${method} ${path}` === route);
  }

  fetch: Fetch = async (url, init) => {
    if (this.down) {
      const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      throw new TypeError('fetch failed', { cause });
    }
    const { pathname } = new URL(url);
    const method = init.method ?? 'GET';
    const text = typeof init.body === 'string' ? init.body : '{}';
    const body = JSON.parse(text) as Record<string, unknown>;
    const seen = { method, path: pathname, body, headers: new Headers(init.headers) };
    this.seen.push(seen);
    const route = `${method} ${pathname}`;
    const fault = this.#faults.get(route)?.shift() ?? this.#always.get(route);
    if (fault) return fault(seen);
    return route === 'GET /api/gateway/v1/stream'
      ? this.#open(init.signal ?? undefined)
      : this.#answer(route, seen);
  };

  /** An event on the stream, if one is open. */
  tell(event: string, data: unknown, id?: string): void {
    this.raw(
      `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
    );
  }

  raw(text: string): void {
    this.#stream?.enqueue(new TextEncoder().encode(text));
  }

  offer(envelopeId: string, boardId: string, payload: unknown): void {
    this.#events++;
    const data = {
      envelope_id: envelopeId,
      device_id: `dev-${boardId}`,
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
      created_at: 1_800_000_000,
      expires_at: 1_800_003_600,
    };
    this.tell('offer', data, String(this.#events));
  }

  invoke(envelopeId: string, boardId: string, prompt: string): void {
    this.offer(envelopeId, boardId, { type: 'invoke', prompt });
  }

  get streaming(): boolean {
    return this.#stream !== undefined;
  }

  cut(): void {
    this.#stream?.error(new Error('socket hang up'));
    this.#stream = undefined;
  }

  /** Items that went up, of one kind. */
  up(kind: string): Record<string, unknown>[] {
    return this.items.filter((item) => item.kind === kind);
  }

  reply(envelopeId: string): Record<string, unknown> | undefined {
    const text = this.replies.get(envelopeId);
    return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>);
  }

  #open(signal: AbortSignal | undefined): Response {
    let mine: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        mine = controller;
        this.#stream = controller;
        controller.enqueue(new TextEncoder().encode(': hello\n\n'));
      },
      cancel: () => {
        if (this.#stream === mine) this.#stream = undefined;
      },
    });
    signal?.addEventListener('abort', () => {
      if (this.#stream === mine) this.#stream = undefined;
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }

  #answer(route: string, { body }: Seen): Response {
    switch (route) {
      case 'GET /api/health': {
        const gateway = { version: 1, stream: '/api/gateway/v1/stream' };
        const health = { ok: true, service: 'web', sseTerminator: '[DONE]' };
        return json(200, this.kind === 'own' ? { ...health, gateway } : health);
      }
      case 'POST /api/gateway/v1/boards':
        return json(200, { ok: true, device_id: `dev-${body.boardId}` });
      case 'POST /api/gateway/v1/claim':
        return this.#claim(body.envelope_ids as string[]);
      case 'POST /api/gateway/v1/reply':
        return this.#reply(body.replies as { envelope_id: string; payload: string }[]);
      case 'POST /api/gateway/v1/up': {
        const items = body.items as Record<string, unknown>[];
        this.items.push(...items);
        return json(200, {
          ok: true,
          ack: Math.max(...items.map(({ seq }) => Number(seq))),
          refused: [],
        });
      }
      case 'POST /api/gateway/v1/media':
      case 'POST /api/media':
        return json(200, { ok: true, key: 'k.png', url: '/media/k.png', bytes: 1 });
      case 'POST /api/devices/ask':
        return json(200, { ok: true, text: 'It is noon.', card: { type: 'text' } });
      case 'POST /api/devices/messages':
        return json(200, { ok: true, unread: 2, from: [] });
      case 'POST /api/devices':
        return json(200, {
          ok: true,
          device_id: `dev-${body.name}`,
          device_token: `tind_${'t'.repeat(43)}`,
        });
      case 'POST /api/devices/adopt':
        return json(200, {
          ok: true,
          device_id: body.deviceId,
          device_token: `tind_${'a'.repeat(43)}`,
        });
      default:
        return this.#device(route, body);
    }
  }

  #device(route: string, body: Record<string, unknown>): Response {
    if (this.revoked) return no(401, 'unauthorized');
    switch (route) {
      case 'PUT /api/devices/relay': {
        const box = this.mail.get(String(body.deviceId)) ?? [];
        return json(200, { ok: true, messages: box.splice(0, Number(body.max)) });
      }
      case 'PATCH /api/devices/relay':
        this.replies.set(String(body.inReplyTo), String(body.payload));
        return json(200, { ok: true });
      case 'POST /api/devices/transcript':
        return json(200, { ok: true, id: 'tr1' });
      case 'POST /api/devices/task-result':
        return json(200, { ok: true, ticket: 'task_00000000_x' });
      case 'POST /api/devices/heartbeat':
      case 'POST /api/devices/event':
        return json(200, { ok: true });
      default:
        return no(404, 'not found');
    }
  }

  #claim(ids: string[]): Response {
    const mine = ids.filter((id) => !this.taken.has(id));
    for (const id of mine) this.claimed.add(id);
    const lost = ids
      .filter((id) => this.taken.has(id))
      .map((envelope_id) => ({ envelope_id, why: 'taken' }));
    return json(200, { ok: true, claimed: mine, lost });
  }

  #reply(replies: { envelope_id: string; payload: string }[]): Response {
    const results = replies.map(({ envelope_id, payload }) => {
      if (!this.claimed.has(envelope_id)) return { envelope_id, status: 'unknown' };
      if (!this.replies.has(envelope_id)) this.replies.set(envelope_id, payload);
      return { envelope_id, status: 'stored' };
    });
    return json(200, { ok: true, results });
  }
}
