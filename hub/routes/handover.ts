/** The routes by which a board changes its gateway (`protocol/gateway-api.ts`). */
import { z } from 'zod';
import {
  done,
  handoverAnswer,
  handoverReply,
  handoverRequest,
  handoverStep,
} from '../../protocol/gateway-api.js';
import { asBody, refusal } from '../../protocol/tiny.js';
import type { HubContext } from '../context.js';
import { answerHandover, askHandover, finishHandover, forgetHandover } from '../handovers.js';
import { gatewayGate, gatewayOf } from '../http/auth.js';
import type { App } from '../http/types.js';

const refusals = { 400: refusal, 404: refusal, 409: refusal };

export function handoverRoutes(app: App, ctx: HubContext): void {
  const config = { down: { status: 503 } };
  const onRequest = gatewayGate(ctx);
  const ok = { ok: true } as const;

  app.post(
    '/api/gateway/v1/handover',
    {
      config,
      onRequest,
      schema: {
        body: z.preprocess(asBody, handoverRequest),
        response: { 200: handoverReply, ...refusals },
      },
    },
    async (request) => {
      const { device_id, public_key } = request.body;
      const given = await askHandover(ctx, gatewayOf(request), device_id, public_key);
      const { id, boardId, name, sealedKey } = given;
      return { ...ok, handover_id: id, board_id: boardId, name, sealed_key: sealedKey };
    },
  );

  app.post(
    '/api/gateway/v1/handover/answer',
    {
      config,
      onRequest,
      schema: {
        body: z.preprocess(asBody, handoverAnswer),
        response: { 200: done, ...refusals },
      },
    },
    async (request) => {
      answerHandover(ctx, gatewayOf(request), request.body);
      return ok;
    },
  );

  for (const [path, run] of [
    ['done', finishHandover],
    ['gone', forgetHandover],
  ] as const) {
    app.post(
      `/api/gateway/v1/handover/${path}`,
      {
        config,
        onRequest,
        schema: {
          body: z.preprocess(asBody, handoverStep),
          response: { 200: done, ...refusals },
        },
      },
      async (request) => {
        await run(ctx, gatewayOf(request), request.body.handover_id);
        return ok;
      },
    );
  }
}
