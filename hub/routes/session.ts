/** `POST /api/login`, `POST /api/logout`, `GET /api/me`: an owner's token for a browser session. */
import { z } from 'zod';
import { bodyOf, filled, refusal } from '../../protocol/tiny.js';
import type { HubContext } from '../context.js';
import { COOKIE, isForeign, loginGate, ownerOf, sessionGate } from '../http/auth.js';
import type { App } from '../http/types.js';
import { closeSession, openSession, SESSION_S } from '../owners.js';
import { Refusal } from '../refusal.js';
import { ownerByToken } from '../tokens.js';

const owner = z.object({ id: z.string(), name: z.string() });
const loginReply = z.object({ ok: z.literal(true), owner });

export function cookieOptions(ctx: HubContext) {
  const secure = ctx.publicUrl?.startsWith('https:') ?? false;
  return { path: '/', httpOnly: true, sameSite: 'lax', secure } as const;
}

export function sessionRoutes(app: App, ctx: HubContext): void {
  const cookie = cookieOptions(ctx);

  app.post(
    '/api/login',
    {
      config: { down: { status: 503 } },
      onRequest: loginGate,
      schema: {
        body: bodyOf({ token: filled('token required') }),
        response: { 200: loginReply, 401: refusal, 403: refusal },
      },
    },
    async (request, reply) => {
      // A form of any page could sign its visitor in as somebody else, who then reads along.
      if (isForeign(ctx, request)) {
        throw new Refusal(403, 'this is for the hub’s own page; nobody was signed in');
      }
      const found = ownerByToken(ctx, request.body.token.trim());
      if (!found) throw new Refusal(401, 'unknown token');
      const secret = await openSession(ctx, found);
      reply.setCookie(COOKIE, secret, { ...cookie, maxAge: SESSION_S });
      return { ok: true as const, owner: { id: found.id, name: found.name } };
    },
  );

  app.post(
    '/api/logout',
    { config: { down: { status: 503 } }, onRequest: sessionGate(ctx) },
    async (request, reply) => {
      const secret = request.cookies[COOKIE];
      if (secret !== undefined) await closeSession(ctx, ownerOf(request).id, secret);
      reply.clearCookie(COOKIE, cookie);
      return { ok: true };
    },
  );

  app.get(
    '/api/me',
    {
      config: { down: { status: 503 } },
      onRequest: sessionGate(ctx),
      schema: { response: { 200: loginReply } },
    },
    async (request) => ({ ok: true as const, owner: ownerOf(request) }),
  );
}
