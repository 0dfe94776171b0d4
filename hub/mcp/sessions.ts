/** The sessions of all MCP clients: each its owner's, bounded in number. */
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HubContext } from '../context.js';
import { McpSession } from './session.js';

export class McpSessions {
  private readonly byId = new Map<string, McpSession>();
  /** Those that are about to begin, too. */
  private readonly all = new Set<McpSession>();
  private readonly deaf: () => void;
  private closed = false;

  constructor(private readonly ctx: HubContext) {
    this.deaf = ctx.bus.watch({
      fleetChanged: (ownerId) => {
        for (const session of this.of(ownerId)) session.changed();
      },
      hangUp: (ownerId) => {
        for (const session of this.of(ownerId)) session.hangUp();
      },
    });
  }

  async handle(ownerId: string, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const session =
      id === undefined ? await this.begin(ownerId, request, reply) : this.find(ownerId, id, reply);
    if (!session) return;
    reply.hijack();
    const { raw } = reply;
    raw.setHeader('x-content-type-options', 'nosniff');
    raw.setHeader('cache-control', 'no-store');
    try {
      await session.handle(request, reply);
    } catch (error) {
      this.ctx.log.error({ err: error }, 'an MCP request failed');
      if (!raw.headersSent) raw.writeHead(424);
      raw.end();
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    this.deaf();
    await Promise.all([...this.all].map((session) => session.close()));
  }

  /** Others' sessions are as unknown as none. */
  private find(
    ownerId: string,
    id: string | string[],
    reply: FastifyReply,
  ): McpSession | undefined {
    const session = typeof id === 'string' ? this.byId.get(id) : undefined;
    if (session?.ownerId === ownerId) return session;
    refuse(
      reply,
      404,
      -32_001,
      'Session not found: it ended, or the hub was started again. Initialize again.',
    );
    return undefined;
  }

  private async begin(
    ownerId: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<McpSession | undefined> {
    if (request.method !== 'POST' || !isInitializeRequest(request.body)) {
      refuse(
        reply,
        400,
        -32_000,
        'Bad Request: begin with initialize, then send its Mcp-Session-Id.',
      );
      return undefined;
    }
    if (this.closed) {
      refuse(reply, 503, -32_000, 'The hub is being stopped; try again when it is back.');
      return undefined;
    }
    if (!this.makeRoom(ownerId)) {
      reply.header('retry-after', '30');
      const most = this.ctx.limits.mcpSessions;
      refuse(reply, 429, -32_000, `${most} MCP clients are connected already; close one of them.`);
      return undefined;
    }
    let id: string | undefined;
    const session: McpSession = new McpSession(this.ctx, ownerId, {
      opened: (given) => {
        id = given;
        this.byId.set(given, session);
      },
      closed: () => {
        this.all.delete(session);
        if (id !== undefined) this.byId.delete(id);
      },
    });
    this.all.add(session);
    await session.start();
    return session;
  }

  private of(ownerId: string): McpSession[] {
    return [...this.all].filter((session) => session.ownerId === ownerId);
  }

  /** Many clients never say that they leave: the one that rested longest goes. */
  private makeRoom(ownerId: string): boolean {
    const theirs = this.of(ownerId);
    if (theirs.length < this.ctx.limits.mcpSessions) return true;
    const resting = theirs.filter(({ busy }) => !busy).sort((a, b) => a.usedAt - b.usedAt);
    resting[0]?.end();
    return resting.length > 0;
  }
}

function refuse(reply: FastifyReply, status: number, code: number, message: string): void {
  void reply.status(status).send({ jsonrpc: '2.0', error: { code, message }, id: null });
}
