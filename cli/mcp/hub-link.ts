/**
 * The hub's `/mcp` as a client that outlives the hub: a session that is gone is begun anew, a
 * hub that is away is tried again until it is back.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { CliError, EXIT, systemCode } from '../fault.js';
import type { Target } from '../target.js';

export interface LinkEvents {
  /** The tools changed, or may have: the hub was away. */
  changed(): void;
  /** Once for each loss and each return. */
  state(state: 'open' | 'lost', why: string): void;
}

const CONNECT_MS = 15_000;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5_000;

export class HubLink {
  private current: Client | undefined;
  private connecting: Promise<Client> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private pause = FIRST_PAUSE_MS;
  private away = false;
  private closed = false;

  constructor(
    private readonly target: Target,
    private readonly version: string,
    private readonly events: LinkEvents,
  ) {}

  /** The client of a live session; tries at once where there is none. Rejects with `CliError`. */
  client(): Promise<Client> {
    if (this.current) return Promise.resolve(this.current);
    this.connecting ??= this.connect().finally(() => {
      this.connecting = undefined;
    });
    return this.connecting;
  }

  /** This client's session is gone. Its requests that are under way reject. */
  lost(client: Client, why: string): void {
    if (client !== this.current) return;
    this.current = undefined;
    this.say('lost', why);
    void client.close().catch(() => {});
    this.again();
  }

  /** Ends the session at the hub, too, where that is quick. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    const client = this.current;
    this.current = undefined;
    const transport = client?.transport;
    if (transport instanceof StreamableHTTPClientTransport) {
      const soon = new Promise<void>((done) => setTimeout(done, 500).unref());
      await Promise.race([transport.terminateSession().catch(() => {}), soon]);
    }
    await client?.close().catch(() => {});
  }

  private async connect(): Promise<Client> {
    clearTimeout(this.timer);
    const client = new Client({ name: 'motebridge', version: this.version });
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => this.events.changed());
    const transport = new StreamableHTTPClientTransport(new URL(`${this.target.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${this.target.token}` } },
      fetch: (url, init) => this.fetch(client, url, init),
      // A stream that broke off is opened once more; if that fails, `fetch` says what is lost.
      reconnectionOptions: {
        initialReconnectionDelay: FIRST_PAUSE_MS,
        maxReconnectionDelay: FIRST_PAUSE_MS,
        reconnectionDelayGrowFactor: 1,
        maxRetries: 1,
      },
    });
    try {
      await client.connect(transport, { timeout: CONNECT_MS });
    } catch (error) {
      await client.close().catch(() => {});
      this.again();
      const fault = faultOf(this.target, error);
      this.say('lost', fault.message);
      throw fault;
    }
    if (this.closed) {
      await client.close().catch(() => {});
      throw new CliError('closed', 'This ends; nothing was sent.');
    }
    this.current = client;
    this.pause = FIRST_PAUSE_MS;
    this.say('open', '');
    return client;
  }

  /**
   * Sees every answer first: that is how the loss of a session shows. It is told only after the
   * transport has dealt with this answer, which closing it would cut off.
   */
  private async fetch(
    client: Client,
    url: string | URL,
    init: RequestInit | undefined,
  ): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(url, init);
    } catch (error) {
      if (init?.signal?.aborted !== true) this.lostSoon(client, faultOf(this.target, error));
      throw error;
    }
    const deaf = init?.method === 'GET' && !response.ok;
    if (deaf || response.status === 404 || response.status === 401) {
      this.lostSoon(client, refusalOf(this.target, response.status));
    }
    return response;
  }

  private lostSoon(client: Client, fault: CliError): void {
    setTimeout(() => this.lost(client, fault.message), 0);
  }

  private again(): void {
    clearTimeout(this.timer);
    if (this.closed) return;
    this.timer = setTimeout(() => void this.client().catch(() => {}), this.pause);
    this.pause = Math.min(MAX_PAUSE_MS, this.pause * 2);
  }

  private say(state: 'open' | 'lost', why: string): void {
    if (this.closed || this.away === (state === 'lost')) return;
    this.away = state === 'lost';
    this.events.state(state, why);
    if (state === 'open') this.events.changed();
  }
}

/** What hinders, as a person or an agent can mend it. */
export function faultOf(target: Target, error: unknown): CliError {
  const status = statusOf(error);
  if (status !== undefined) return refusalOf(target, status);
  const code = systemCode(error);
  return new CliError(
    'hub_unreachable',
    `No hub answers at ${target.url}${code === '' ? '' : ` (${code})`}; start one with \`motebridge start\`, or set MOTEBRIDGE_URL to where it runs.`,
    EXIT.unreachable,
  );
}

/** The HTTP status that an error of the SDK's transport carries. */
export function statusOf(error: unknown): number | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'number' && code >= 100 && code < 600 ? code : undefined;
}

function refusalOf({ url }: Target, status: number): CliError {
  if (status === 401) {
    return new CliError(
      'unauthorized',
      `${url} does not accept this token; set MOTEBRIDGE_TOKEN to the one that \`motebridge start\` prints.`,
      EXIT.refused,
    );
  }
  if (status === 404) {
    return new CliError(
      'no_mcp',
      `${url} has no session for this, or no /mcp at all; check that MOTEBRIDGE_URL names a Motebridge hub.`,
      EXIT.refused,
    );
  }
  return new CliError('hub', `${url} can't answer now (${status}); try again shortly.`);
}
