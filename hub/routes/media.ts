/** `POST /api/media` and `GET /media/<key>` (wire document, part A5). */
import { open } from 'node:fs/promises';
import { z } from 'zod';
import {
  MEDIA_KEY,
  mediaReply,
  mediaRequest,
  mediaTypeOf,
  refusal,
  SAID,
  sentenceOf,
  TINY_LIMITS,
  UPLOAD_SAID,
} from '../../protocol/tiny.js';
import type { HubContext } from '../context.js';
import { deviceGate, deviceOf, sessionOwner } from '../http/auth.js';
import type { App } from '../http/types.js';
import { decodeBase64, keepMedia, mediaFile, mediaOf, rangeOf } from '../media.js';
import { loginRequired, Refusal } from '../refusal.js';

/** Base64 of the largest medium, and what else a body holds. */
const BASE64_MAX = Math.ceil(TINY_LIMITS.mediaBytes / 3) * 4;
const BODY_MAX = BASE64_MAX + 1024 * 1024;

const who = z.object({ deviceId: z.string().min(1), token: z.string().min(1) });

export function mediaRoutes(app: App, ctx: HubContext): void {
  app.post(
    '/api/media',
    {
      bodyLimit: BODY_MAX,
      preValidation: deviceGate(ctx),
      // Who asks is decided before what is asked, and here that stands in the body.
      attachValidation: true,
      schema: { body: mediaRequest, response: { 200: mediaReply, 401: refusal, 424: refusal } },
    },
    async (request, reply) => {
      const owner = sessionOwner(ctx, request);
      request.owner = owner ?? null;
      if (owner) await app.rates.owner(request, reply);
      const credential = who.safeParse(request.body);
      if (!owner && !credential.success) throw loginRequired();
      const ownerId =
        owner?.id ??
        (credential.success
          ? deviceOf(ctx, request, credential.data, SAID.unknownDevice).owner_id
          : undefined);
      if (ownerId === undefined) throw loginRequired();
      const body = mediaRequest.safeParse(request.body);
      if (!body.success) throw new Refusal(400, sentenceOf(body.error));
      const { data, contentType } = body.data;
      if (data.length > BASE64_MAX) throw new Refusal(424, 'media must be at most 6 MB');
      const type = mediaTypeOf(contentType);
      if (type === undefined) throw new Refusal(424, 'unsupported contentType');
      const bytes = decodeBase64(data);
      if (bytes === undefined) throw new Refusal(424, 'data must be base64');
      if (bytes.length > TINY_LIMITS.mediaBytes) {
        throw new Refusal(424, 'media must be at most 6 MB');
      }
      return { ok: true as const, ...(await keepMedia(ctx, ownerId, type, bytes)) };
    },
  );

  app.get(
    '/media/:key',
    {
      config: { down: { status: 503 } },
      schema: { params: z.object({ key: z.string() }) },
    },
    async (request, reply) => {
      const { key } = request.params;
      const found = MEDIA_KEY.test(key) ? mediaOf(ctx, key) : undefined;
      if (!found) throw new Refusal(404, UPLOAD_SAID.notFound);
      const file = await open(mediaFile(ctx, key), 'r').catch(() => undefined);
      if (!file) throw new Refusal(404, UPLOAD_SAID.notFound);
      reply
        .header('content-type', found.type)
        .header('cache-control', 'public, max-age=31536000, immutable')
        .header('accept-ranges', 'bytes')
        // Opened by itself it is data, never a page of this origin.
        .header('content-security-policy', "default-src 'none'; sandbox");
      const range = rangeOf(request.headers.range, found.bytes);
      if (range === 'none') {
        await file.close();
        return reply
          .status(416)
          .header('content-range', `bytes */${found.bytes}`)
          .header('content-length', 0)
          .send();
      }
      const { start, end } = range ?? { start: 0, end: found.bytes - 1 };
      reply.header('content-length', end - start + 1);
      if (range) {
        reply.status(206).header('content-range', `bytes ${start}-${end}/${found.bytes}`);
      }
      return reply.send(file.createReadStream({ start, end }));
    },
  );
}
