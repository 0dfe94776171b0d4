/** `POST /api/use-device` (session): the agent's tool over HTTP (wire document, part A9). */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { asBody } from '../../protocol/tiny.js';
import type { HubContext } from '../context.js';
import { ownerOf, sessionGate } from '../http/auth.js';
import type { App } from '../http/types.js';
import { Refusal } from '../refusal.js';
import { useDevice, useDeviceRequest } from '../use-device.js';
import { sendRefusal } from './relay.js';

const reply = z.looseObject({ ok: z.boolean() });

export function useDeviceRoutes(app: App, ctx: HubContext): void {
  app.post(
    '/api/use-device',
    {
      onRequest: sessionGate(ctx),
      schema: {
        body: z.preprocess(asBody, useDeviceRequest),
        response: { 200: reply, 400: reply, 404: reply, 413: reply, 424: reply },
      },
      errorHandler(error, _request, answer) {
        const sentence = error.validation?.[0]?.message;
        refuse(answer, sentence === undefined ? sendRefusal(error) : new Refusal(400, sentence));
        if (!(error instanceof Refusal) && sentence === undefined) {
          ctx.log.error({ err: error }, 'use_device failed');
        }
      },
    },
    async (request) => ({ ...(await useDevice(ctx, ownerOf(request).id, request.body)) }),
  );
}

/** A failure to send is an error, never "pending" (statement 109). */
function refuse(answer: FastifyReply, { status, message, flags }: Refusal): void {
  const { code = status === 401 ? 'login_required' : 'bad_request', ...rest } = flags;
  answer.status(status).send({ ok: false, outcome: 'refused', error: { code, message }, ...rest });
}
