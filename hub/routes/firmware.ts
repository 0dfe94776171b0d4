/** `/api/firmware/manifest` (wire document, part A12): devices read it, their owner publishes. */
import {
  firmwarePublish,
  firmwareReply,
  firmwareRequest,
  refusal,
  SAID,
} from '../../protocol/tiny.js';
import type { HubContext } from '../context.js';
import { bundleOf, publish } from '../firmware.js';
import { deviceGate, deviceOf, ownerOf, sessionGate } from '../http/auth.js';
import type { App } from '../http/types.js';

export function firmwareRoutes(app: App, ctx: HubContext): void {
  app.put(
    '/api/firmware/manifest',
    {
      preValidation: deviceGate(ctx),
      schema: { body: firmwareRequest, response: { 200: firmwareReply, 401: refusal } },
    },
    async (request) => {
      const device = deviceOf(ctx, request, request.body, SAID.unknownDevice);
      const bundle = bundleOf(ctx, device.owner_id, request.body.channel);
      return { ok: true as const, bundle };
    },
  );

  app.post(
    '/api/firmware/manifest',
    {
      config: { down: { status: 503 } },
      onRequest: sessionGate(ctx),
      schema: {
        body: firmwarePublish,
        response: { 200: firmwareReply, 400: refusal, 409: refusal, 424: refusal },
      },
    },
    async (request) => {
      const bundle = await publish(ctx, ownerOf(request).id, request.body);
      return { ok: true as const, bundle };
    },
  );
}
