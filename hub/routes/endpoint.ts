/** Endpoint devices, called on behalf of their owner (wire document, part A8). */
import {
  ENDPOINT_SAID,
  endpointChatRequest,
  endpointQuery,
  endpointReply,
  refusal,
} from '../../protocol/tiny.js';
import type { HubContext } from '../context.js';
import { type DeviceRow, ownedDevice } from '../devices.js';
import { CallFault } from '../endpoint/fault.js';
import { ownerOf, sessionGate } from '../http/auth.js';
import type { App } from '../http/types.js';
import { Refusal } from '../refusal.js';

const failures = { 404: refusal, 502: refusal, 503: refusal, 504: refusal };

export function endpointRoutes(app: App, ctx: HubContext): void {
  const onRequest = sessionGate(ctx);
  const config = { down: { status: 503 } };

  app.get(
    '/api/devices/endpoint',
    {
      config,
      onRequest,
      schema: { querystring: endpointQuery, response: { 200: endpointReply, ...failures } },
    },
    async (request, reply) => {
      const { deviceId, action } = request.query;
      const device = endpointOf(ctx, ownerOf(request).id, deviceId);
      if (action === 'telemetry') {
        return { ok: true as const, result: await told(ctx, ctx.endpoints.telemetry(device)) };
      }
      const { type, bytes } = await told(ctx, ctx.endpoints.snapshot(device));
      // A stranger's bytes under the hub's own name: an image, and nothing that could run.
      reply
        .header('content-type', type)
        .header('cache-control', 'no-store')
        .header('content-security-policy', "default-src 'none'; sandbox");
      return reply.send(bytes as never);
    },
  );

  app.post(
    '/api/devices/endpoint/chat',
    {
      config,
      onRequest,
      schema: { body: endpointChatRequest, response: { 200: endpointReply, ...failures } },
    },
    async (request) => {
      const { deviceId, prompt } = request.body;
      const device = endpointOf(ctx, ownerOf(request).id, deviceId);
      return { ok: true as const, result: await told(ctx, ctx.endpoints.chat(device, prompt)) };
    },
  );
}

/** Strangers', revoked, dialling-in and unknown devices are all alike, and none is called (95). */
function endpointOf(ctx: HubContext, ownerId: string, id: string): DeviceRow {
  const row = ownedDevice(ctx, ownerId, id);
  if (row?.kind !== 'endpoint') throw new Refusal(404, ENDPOINT_SAID.unknown);
  return row;
}

async function told<T>(ctx: HubContext, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof CallFault)) throw error;
    ctx.log.info({ kind: error.kind }, 'a call to an endpoint device failed');
    throw error.refusal();
  }
}
