/** One MCP client: a server of the SDK on a streamable HTTP transport, for one owner. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MCP_INSTRUCTIONS } from '../../protocol/mcp-tools.js';
import type { HubContext } from '../context.js';
import { newId } from '../ids.js';
import { Calls } from './calls.js';

/** A session that nobody has used for so long is forgotten; its client begins another. */
export const IDLE_MS = 30 * 60_000;
/** Changes of boards that come together are told once. */
export const TELL_MS = 200;
/** For the last answers to leave; real time, since it is the sockets' own. */
const CLOSE_MS = 500;

export interface SessionEvents {
  opened(id: string): void;
  /** Called once. */
  closed(): void;
}

export class McpSession {
  /** On the hub's monotonic clock: when a request last began or ended. */
  usedAt: number;
  private readonly calls: Calls;
  private readonly server: Server;
  private readonly transport: StreamableHTTPServerTransport;
  /** Requests whose answer, or stream, is still open. */
  private readonly open = new Set<{ method: string; ended: Promise<void> }>();
  private idle: { cancel(): void } | undefined;
  private telling: { cancel(): void } | undefined;
  private untold = false;
  private over = false;

  constructor(
    private readonly ctx: HubContext,
    readonly ownerId: string,
    private readonly events: SessionEvents,
  ) {
    this.usedAt = ctx.clock.now();
    this.calls = new Calls(ctx, ownerId);
    this.transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: newId,
      onsessioninitialized: (id) => events.opened(id),
      onsessionclosed: () => this.end(),
    });
    this.server = new Server(
      { name: 'motebridge', title: ctx.siteName, version: '1' },
      { capabilities: { tools: { listChanged: true } }, instructions: MCP_INSTRUCTIONS },
    );
    this.server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
      this.calls.list(params?.cursor),
    );
    this.server.setRequestHandler(
      CallToolRequestSchema,
      async ({ params }, { signal, requestId }) => {
        const cancelled = new AbortController();
        signal.addEventListener('abort', () => {
          // A session that ends takes nothing back: its calls go on and can be read later.
          if (this.over) return;
          cancelled.abort();
          // Nothing will be answered on this stream any more.
          this.transport.closeSSEStream(requestId);
        });
        return this.calls.call(params.name, params.arguments ?? {}, cancelled.signal);
      },
    );
  }

  async start(): Promise<void> {
    await this.server.connect(this.transport);
  }

  /** In use, or holding a stream open. */
  get busy(): boolean {
    return this.open.size > 0;
  }

  /** Answers the request by itself; the reply is hijacked already. */
  async handle(request: FastifyRequest, { raw }: FastifyReply): Promise<void> {
    this.idle?.cancel();
    this.usedAt = this.ctx.clock.now();
    const ended = new Promise<void>((done) => raw.once('close', done));
    const one = { method: request.method, ended };
    this.open.add(one);
    void ended.then(() => {
      this.open.delete(one);
      this.usedAt = this.ctx.clock.now();
      if (!this.busy) this.rest();
    });
    // What was untold for want of a stream is told on this one.
    if (request.method === 'GET' && this.untold) this.changed();
    // Undefined would make the transport read a body that was read already.
    await this.transport.handleRequest(request.raw, raw, request.body ?? null);
    if (this.transport.sessionId === undefined) this.end();
  }

  /** The owner's boards, or what they can do, changed. */
  changed(): void {
    this.calls.forget();
    this.telling ??= this.ctx.clock.after(TELL_MS, () => {
      this.telling = undefined;
      this.untold = ![...this.open].some(({ method }) => method === 'GET');
      if (!this.untold) void this.server.sendToolListChanged().catch(() => {});
    });
  }

  /** Its client has to show again that it may listen. */
  hangUp(): void {
    this.transport.closeStandaloneSSEStream();
  }

  /** Answers what waits, as far as it can be answered at once, and ends. */
  async close(): Promise<void> {
    await this.calls.settled();
    const answers = [...this.open].filter(({ method }) => method !== 'GET');
    await Promise.race([
      Promise.all(answers.map(({ ended }) => ended)),
      new Promise<void>((done) => setTimeout(done, CLOSE_MS).unref()),
    ]);
    this.end();
  }

  /** Ends it here and now. */
  end(): void {
    if (this.over) return;
    this.over = true;
    this.idle?.cancel();
    this.telling?.cancel();
    this.events.closed();
    void this.server.close().catch(() => {});
  }

  private rest(): void {
    if (this.over) return;
    this.idle?.cancel();
    this.idle = this.ctx.clock.after(IDLE_MS, () => this.end());
  }
}
