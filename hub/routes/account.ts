/** What an owner asks of its own account: tokens, and who was let in (`GET /api/audit`). */
import { z } from 'zod';
import { bodyOf, cutText, filled, lenient, refusal } from '../../protocol/tiny.js';
import { AUDIT_READ, auditSince } from '../audit.js';
import type { HubContext } from '../context.js';
import { ownerOf, sessionGate } from '../http/auth.js';
import type { App } from '../http/types.js';
import { Refusal } from '../refusal.js';
import { createToken, revokeToken, tokensOf } from '../tokens.js';

const LABEL = 64;
const DAYS = 3_650;

const tokenShown = z.object({
  id: z.string(),
  label: z.string(),
  kind: z.string(),
  created_at: z.number(),
  last_used_at: z.number().nullable(),
  expires_at: z.number().nullable(),
});
const auditEntry = z.object({
  id: z.number(),
  action: z.string(),
  target: z.string(),
  created: z.number(),
});
const text = lenient().transform((v) => (typeof v === 'string' ? v : undefined));

export function accountRoutes(app: App, ctx: HubContext): void {
  const onRequest = sessionGate(ctx);
  const config = { down: { status: 503 } };

  app.get(
    '/api/tokens',
    {
      config,
      onRequest,
      schema: { response: { 200: z.object({ ok: z.literal(true), tokens: z.array(tokenShown) }) } },
    },
    async (request) => ({ ok: true as const, tokens: tokensOf(ctx, ownerOf(request).id) }),
  );

  app.post(
    '/api/tokens',
    {
      config,
      onRequest,
      schema: {
        body: bodyOf({ label: filled('label required'), days: lenient() }),
        response: {
          200: z.object({ ok: z.literal(true), id: z.string(), token: z.string() }),
          400: refusal,
        },
      },
    },
    async (request) => {
      const { label, days } = request.body;
      if (days !== undefined && !(Number.isInteger(days) && Number(days) >= 1)) {
        throw new Refusal(400, 'days must be a whole number from 1');
      }
      const named = cutText(label.trim(), LABEL);
      const end = days === undefined ? undefined : Math.min(Number(days), DAYS);
      const made = await createToken(ctx, ownerOf(request).id, named, end);
      return { ok: true as const, ...made };
    },
  );

  app.delete(
    '/api/tokens',
    {
      config,
      onRequest,
      schema: {
        body: bodyOf({ id: filled('id required') }),
        response: { 200: z.object({ ok: z.literal(true), revoked: z.number() }) },
      },
    },
    async (request) => {
      const done = await revokeToken(ctx, ownerOf(request).id, request.body.id);
      return { ok: true as const, revoked: done ? 1 : 0 };
    },
  );

  app.get(
    '/api/audit',
    {
      config,
      onRequest,
      schema: {
        summary: `The newest ${AUDIT_READ} entries after sinceId, oldest first.`,
        querystring: z.looseObject({ sinceId: text }),
        response: { 200: z.object({ ok: z.literal(true), entries: z.array(auditEntry) }) },
      },
    },
    async (request) => {
      const since = Number(request.query.sinceId ?? 0);
      const after = Number.isSafeInteger(since) && since > 0 ? since : 0;
      return { ok: true as const, entries: auditSince(ctx, ownerOf(request).id, after) };
    },
  );
}
