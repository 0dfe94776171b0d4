/** ANSWER messages: text cut into parts that each fit the board, never inside a code point. */
import { encodeMessage } from '../../protocol/codec.js';
import type { Value } from '../../protocol/kinds.js';
import type { MessageOf } from '../../protocol/messages.js';

type Answer = MessageOf<'answer'>;

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
