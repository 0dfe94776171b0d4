/** The relay mailbox: `/api/devices/relay` (wire document, part A2). */
import type { FastifyReply } from 'fastify';
import {
  okReply,
  payloadText,
  refusal,
  relayPollReply,
  relayPollRequest,
  relayReadQuery,
  relayReadReply,
  relayReplyRequest,
  relaySendRefusal,
  relaySendReply,
  relaySendRequest,
  SAID,
} from '../../protocol/tiny.js';
import { StoreUnavailable } from '../../store/index.js';
import type { HubContext } from '../context.js';
import { deviceGate, deviceOf, ownerOf, sessionGate } from '../http/auth.js';
import { answerError } from '../http/errors.js';
import type { App } from '../http/types.js';
import { answer, poll, readReply, relayRefusal, send } from '../mailbox.js';
import { loginRequired, Refusal } from '../refusal.js';

/** Every way a send fails, as one of the seven outcomes (statements 39 to 41). */
export function sendRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof StoreUnavailable) {
    return error.fault === 'locked' || error.fault === 'closed'
      ? relayRefusal('unreachable', 'the mailbox can’t be reached now; try again')
      : relayRefusal('relay_fault', 'the mailbox could not store this; try again');
  }
  const status =
    error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : undefined;
  if (status === 413) return relayRefusal('too_big', 'payload must be valid JSON ≤8KB');
  if (status !== undefined && status >= 400 && status < 500) {
    return relayRefusal('bad_request', 'the request could not be read');
  }
  return relayRefusal('relay_fault', 'the mailbox failed; try again');
}

function refuse(reply: FastifyReply, { status, message, flags }: Refusal): void {
  const { delivered, retryable } = flags;
  reply.status(status).send({ ok: false, error: message, delivered, retryable });
}

export function relayRoutes(app: App, ctx: HubContext): void {
  const onRequest = sessionGate(ctx);
  const preValidation = deviceGate(ctx);
  const fallback = answerError(ctx);

  app.post(
    '/api/devices/relay',
    {
      onRequest,
      schema: {
        body: relaySendRequest,
        response: {
          200: relaySendReply,
          400: relaySendRefusal,
          404: relaySendRefusal,
          413: relaySendRefusal,
          424: relaySendRefusal,
        },
      },
      errorHandler(error, request, reply) {
        if (error instanceof Refusal && error.status === loginRequired().status) {
          fallback(error, request, reply);
          return;
        }
        if (error instanceof Refusal && error.status === 429) {
          const flags = { delivered: 'no', retryable: true };
          refuse(reply, new Refusal(429, error.message, flags));
          return;
        }
        const sentence = error.validation?.[0]?.message;
        const refused =
          sentence === undefined ? sendRefusal(error) : relayRefusal('bad_request', sentence);
        if (refused.status === 424) {
          ctx.log.error({ err: error, code: refused.flags.code }, 'an envelope was not queued');
        }
        refuse(reply, refused);
      },
    },
    async (request) => {
      const payload = payloadText(request.body.payload);
      if (payload === undefined) throw relayRefusal('too_big', SAID.badPayload);
      const row = await send(ctx, ownerOf(request).id, request.body.toDevice, payload);
      return { ok: true as const, id: row.id };
    },
  );

  app.get(
    '/api/devices/relay',
    {
      config: { down: { status: 503 } },
      onRequest,
      schema: { querystring: relayReadQuery, response: { 200: relayReadReply, 400: refusal } },
    },
    async (request) => {
      const found = readReply(ctx, ownerOf(request).id, request.query.inReplyTo);
      const reply = found && {
        id: found.id,
        payload: found.payload,
        created_at: Math.floor(found.created_ms / 1000),
      };
      return { ok: true as const, reply: reply ?? null };
    },
  );

  app.put(
    '/api/devices/relay',
    { preValidation, schema: { body: relayPollRequest, response: { 200: relayPollReply } } },
    async (request) => {
      const device = deviceOf(ctx, request, request.body, SAID.unauthorized);
      const rows = await poll(ctx, device, request.body.max, request.gateway?.id ?? null);
      return {
        ok: true as const,
        messages: rows.map((row) => ({
          id: row.id,
          payload: row.payload,
          created_at: Math.floor(row.created_ms / 1000),
        })),
      };
    },
  );

  app.patch(
    '/api/devices/relay',
    {
      preValidation,
      schema: { body: relayReplyRequest, response: { 200: okReply, 409: refusal, 424: refusal } },
    },
    async (request) => {
      const device = deviceOf(ctx, request, request.body, SAID.unauthorized);
      const payload = payloadText(request.body.payload);
      if (payload === undefined) throw new Refusal(424, SAID.badPayload);
      const [result] = await answer(ctx, { device }, [
        { envelopeId: request.body.inReplyTo, payload },
      ]);
      if (result === 'answered_before') {
        throw new Refusal(409, 'this envelope has its reply already; the first one stays');
      }
      if (result !== 'stored') throw new Refusal(424, SAID.envelopeNotFound);
      return { ok: true as const };
    },
  );
}
