/**
 * How often an address and an owner may ask. Routes of devices and gateways have no such limit:
 * a fleet behind one address must not shut itself out (wire document, part A0); for them bodies,
 * connections and time are bounded.
 */
import rateLimit, { type FastifyRateLimitStore } from '@fastify/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HubClock } from '../clock.js';
import type { HubContext } from '../context.js';
import { Refusal } from '../refusal.js';
import type { App } from './types.js';

const WINDOW_MS = 60_000;
/** Windows remembered for each limit; beyond it the oldest is forgotten. */
const REMEMBERED = 10_000;

type Check = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** Each rejects with a 429 and sets Retry-After. */
export interface Rates {
  /** On every route of sessions, before it is known who asks. */
  address: Check;
  /** On the same, by who asked; needs `request.owner`. */
  owner: Check;
  /** Where a secret is tried: login and the exchange of codes. */
  login: Check;
}

/** The plugin's own store counts by the wall clock, which may be set; this one by the hub's. */
function storeOn(clock: HubClock) {
  return class Windows implements FastifyRateLimitStore {
    private readonly windows = new Map<string, { began: number; count: number }>();

    incr(
      key: string,
      done: (error: Error | null, result?: { current: number; ttl: number }) => void,
      windowMs: number,
    ): void {
      const now = clock.now();
      let window = this.windows.get(key);
      if (window === undefined || now - window.began >= windowMs) {
        // To the end of the order of age.
        this.windows.delete(key);
        window = { began: now, count: 0 };
        this.windows.set(key, window);
        const [oldest] = this.windows.keys();
        if (this.windows.size > REMEMBERED && oldest !== undefined) this.windows.delete(oldest);
      }
      window.count += 1;
      done(null, { current: window.count, ttl: windowMs - (now - window.began) });
    }

    child(): Windows {
      return new Windows();
    }
  };
}

export async function addRates(app: App, ctx: HubContext): Promise<void> {
  await app.register(rateLimit, { global: false, store: storeOn(ctx.clock) });
  const { limits } = ctx;
  const limit = (max: number, who: string, key?: (request: FastifyRequest) => string): Check => {
    const check = app.createRateLimit({
      max,
      timeWindow: WINDOW_MS,
      ...(key === undefined ? {} : { keyGenerator: key }),
    });
    return async (request, reply) => {
      const told = await check(request);
      if (told.isAllowed || !told.isExceeded) return;
      const seconds = Math.max(1, told.ttlInSeconds);
      reply.header('retry-after', String(seconds));
      throw new Refusal(
        429,
        `too many requests from ${who}; nothing was done, try again in ${seconds} s`,
        { retryable: true },
      );
    };
  };
  app.decorate('rates', {
    address: limit(limits.addressPerMinute, 'this address'),
    owner: limit(limits.ownerPerMinute, 'this owner', (request) => request.owner?.id ?? ''),
    login: limit(limits.loginsPerMinute, 'this address'),
  });
}
