/** `/api/gateway/v1`: the hub's side of `protocol/gateway-api.ts`. */
import { z } from 'zod';
import {
  boardReply,
  boardRequest,
  claimReply,
  claimRequest,
  enrolReply,
  enrolRequest,
  mediaReply,
  replyReply,
  replyRequest,
  upReply,
  upRequest,
} from '../../protocol/gateway-api.js';
import { asBody, mediaTypeOf, payloadText, refusal, TINY_LIMITS } from '../../protocol/tiny.js';
import type { HubContext } from '../context.js';
import { enrolGateway, registerBoard, revokeGateway } from '../gateways.js';
import { tellHandedOver } from '../handovers.js';
import { gatewayGate, gatewayOf, ownerOf, sessionGate } from '../http/auth.js';
import { lastEventIdOf, SseStream } from '../http/sse.js';
import type { App } from '../http/types.js';
import { type AnswerResult, answer, claim, offer } from '../mailbox.js';
import { keepMedia } from '../media.js';
import { offersSince } from '../offers.js';
import { Refusal } from '../refusal.js';
import { takeUp } from '../up.js';

const down = { status: 503 };
const UP_BYTES = 8 * 1024 * 1024;
const REPLIES_BYTES = 16 * 1024 * 1024;

export function gatewayRoutes(app: App, ctx: HubContext, open: Set<SseStream>): void {
  const onRequest = gatewayGate(ctx);

  app.post(
    '/api/gateway/v1/enrol',
    {
      config: { down },
      onRequest: sessionGate(ctx),
      schema: { body: z.preprocess(asBody, enrolRequest), response: { 200: enrolReply } },
    },
    async (request) => {
      const made = await enrolGateway(ctx, ownerOf(request).id, request.body.name);
      return { ok: true as const, gateway_id: made.id, gateway_token: made.token };
    },
  );

  app.delete(
    '/api/gateway/v1/enrol',
    {
      config: { down },
      onRequest: sessionGate(ctx),
      schema: { body: z.preprocess(asBody, z.object({ gateway_id: z.string() })) },
    },
    async (request) => {
      const done = await revokeGateway(ctx, ownerOf(request).id, request.body.gateway_id);
      return { ok: true, revoked: done ? 1 : 0 };
    },
  );

  app.post(
    '/api/gateway/v1/boards',
    {
      config: { down },
      bodyLimit: UP_BYTES,
      onRequest,
      schema: {
        body: z.preprocess(asBody, boardRequest),
        response: { 200: boardReply, 409: refusal, 424: refusal },
      },
    },
    async (request) => ({
      ok: true as const,
      device_id: await registerBoard(ctx, gatewayOf(request), request.body),
    }),
  );

  app.post(
    '/api/gateway/v1/up',
    {
      config: { down },
      bodyLimit: UP_BYTES,
      onRequest,
      schema: { body: z.preprocess(asBody, upRequest), response: { 200: upReply } },
    },
    async (request) => ({
      ok: true as const,
      ...(await takeUp(ctx, gatewayOf(request), request.body.items)),
    }),
  );

  // A HEAD would take the place of the gateway's stream, and hear nothing.
  const streaming = { config: { down }, onRequest, exposeHeadRoute: false };
  app.get('/api/gateway/v1/stream', streaming, async (request, reply) => {
    const { id } = gatewayOf(request);
    const missed = offersSince(ctx, id, lastEventIdOf(request) ?? 0);
    const stream = new SseStream(reply, ctx.clock, () => {
      open.delete(stream);
      ctx.streams.detach(id, stream);
    });
    open.add(stream);
    // Attached before anything else can be sent, in one turn with what was read as missed.
    ctx.streams.attach(id, stream);
    tellHandedOver(ctx, id);
    for (const row of missed) offer(ctx, id, row, row.seq);
  });

  app.post(
    '/api/gateway/v1/claim',
    {
      config: { down },
      onRequest,
      schema: { body: z.preprocess(asBody, claimRequest), response: { 200: claimReply } },
    },
    async (request) => {
      const ids = request.body.envelope_ids;
      const results = await claim(ctx, gatewayOf(request).id, ids);
      const lost: z.infer<typeof claimReply>['lost'] = [];
      const claimed: string[] = [];
      for (const [index, result] of results.entries()) {
        const id = ids[index] ?? '';
        if (result === 'claimed') claimed.push(id);
        else lost.push({ envelope_id: id, why: result });
      }
      return { ok: true as const, claimed, lost };
    },
  );

  app.post(
    '/api/gateway/v1/reply',
    {
      config: { down },
      bodyLimit: REPLIES_BYTES,
      onRequest,
      schema: { body: z.preprocess(asBody, replyRequest), response: { 200: replyReply } },
    },
    async (request) => {
      const { replies } = request.body;
      const good = replies.flatMap((reply) => {
        const payload = payloadText(reply.payload);
        return payload === undefined ? [] : [{ envelopeId: reply.envelope_id, payload }];
      });
      const answers: AnswerResult[] =
        good.length === 0 ? [] : await answer(ctx, { gatewayId: gatewayOf(request).id }, good);
      let next = 0;
      const results = replies.map((reply) => {
        const bad = payloadText(reply.payload) === undefined;
        const status = bad ? ('bad_payload' as const) : (answers[next++] ?? ('unknown' as const));
        return { envelope_id: reply.envelope_id, status };
      });
      return { ok: true as const, results };
    },
  );

  app.register(async (raw: App) => {
    raw.removeAllContentTypeParsers();
    raw.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
      done(null, body);
    });
    raw.post(
      '/api/gateway/v1/media',
      {
        config: { down },
        bodyLimit: TINY_LIMITS.mediaBytes,
        onRequest,
        schema: { response: { 200: mediaReply, 424: refusal } },
      },
      async (request) => {
        const type = mediaTypeOf(request.headers['content-type']);
        if (type === undefined) throw new Refusal(424, 'unsupported content type');
        const { body } = request;
        if (!(body instanceof Uint8Array) || body.length === 0) {
          throw new Refusal(400, 'the body is the medium itself; it was empty');
        }
        return {
          ok: true as const,
          ...(await keepMedia(ctx, gatewayOf(request).owner_id, type, body)),
        };
      },
    );
  });
}
