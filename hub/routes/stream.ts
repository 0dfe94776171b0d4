/** `GET /api/stream` (session, SSE): events, presence, readings as they become durable. */

import { TINY_LIMITS } from '../../protocol/tiny.js';
import type { OwnerEvent } from '../bus.js';
import type { HubContext } from '../context.js';
import { eventsSince, lastEventId } from '../events.js';
import { ownerOf, sessionGate } from '../http/auth.js';
import { lastEventIdOf, SseStream } from '../http/sse.js';
import type { App } from '../http/types.js';
import { Refusal } from '../refusal.js';

export function streamRoutes(app: App, ctx: HubContext, open: Set<SseStream>): void {
  app.get(
    '/api/stream',
    // A HEAD would hold a stream open that says nothing.
    { config: { down: { status: 503 } }, onRequest: sessionGate(ctx), exposeHeadRoute: false },
    async (request, reply) => {
      const owner = ownerOf(request).id;
      if (ctx.bus.count(owner) >= ctx.limits.streams) {
        reply.header('retry-after', '30');
        throw new Refusal(503, 'too many streams are open; close one', { retryable: true });
      }
      const asked = lastEventIdOf(request);
      // A number from the future is from another database: then everything is new.
      const isFuture = asked !== undefined && asked > lastEventId(ctx, owner);
      const since = isFuture ? 0 : asked;
      const missed = since === undefined ? [] : eventsSince(ctx, owner, since, TINY_LIMITS.events);
      let last = since ?? 0;
      const stream = new SseStream(reply, ctx.clock, () => {
        off();
        open.delete(stream);
      });
      open.add(stream);
      for (const event of missed) {
        stream.send('event', event.data, event.id);
        last = event.id;
      }
      const listener = (event: OwnerEvent): void => {
        // What was read as missed may be told once more by its writer.
        if (event.type !== 'event') stream.send(event.type, event.data);
        else if (event.id > last) stream.send('event', event.data, event.id);
      };
      const off = ctx.bus.on(owner, listener, () => stream.end());
    },
  );
}
