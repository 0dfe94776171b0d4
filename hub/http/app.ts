/** The Fastify instance: bodies, schemas, errors, headers, documents. */
import cookie from '@fastify/cookie';
import swagger from '@fastify/swagger';
import Fastify, { type FastifyReply } from 'fastify';
import {
  createJsonSchemaTransform,
  validatorCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import type { HubContext } from '../context.js';
import { answerError } from './errors.js';
import { SECURITY_HEADERS } from './headers.js';
import { parseJson } from './json.js';
import { addRates } from './rates.js';
import type { App } from './types.js';

export async function createApp(ctx: HubContext): Promise<App> {
  const app = Fastify({
    bodyLimit: ctx.limits.body,
    // The hub's own log says what matters; a line for each request would say too much.
    logger: false,
    forceCloseConnections: true,
    requestTimeout: ctx.limits.requestMs,
    http: {
      headersTimeout: ctx.limits.headersMs,
      connectionsCheckingInterval: Math.ceil(ctx.limits.headersMs / 2),
    },
    // A reverse proxy on this machine tells whose request it carries; nobody else is believed.
    trustProxy: 'loopback',
    routerOptions: { maxParamLength: 256 },
    // Paths that can't even be decoded never reach a route.
    frameworkErrors: (error, _request, reply) => {
      const status = error.statusCode ?? 400;
      (reply as unknown as FastifyReply)
        .status(status)
        .headers(SECURITY_HEADERS)
        .send({ ok: false, error: 'the path could not be read' });
    },
  }).withTypeProvider<ZodTypeProvider>();
  app.server.maxConnections = ctx.limits.connections;
  app.setValidatorCompiler(validatorCompiler);
  // Answers are ours: they are written as they are, their schemas are for the documents.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler(answerError(ctx));
  app.setNotFoundHandler((_request, reply) => {
    reply.status(404).send({ ok: false, error: 'not found' });
  });
  app.decorateRequest('owner', null);
  app.decorateRequest('gateway', null);
  app.removeAllContentTypeParsers();
  // Whatever the content type says: small boards often say nothing, or something else.
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
    done(null, parseJson(String(body)));
  });
  app.addHook('onSend', async (_request, reply) => {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
      if (!reply.hasHeader(name)) reply.header(name, value);
    }
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
  });
  await addRates(app, ctx);
  await app.register(cookie);
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Motebridge hub',
        description:
          'The tiny Devices API, use_device, and the protocol between the hub and its gateways.',
        version: '1',
      },
      components: {
        securitySchemes: {
          session: { type: 'apiKey', in: 'cookie', name: 'tiny_session' },
          owner: { type: 'http', scheme: 'bearer', description: 'mto_…' },
          gateway: { type: 'http', scheme: 'bearer', description: 'mgw_…' },
        },
      },
    },
    transform: createJsonSchemaTransform({ zodToJsonConfig: { unrepresentable: 'any' } }),
  });
  return app;
}
