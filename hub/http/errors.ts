/** Every refusal as `{ok:false,error}`; no route ever answers 500. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { StoreUnavailable } from '../../store/index.js';
import type { HubContext } from '../context.js';
import { Refusal } from '../refusal.js';

export function answerError(ctx: HubContext) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    if (reply.sent) return;
    if (error instanceof Refusal) {
      reply.status(error.status).send({ ok: false, error: error.message, ...error.flags });
      return;
    }
    if (error.validation) {
      const sentence = error.validation[0]?.message ?? 'bad request';
      reply.status(400).send({ ok: false, error: sentence });
      return;
    }
    const { statusCode } = error;
    if (statusCode === 413) {
      reply.status(413).send({ ok: false, error: 'the body is too large; nothing was done' });
      return;
    }
    if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
      reply.status(statusCode).send({ ok: false, error: 'the request could not be read' });
      return;
    }
    const down = request.routeOptions.config.down;
    if (error instanceof StoreUnavailable) {
      ctx.log.error({ fault: error.fault, route: request.routeOptions.url }, error.message);
      const sentence = down?.error ?? 'storage unavailable; nothing was done, try again';
      reply.status(down?.status ?? 424).send({ ok: false, error: sentence, retryable: true });
      return;
    }
    // A fault of ours: said as one that may pass, and told in the log.
    ctx.log.error({ err: error, route: request.routeOptions.url }, 'a request failed');
    const sentence = down?.error ?? 'the hub could not do this; look at its log';
    reply.status(down?.status ?? 424).send({ ok: false, error: sentence, retryable: true });
  };
}
