/**
 * Questions of boards to their owner's agent, and their mail: both want an answer back at the
 * board, so they have routes and a pace of their own.
 */
import { z } from 'zod';
import type { Value } from '../../../protocol/kinds.js';
import { askReply, TINY_LIMITS, TINY_ROUTES } from '../../../protocol/tiny.js';
import type { BoardId } from '../../core/types.js';
import { plainJson } from '../prompt/plain.js';
import { type Ask, HubRefused, HubUnreachable, isTransient } from './client.js';
import type { RelayDeps } from './deps.js';
import { ItemPump } from './item-pump.js';
import type { Media } from './media.js';
import type { Pending } from './pending.js';
import { textOf } from './up-items.js';

export interface AsksDeps extends RelayDeps {
  media: Media;
  /** Credential fields of a board's requests; undefined while the hub does not know it. */
  speakFor(boardId: BoardId): { body: Record<string, unknown>; token?: string } | undefined;
}

/** At once: one for each board, so many in all. */
const AT_ONCE = 4;
/** A board that asked longer ago has given up. */
const ASK_AGE_MS = 600_000;
const ASK_DEADLINE_MS = 80_000;
/** A mail's answer to the board; longer threads are cut by the board's own limits. */
const anyReply = z.looseObject({ ok: z.literal(true) });

export class Asks {
  readonly #deps: AsksDeps;
  readonly #pump: ItemPump;

  constructor(deps: AsksDeps) {
    this.#deps = deps;
    this.#pump = new ItemPump(deps, {
      atOnce: AT_ONCE,
      wanted: ({ kind, boardId }) =>
        (kind === 'ask' || kind === 'mail') && deps.speakFor(boardId) !== undefined,
      run: (pending) => (pending.item.kind === 'ask' ? this.#ask(pending) : this.#mail(pending)),
    });
  }

  kick(): void {
    this.#pump.kick();
  }

  stop(): void {
    this.#pump.stop();
  }

  async #ask({ item }: Pending): Promise<void> {
    const { switchboard, clock, media } = this.#deps;
    const askId = Number(item.body.askId);
    const answer = (said: { text?: string; card?: Value; error?: string }): void =>
      switchboard.answer(item.boardId, askId, said, item.bootId);
    if (clock.wall() - item.at > ASK_AGE_MS) {
      this.#deps.counters.count('asks.too_old');
      return answer({ error: 'The question waited too long and was not asked. Ask again.' });
    }
    const question: Record<string, unknown> = {};
    if (typeof item.body.blobId === 'number') {
      const url = await media.recording(item.boardId, item.bootId, item.body.blobId);
      if (url === undefined) return answer({ error: 'The recording is not on the gateway.' });
      question.audioUrl = url;
    } else question.text = textOf(item.body.text).slice(0, TINY_LIMITS.askText);
    try {
      const { text, card } = await this.#post(item.boardId, 'ask', question, askReply);
      answer({ text, ...(card === undefined ? {} : { card: card as Value }) });
    } catch (error) {
      if (!(error instanceof HubRefused) || isTransient(error)) throw error;
      this.#deps.counters.count('asks.refused');
      answer({ error: error.error });
    }
  }

  async #mail({ item }: Pending): Promise<void> {
    const { boardId, body } = item;
    const mailId = Number(body.mailId);
    const op = textOf(body.op);
    const args = plainJson(body.args);
    const told = typeof args === 'object' && args !== null && !Array.isArray(args) ? args : {};
    const reply = (ok: boolean, value: Value): void =>
      this.#deps.switchboard.mailReply(boardId, mailId, ok, value, item.bootId);
    try {
      const { ok: _ok, ...value } = await this.#post(
        boardId,
        'messages',
        { ...told, op },
        anyReply,
      );
      reply(true, value as Value);
    } catch (error) {
      if (error instanceof HubRefused && !isTransient(error)) {
        this.#deps.counters.count('mails.refused');
        return reply(false, error.error);
      }
      // A message must not be sent twice: what may have gone out is said, not tried again.
      if (op !== 'send' || !(error instanceof HubUnreachable) || !error.mayHaveRun) throw error;
      reply(
        false,
        'The hub did not answer; the message may have been sent. Look before you repeat it.',
      );
    }
  }

  #post<S extends z.ZodType>(
    boardId: BoardId,
    route: 'ask' | 'messages',
    body: Record<string, unknown>,
    answer: S,
  ): Promise<z.output<S>> {
    const { method, path } = TINY_ROUTES[route];
    const speaker = this.#deps.speakFor(boardId);
    if (!speaker) throw new HubUnreachable('the hub does not know this board yet', false);
    const ask: Ask<S> = { method, path, body: { ...body, ...speaker.body }, answer };
    ask.deadlineMs = route === 'ask' ? ASK_DEADLINE_MS : 15_000;
    if (speaker.token !== undefined) ask.token = speaker.token;
    return this.#deps.client.ask(ask);
  }
}
