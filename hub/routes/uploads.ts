/** What devices send up by themselves: events, transcripts, task results (parts A3 and A4). */
import { z } from 'zod';
import {
  audioUrlOf,
  EVENT_KINDS,
  eventRequest,
  eventsReply,
  isTaskId,
  lenient,
  okReply,
  refusal,
  SAID,
  TINY_LIMITS,
  taskResultReply,
  taskResultRequest,
  transcriptReply,
  transcriptRequest,
  UPLOAD_SAID,
} from '../../protocol/tiny.js';
import type { HubContext } from '../context.js';
import { eventsSince, keepEvent, said } from '../events.js';
import { deviceGate, deviceOf, ownerOf, sessionGate } from '../http/auth.js';
import type { App } from '../http/types.js';
import { announce } from '../notices.js';
import { Refusal } from '../refusal.js';
import { keepResult } from '../tickets.js';
import { keepTranscript, listTranscripts, transcriptOf } from '../transcripts.js';

const text = lenient().transform((v) => (typeof v === 'string' ? v : undefined));

export function uploadRoutes(app: App, ctx: HubContext): void {
  const onRequest = sessionGate(ctx);
  const preValidation = deviceGate(ctx);

  app.post(
    '/api/devices/event',
    { preValidation, schema: { body: eventRequest, response: { 200: okReply, 424: refusal } } },
    async (request) => {
      const { kind, detail } = request.body;
      const device = deviceOf(ctx, request, request.body, SAID.unknownDevice);
      if (!EVENT_KINDS.some((known) => known === kind)) {
        throw new Refusal(424, UPLOAD_SAID.unsupportedKind);
      }
      const at = ctx.time.ms();
      const event = await ctx.db.write((w) =>
        keepEvent(w, {
          ownerId: device.owner_id,
          device,
          kind,
          detail: said(device, detail),
          at,
        }),
      );
      ctx.bus.tell(device.owner_id, event);
      return { ok: true as const };
    },
  );

  app.get(
    '/api/events',
    {
      config: { down: { status: 502 } },
      onRequest,
      schema: { querystring: z.looseObject({ sinceId: text }), response: { 200: eventsReply } },
    },
    async (request) => {
      const since = Number(request.query.sinceId ?? 0);
      const events = eventsSince(
        ctx,
        ownerOf(request).id,
        Number.isSafeInteger(since) && since > 0 ? since : 0,
        TINY_LIMITS.eventsRead,
      );
      return { ok: true as const, events: events.map((event) => event.data) };
    },
  );

  app.post(
    '/api/devices/task-result',
    {
      preValidation,
      schema: { body: taskResultRequest, response: { 200: taskResultReply, 424: refusal } },
    },
    async (request) => {
      const device = deviceOf(ctx, request, request.body, SAID.unauthorized);
      if (!isTaskId(request.body.taskId)) throw new Refusal(424, UPLOAD_SAID.taskId);
      const at = ctx.time.ms();
      const { ticket, told } = await ctx.db.write((w) => keepResult(w, device, request.body, at));
      if (told) {
        ctx.bus.tell(device.owner_id, told.event);
        await announce(ctx, device.owner_id, told.notice);
      }
      return { ok: true as const, ticket };
    },
  );

  app.post(
    '/api/devices/transcript',
    {
      preValidation,
      schema: { body: transcriptRequest, response: { 200: transcriptReply, 424: refusal } },
    },
    async (request) => {
      const device = deviceOf(ctx, request, request.body, SAID.unknownDevice);
      const { audioUrl: given, ...rest } = request.body;
      const audioUrl = audioUrlOf(given);
      if (given !== undefined && given !== null && given !== '' && audioUrl === undefined) {
        throw new Refusal(424, UPLOAD_SAID.audioUrl);
      }
      const at = ctx.time.ms();
      const { id, event } = await ctx.db.write((w) =>
        keepTranscript(w, device, { ...rest, audioUrl }, at),
      );
      ctx.bus.tell(device.owner_id, event);
      return { ok: true as const, id };
    },
  );

  app.get(
    '/api/devices/transcript',
    {
      config: { down: { status: 503 } },
      onRequest,
      schema: { querystring: z.looseObject({ id: text, limit: text }) },
    },
    async (request) => {
      const owner = ownerOf(request).id;
      const { id } = request.query;
      if (id !== undefined) {
        const transcript = transcriptOf(ctx, owner, id);
        if (!transcript) throw new Refusal(404, UPLOAD_SAID.notFound);
        return { ok: true, transcript };
      }
      const asked = Number(request.query.limit ?? 20);
      const limit = Number.isFinite(asked) ? Math.min(50, Math.max(1, Math.trunc(asked))) : 20;
      return { ok: true, transcripts: listTranscripts(ctx, owner, limit) };
    },
  );
}
