/** `/mcp`: the owner's boards over the Model Context Protocol, by its streamable HTTP transport. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HubContext } from '../context.js';
import { bearerOf, ownerOf } from '../http/auth.js';
import type { App } from '../http/types.js';
import type { McpSessions } from '../mcp/sessions.js';
import { loginRequired, Refusal } from '../refusal.js';
import { ownerByToken } from '../tokens.js';

/** Answers how to end what is open. */
export function mcpRoutes(app: App, ctx: HubContext): { close(): Promise<void> } {
  // The SDK is read when the first client comes: a hub without one does not pay for it.
  let sessions: Promise<McpSessions> | undefined;
  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: '/mcp',
    config: { down: { status: 503 } },
    schema: { hide: true },
    onRequest: async (request, reply) => {
      if (!isOwnOrigin(ctx, request)) {
        throw new Refusal(403, 'pages of this origin may not use the hub');
      }
      await app.rates.address(request, reply);
      request.owner = ownerOfBearer(ctx, request, reply);
      await app.rates.owner(request, reply);
    },
    handler: async (request, reply) => {
      sessions ??= import('../mcp/sessions.js').then(({ McpSessions }) => new McpSessions(ctx));
      await (await sessions).handle(ownerOf(request).id, request, reply);
      return reply;
    },
  });
  return {
    async close() {
      await (await sessions)?.close();
    },
  };
}

/** The token alone: a cookie would come along with any page's request. */
function ownerOfBearer(ctx: HubContext, request: FastifyRequest, reply: FastifyReply) {
  const bearer = bearerOf(request);
  const owner = bearer === undefined ? undefined : ownerByToken(ctx, bearer);
  if (owner) return { id: owner.id, name: owner.name };
  reply.header('www-authenticate', 'Bearer');
  throw loginRequired();
}

/**
 * Against DNS rebinding: a page that calls itself by a name of its own is refused even where
 * that name leads here. Programs send no origin.
 */
function isOwnOrigin(ctx: HubContext, request: FastifyRequest): boolean {
  const { origin } = request.headers;
  if (origin === undefined) return true;
  let url: URL;
  try {
    url = new URL(origin);
  } catch {
    return false;
  }
  if (ctx.publicUrl !== undefined && url.origin === new URL(ctx.publicUrl).origin) return true;
  if (/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) return true;
  const isAddress = /^(\d+(\.\d+){3}|\[[0-9a-f:.]+\])$/.test(url.hostname);
  return isAddress && url.host === request.headers.host;
}
