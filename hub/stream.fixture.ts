/** Event streams over real sockets, as tests hear them. */
import { createParser } from 'eventsource-parser';
import { onCleanup } from './cleanup.fixture.js';
import type { TestHub } from './hub.fixture.js';

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

/** The push stream of a gateway. */
export async function gatewayStream(
  t: TestHub,
  token: string,
  lastEventId?: string,
): Promise<Listener> {
  return Listener.open(`${await t.url()}/api/gateway/v1/stream`, token, resume(lastEventId));
}

/** The stream of an owner. */
export async function ownerStream(
  t: TestHub,
  token = t.token,
  lastEventId?: string,
): Promise<Listener> {
  return Listener.open(`${await t.url()}/api/stream`, token, resume(lastEventId));
}

function resume(id: string | undefined): Record<string, string> {
  return id === undefined ? {} : { 'last-event-id': id };
}

/** Resolves when the hub has noticed that the next request's connection is closed. */
export function nextClose(t: TestHub): Promise<void> {
  return new Promise((resolve) => {
    t.hub.app.server.once('request', (_request, response) => response.once('close', resolve));
  });
}
