/** `POST /api/devices/ask` (device), as JSON or as an event stream (wire document, part A6). */
import type { FastifyReply } from 'fastify';
import { askReply, askRequest, refusal, SAID, SSE_DONE } from '../../protocol/tiny.js';
import { type Answer, agentFor, hear, keepQuestion, Turns, transcribed } from '../ask.js';
import type { HubContext } from '../context.js';
import { deviceGate, deviceOf } from '../http/auth.js';
import { SseStream } from '../http/sse.js';
import type { App } from '../http/types.js';
import { ownerById } from '../owners.js';
import { Refusal } from '../refusal.js';

/** Small boards give up on a line that says nothing for much longer. */
const COMMENT_MS = 10_000;

export function askRoutes(app: App, ctx: HubContext): void {
  const turns = new Turns();
  app.addHook('preClose', async () => {
    turns.close();
    // Who waits hears it before the connections are cut.
    await new Promise((resolve) => setImmediate(resolve));
  });

  app.post(
    '/api/devices/ask',
    {
      preValidation: deviceGate(ctx),
      schema: {
        body: askRequest,
        response: {
          200: askReply,
          400: refusal,
          401: refusal,
          404: refusal,
          422: refusal,
          424: refusal,
        },
      },
    },
    async (request, reply) => {
      const { body } = request;
      const device = deviceOf(ctx, request, body, SAID.unknownDevice);
      const agent = agentFor(ctx, body.tiny);
      const turn = turns.begin(ctx.clock, device.id);
      reply.raw.once('close', () => turn.stop('gone'));
      try {
        const text =
          body.text ?? (await transcribed(ctx, agent, device, body.audioUrl ?? '', turn));
        await keepQuestion(ctx, device, text);
        const owner = ctx.db.read((r) => ownerById.get(r, { id: device.owner_id }));
        if (!owner) throw new Refusal(401, SAID.unknownDevice);
        const question = { text, owner, device: { id: device.id, name: device.name } };
        const answer = hear(ctx, agent, question, turn);
        if (body.stream) {
          // Refusals came before this; from here on they are frames.
          await stream(ctx, reply, answer);
          return;
        }
        const { text: said, card } = await whole(answer);
        return { ok: true as const, text: said, ...(card === undefined ? {} : { card }) };
      } finally {
        turns.end(device.id, turn);
      }
    },
  );
}

async function whole(answer: AsyncGenerator<string, Answer>): Promise<Answer> {
  for (;;) {
    const next = await answer.next();
    if (next.done) return next.value;
  }
}

async function stream(
  ctx: HubContext,
  reply: FastifyReply,
  answer: AsyncGenerator<string, Answer>,
): Promise<void> {
  const to = new SseStream(reply, ctx.clock, () => {}, COMMENT_MS);
  const say = (frame: object) => to.data(JSON.stringify(frame));
  try {
    for (;;) {
      const next = await answer.next();
      if (!next.done) say({ t: next.value });
      else {
        if (next.value.card !== undefined) say({ card: next.value.card });
        break;
      }
    }
  } catch (error) {
    if (!(error instanceof Refusal)) ctx.log.error({ err: error }, 'an answer broke off');
    say({ error: error instanceof Refusal ? error.message : 'the answer broke off; ask again' });
  }
  to.data(SSE_DONE);
  to.end();
}
