/** The fleet: `/api/devices` (wire document, part A1). */
import { z } from 'zod';
import {
  adoptReply,
  adoptRequest,
  DEVICE_NOT_FOUND,
  devicesReply,
  enrolEndpointReply,
  enrolReply,
  enrolRequest,
  heartbeatReply,
  heartbeatRequest,
  refusal,
  revokeReply,
  revokeRequest,
  SAID,
} from '../../protocol/tiny.js';
import { cancelAll } from '../cancel.js';
import type { HubContext } from '../context.js';
import {
  adopt,
  deviceById,
  devicesOf,
  enrol,
  heartbeat,
  ownedDevice,
  publicRow,
  revoke,
} from '../devices.js';
import { enrolEndpoint } from '../endpoint/enrol.js';
import { unrevoke } from '../gateways.js';
import { deviceGate, deviceOf, ownerOf, sessionGate } from '../http/auth.js';
import type { App } from '../http/types.js';
import { unreadCount } from '../messages.js';
import { latestReadings } from '../readings.js';
import { Refusal } from '../refusal.js';

const down = { status: 503 };

export function deviceRoutes(app: App, ctx: HubContext): void {
  const onRequest = sessionGate(ctx);

  app.get(
    '/api/devices',
    { config: { down }, onRequest, schema: { response: { 200: devicesReply, 503: refusal } } },
    async (request) => ({
      ok: true as const,
      devices: devicesOf(ctx, ownerOf(request).id).map((row) => publicRow(ctx, row)),
    }),
  );

  app.post(
    '/api/devices',
    {
      config: { down },
      onRequest,
      schema: {
        body: enrolRequest,
        response: {
          200: z.union([enrolReply, enrolEndpointReply]),
          424: refusal,
          503: refusal,
        },
      },
    },
    async (request) => {
      if (request.body.kind === 'endpoint') {
        const { id, url } = await enrolEndpoint(ctx, ownerOf(request).id, request.body);
        return { ok: true as const, device_id: id, kind: 'endpoint' as const, url };
      }
      const made = await enrol(ctx, ownerOf(request).id, request.body);
      return {
        ok: true as const,
        device_id: made.id,
        device_token: made.token,
        ...(made.adopted ? { adopted: true } : {}),
      };
    },
  );

  app.delete(
    '/api/devices',
    {
      config: { down },
      onRequest,
      schema: { body: revokeRequest, response: { 200: revokeReply } },
    },
    async (request) => {
      const row = await revoke(ctx, ownerOf(request).id, request.body.deviceId);
      if (row) cancelAll(ctx, row);
      return { ok: true as const, revoked: row ? 1 : 0 };
    },
  );

  app.post(
    '/api/devices/adopt',
    {
      config: { down },
      onRequest,
      schema: { body: adoptRequest, response: { 200: adoptReply, 404: refusal, 503: refusal } },
    },
    async (request) => {
      const { deviceId } = request.body;
      const token = await adopt(ctx, ownerOf(request).id, deviceId);
      return { ok: true as const, device_id: deviceId, device_token: token };
    },
  );

  // Ours: takes the revocation of a board behind a gateway back.
  app.post(
    '/api/devices/restore',
    {
      config: { down },
      onRequest,
      schema: {
        body: revokeRequest,
        response: { 200: z.object({ ok: z.literal(true), device_id: z.string() }), 404: refusal },
      },
    },
    async (request) => {
      const row = deviceById(ctx, request.body.deviceId);
      const done = row && (await unrevoke(ctx, ownerOf(request).id, row));
      if (!row || !done) throw new Refusal(404, DEVICE_NOT_FOUND);
      return { ok: true as const, device_id: row.id };
    },
  );

  app.post(
    '/api/devices/heartbeat',
    {
      config: { down: { status: 424, error: SAID.registryUnreachable } },
      preValidation: deviceGate(ctx),
      schema: { body: heartbeatRequest, response: { 200: heartbeatReply, 401: refusal } },
    },
    async (request) => {
      const device = deviceOf(ctx, request, request.body, SAID.unknownDevice);
      await heartbeat(ctx, device, request.body);
      const unread = request.body.wantUnread ? unreadCount(ctx, device.owner_id) : undefined;
      return { ok: true as const, ...(unread === undefined ? {} : { unread }) };
    },
  );

  // Ours: the latest readings of a board.
  app.get(
    '/api/devices/:id/readings',
    {
      config: { down },
      onRequest,
      schema: { params: z.object({ id: z.string().max(64) }) },
    },
    async (request) => {
      const row = ownedDevice(ctx, ownerOf(request).id, request.params.id);
      if (!row) throw new Refusal(404, DEVICE_NOT_FOUND);
      return { ok: true, device_id: row.id, readings: latestReadings(ctx, row.id) };
    },
  );
}
