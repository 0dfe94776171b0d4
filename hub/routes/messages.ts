/** Messages between owners, by a device and by a person (wire document, part A7). */
import { z } from 'zod';
import {
  inboxReply,
  MESSAGES_SAID,
  type MessagesRequest,
  messagesRequest,
  ownMessagesRequest,
  refusal,
  SAID,
  sentReply,
  threadReply,
  unreadReply,
} from '../../protocol/tiny.js';
import type { HubContext } from '../context.js';
import { deviceGate, deviceOf, ownerOf, sessionGate } from '../http/auth.js';
import type { App } from '../http/types.js';
import { inbox, sendMessage, thread, unread } from '../messages.js';

export function messageRoutes(app: App, ctx: HubContext): void {
  const config = { down: { status: 503, error: MESSAGES_SAID.unavailable } };
  const response = {
    200: z.union([sentReply, unreadReply, inboxReply, threadReply]),
    400: refusal,
    401: refusal,
    404: refusal,
    429: refusal,
    503: refusal,
  };

  app.post(
    '/api/devices/messages',
    {
      config,
      preValidation: deviceGate(ctx),
      schema: { body: messagesRequest, response },
    },
    async (request) => {
      const device = deviceOf(ctx, request, request.body, SAID.unknownDevice);
      return answer(ctx, device.owner_id, request.body, device.name);
    },
  );

  // Ours: the same as a person.
  app.post(
    '/api/messages',
    {
      config,
      onRequest: sessionGate(ctx),
      schema: { body: ownMessagesRequest, response },
    },
    async (request) => answer(ctx, ownerOf(request).id, request.body),
  );
}

async function answer(ctx: HubContext, ownerId: string, said: MessagesRequest, via?: string) {
  const ok = { ok: true as const };
  switch (said.op) {
    case 'send': {
      const { to = '', body, attachments } = said;
      return { ...ok, id: await sendMessage(ctx, ownerId, { to, body, attachments, via }) };
    }
    case 'inbox':
      return { ...ok, threads: inbox(ctx, ownerId) };
    case 'thread':
      return { ...ok, ...(await thread(ctx, ownerId, said.with ?? '', said.limit)) };
    case 'unread':
      return { ...ok, ...unread(ctx, ownerId) };
  }
}
