/** ANSWER messages: text cut into parts that each fit the board, never inside a code point. */
import { encodeMessage } from '../../protocol/codec.js';
import type { Value } from '../../protocol/kinds.js';
import type { Message, MessageOf } from '../../protocol/messages.js';

type Answer = MessageOf<'answer'>;
/** An answer as messages that each fit `maxMessage` bytes. */
export type Say = (maxMessage: number) => Message[];

/** Answers that a board may have missed, by what it asked; the oldest go. */
export class SaidBook {
  readonly #said = new Map<string, Say>();

  keep(kind: 'ask' | 'mail', bootId: number, id: number, say: Say): void {
    this.#said.delete(`${kind}/${bootId}/${id}`);
    this.#said.set(`${kind}/${bootId}/${id}`, say);
    const [oldest] = this.#said.keys();
    if (this.#said.size > KEPT && oldest !== undefined) this.#said.delete(oldest);
  }

  find(kind: 'ask' | 'mail', bootId: number, id: number): Say | undefined {
    return this.#said.get(`${kind}/${bootId}/${id}`);
  }
}

/** As many as a board may wait for at once, both kinds. */
const KEPT = 18;

/** Bytes of an ANSWER around its text, sealing included. */
const OVERHEAD = 32;
const MAX_PARTS = 255;

export function answerMessages(
  askId: number,
  answer: { text?: string; card?: Value; error?: string },
  maxMessage: number,
): Answer[] {
  if (answer.error !== undefined) {
    const error = cut(answer.error, Math.min(256, maxMessage - OVERHEAD))[0] ?? '';
    return [{ type: 'answer', askId, part: 0, last: true, text: '', error }];
  }
  const texts = cut(answer.text ?? '', maxMessage - OVERHEAD).slice(0, MAX_PARTS);
  if (texts.length === 0) texts.push('');
  const parts = texts.map(
    (text, part): Answer => ({
      type: 'answer',
      askId,
      part,
      last: part === texts.length - 1,
      text,
    }),
  );
  if (answer.card === undefined) return parts;
  const last: Answer = {
    type: 'answer',
    askId,
    part: parts.length,
    last: true,
    text: '',
    card: answer.card,
  };
  if (encodeMessage(last).length + OVERHEAD > maxMessage) return parts;
  return [...parts.map((part) => ({ ...part, last: false })), last];
}

/** What the mail route said, or that it is too much for the board. */
export function mailReplyMessage(
  mailId: number,
  ok: boolean,
  value: Value,
  maxMessage: number,
): MessageOf<'mailReply'> {
  const reply: MessageOf<'mailReply'> = { type: 'mailReply', mailId, ok, value };
  const size = encodeMessage(reply).length + OVERHEAD;
  if (size <= maxMessage) return reply;
  const why = `The answer (${size} bytes) is larger than this board takes (${maxMessage}).`;
  return { type: 'mailReply', mailId, ok: false, value: why };
}

/** Pieces of at most `max` UTF-8 bytes each. */
function cut(text: string, max: number): string[] {
  const encoder = new TextEncoder();
  const pieces: string[] = [];
  let piece = '';
  let size = 0;
  for (const point of text.toWellFormed()) {
    const bytes = encoder.encode(point).length;
    if (size + bytes > max) {
      pieces.push(piece);
      piece = '';
      size = 0;
    }
    piece += point;
    size += bytes;
  }
  if (piece) pieces.push(piece);
  return pieces;
}
