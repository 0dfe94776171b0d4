import type { CardOf } from './cards.js';
import type { Box, Pen } from './pen.js';

/** Words, as large as they fit. A card without a title is read across the room. */
export function drawText(pen: Pen, card: CardOf<'text'>, box: Box): void {
  const body = card.body ?? '';
  if (body === '') return;
  const lone = (card.title ?? '') === '' && body.length <= 140 && box.w > 500;
  if (lone) {
    const face = body.length <= 40 ? 'bold' : 'regular';
    const sizes = [120, 104, 88, 72, 60, 50, 42, 36];
    const height = heightOf(pen, body, box, sizes, face);
    const top = box.y + Math.max(0, (box.h - height) / 2 - 8);
    pen.fit(body, { ...box, y: top, h: box.h - (top - box.y) }, sizes, { face, leading: 1.2 });
    return;
  }
  pen.fit(body, box, box.w > 500 ? [34, 30, 26, 23, 20] : [40, 34, 30, 26, 22, 19, 17], {
    leading: 1.36,
  });
}

/** How high the text will be at the size it gets, found on a pen whose ink is thrown away. */
function heightOf(
  pen: Pen,
  body: string,
  box: Box,
  sizes: readonly number[],
  face: 'bold' | 'regular',
): number {
  for (const size of sizes) {
    const lines = Math.floor(box.h / (size * 1.2));
    const wrapped = pen.wrap(body, box.w, Math.max(lines, 1), { size, face });
    const measure = pen.measure(size, face);
    const whole = body.split(/\s+/).every((word) => measure(word) <= box.w);
    if (!wrapped.cut && whole) return wrapped.lines.length * Math.round(size * 1.2);
  }
  return box.h;
}
