/**
 * What a hub's client needs of `fetch`, over undici's own request: a call waits for two requests
 * to its hub, and the streams, headers and checks of the built-in one are most of their cost.
 * Connections are kept, redirects are refused, nothing is sent twice.
 */
import { Agent, request } from 'undici';
import type { Fetch, HubAnswer, HubBody } from '../doors/relay/client.js';

export interface HttpFetch {
  /**
   * The answer's body streams. Rejects as `fetch` does: with the signal's reason where it was
   * aborted, else with `TypeError` and the transport's error (its `code`) as `cause`.
   */
  readonly fetch: Fetch;
  /** Ends the connections, those in use too. */
  close(): void;
}

/** A hub that says nothing of its own limit may close an idle connection after 5 s. */
const IDLE_MS = 4_000;

type Incoming = Awaited<ReturnType<typeof request>>['body'];

/** `ca`: PEM of the authority that signed the hub's certificate, where it is not a public one. */
export function httpFetch(options: { ca?: string } = {}): HttpFetch {
  // The door has deadlines of its own, and a stream may be silent for long.
  const agent = new Agent({
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: options,
  });

  async function fetch(url: string, init: Parameters<Fetch>[1]): Promise<HubAnswer> {
    const { method, body, signal } = init;
    signal.throwIfAborted();
    const answer = await request(url, {
      dispatcher: agent,
      method: method as 'GET',
      // Nothing here unpacks an answer.
      headers: { ...init.headers, 'accept-encoding': 'identity' },
      body: body instanceof ArrayBuffer ? new Uint8Array(body) : (body ?? null),
      signal,
    }).catch((cause: unknown) => {
      throw signal.aborted ? signal.reason : new TypeError('fetch failed', { cause });
    });
    const { statusCode: status, headers: said } = answer;
    // An answer that nobody reads on may still break.
    answer.body.on('error', () => {});
    if (status >= 300 && status < 400 && said.location !== undefined) {
      answer.body.destroy();
      throw new TypeError('fetch failed', { cause: new Error('unexpected redirect') });
    }
    return {
      ok: status >= 200 && status < 300,
      status,
      headers: { get: (name) => said[name.toLowerCase()]?.toString() ?? null },
      body: bodyOf(answer.body, signal),
    };
  }

  return { fetch, close: () => void agent.destroy().catch(() => {}) };
}

/** Reads no further than its reader does; an answer that is cut off is an error, never an end. */
function bodyOf(incoming: Incoming, signal: AbortSignal): HubBody {
  const parts = incoming[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  return {
    getReader: () => ({
      async read() {
        const { done, value } = await parts.next().catch((cause: unknown) => {
          throw signal.aborted ? signal.reason : new TypeError('terminated', { cause });
        });
        return done === true ? { done: true } : { done: false, value };
      },
      cancel: async () => void incoming.destroy(),
    }),
    cancel: async () => void incoming.destroy(),
  };
}
