import type { CompositeCard, SimpleCard } from './cards.js';
import { type Box, DARK, inset, LIGHT, type Pen } from './pen.js';

/** Up to four cards on one panel, each in a field of its own. */
export function drawComposite(
  pen: Pen,
  card: CompositeCard,
  box: Box,
  drawPart: (part: SimpleCard, box: Box) => void,
): void {
  for (const [i, field] of fields(box, card.parts.length).entries()) {
    const part = card.parts[i];
    if (!part) continue;
    pen.round(field, 10, undefined, LIGHT, 2);
    let inner = inset(field, 16, 14);
    if ((part.title ?? '') !== '') {
      const style = { size: 18, face: 'bold' as const, color: DARK };
      pen.line(part.title ?? '', inner.x, inner.y + 15, inner.w, style);
      inner = { ...inner, y: inner.y + 28, h: inner.h - 28 };
    }
    drawPart({ ...part, title: undefined }, inner);
  }
}

function fields(box: Box, count: number): Box[] {
  const gap = 16;
  const w = (box.w - gap) / 2;
  const h = (box.h - gap) / 2;
  const right = box.x + w + gap;
  const below = box.y + h + gap;
  if (count === 1) return [box];
  if (count === 2)
    return [
      { ...box, w },
      { ...box, x: right, w },
    ];
  if (count === 3) {
    return [
      { ...box, w },
      { x: right, y: box.y, w, h },
      { x: right, y: below, w, h },
    ];
  }
  return [
    { x: box.x, y: box.y, w, h },
    { x: right, y: box.y, w, h },
    { x: box.x, y: below, w, h },
    { x: right, y: below, w, h },
  ];
}
