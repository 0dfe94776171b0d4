/** Fastify as the hub uses it: zod schemas, and who is asking on the request. */
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Gateway } from '../gateways.js';
import type { Owner } from '../owner.js';
import type { Rates } from './rates.js';

export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

declare module 'fastify' {
  interface FastifyRequest {
    owner: Owner | null;
    gateway: Gateway | null;
  }
  interface FastifyInstance {
    rates: Rates;
  }
  interface FastifyContextConfig {
    /** What a route answers when the store can't be reached. Default: 424, try again. */
    down?: { status: number; error?: string };
  }
}
