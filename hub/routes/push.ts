/** Push for the owner's browsers: the hub's key, and who is subscribed. */
import { z } from 'zod';
import { asBody, bodyOf, filled, refusal } from '../../protocol/tiny.js';
import type { HubContext } from '../context.js';
import { ownerOf, sessionGate } from '../http/auth.js';
import type { App } from '../http/types.js';
import { subscribe, unsubscribe } from '../push.js';

const NEEDED = 'endpoint and keys required';

/** As `PushSubscription.toJSON()` of a browser gives it. */
const subscription = z.preprocess(
  asBody,
  z.object({
    endpoint: filled(NEEDED),
    keys: z.object(
      {
        // A point of 65 bytes and a secret of 16.
        p256dh: z.string({ error: NEEDED }).regex(/^[\w-]{87}=?$/, 'invalid keys'),
        auth: z.string({ error: NEEDED }).regex(/^[\w-]{22}(==)?$/, 'invalid keys'),
      },
      { error: NEEDED },
    ),
  }),
);

export function pushRoutes(app: App, ctx: HubContext): void {
  const config = { down: { status: 503 } };
  const onRequest = sessionGate(ctx);

  app.get(
    '/api/push',
    {
      config,
      onRequest,
      schema: { response: { 200: z.object({ ok: z.literal(true), key: z.string() }) } },
    },
    async () => ({ ok: true as const, key: ctx.push.publicKey }),
  );

  app.post(
    '/api/push',
    {
      config,
      onRequest,
      schema: {
        body: subscription,
        response: { 200: z.object({ ok: z.literal(true) }), 400: refusal },
      },
    },
    async (request) => {
      const { endpoint, keys } = request.body;
      await subscribe(ctx, ownerOf(request).id, { endpoint, ...keys });
      return { ok: true as const };
    },
  );

  app.delete(
    '/api/push',
    {
      config,
      onRequest,
      schema: {
        body: bodyOf({ endpoint: filled('endpoint required') }),
        response: { 200: z.object({ ok: z.literal(true), removed: z.number() }) },
      },
    },
    async (request) => {
      const gone = await unsubscribe(ctx, ownerOf(request).id, request.body.endpoint);
      return { ok: true as const, removed: gone ? 1 : 0 };
    },
  );
}
