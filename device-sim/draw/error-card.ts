import { type Box, DARK, INK, type Pen } from './pen.js';

/** What stands on the panel instead of a card that could not be drawn. */
export interface ErrorCard {
  /** The type that was asked for, as it came. */
  asked: string;
  code: string;
  message: string;
}

/** Says that a card came, of which type, and why it can't be seen. */
export function drawError(pen: Pen, card: ErrorCard, box: Box): void {
  pen.round(box, 14, undefined, INK, 3);
  const { ctx } = pen;
  const middle = { x: box.x + 74, y: box.y + 76 };
  ctx.strokeStyle = INK;
  ctx.lineWidth = 5;
  ctx.beginPath();
  ctx.arc(middle.x, middle.y, 36, 0, 2 * Math.PI);
  ctx.moveTo(middle.x - 14, middle.y - 14);
  ctx.lineTo(middle.x + 14, middle.y + 14);
  ctx.moveTo(middle.x + 14, middle.y - 14);
  ctx.lineTo(middle.x - 14, middle.y + 14);
  ctx.stroke();
  const words = { x: box.x + 144, y: box.y + 28, w: box.w - 172, h: box.h - 56 };
  const type = card.asked === '' ? 'Card without a type' : `Card of type “${card.asked}”`;
  pen.line(type, words.x, words.y + 26, words.w, { size: 30, face: 'bold' });
  pen.line(card.code, words.x, words.y + 62, words.w, { size: 20, face: 'mono', color: DARK });
  const rest = { ...words, y: words.y + 84, h: words.h - 84 };
  pen.fit(card.message.charAt(0).toUpperCase() + card.message.slice(1), rest, [26, 22, 19, 17], {
    leading: 1.36,
  });
}
