/** `GET /api/health` (wire document, part A11) and `GET /openapi.json`. */
import { healthReply } from '../../protocol/tiny.js';
import type { HubContext } from '../context.js';
import type { App } from '../http/types.js';

export const GATEWAY_STREAM = '/api/gateway/v1/stream';

export function serviceRoutes(app: App, ctx: HubContext): void {
  app.get('/api/health', { schema: { response: { 200: healthReply } } }, async (request, reply) => {
    // Without a name of its own the hub says the one it was asked by, which is no answer for others.
    const scope = ctx.publicUrl === undefined ? 'private' : 'public';
    reply.header('cache-control', `${scope}, max-age=60`);
    const here = `${request.protocol}://${request.host}`;
    return {
      ok: true as const,
      service: 'web' as const,
      sseTerminator: '[DONE]',
      siteName: ctx.siteName,
      workerUrl: ctx.publicUrl ?? here,
      workerConfigured: true,
      paymentsEnabled: false,
      ...(ctx.tinyOnly ? {} : { gateway: { version: 1 as const, stream: GATEWAY_STREAM } }),
    };
  });

  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
}
