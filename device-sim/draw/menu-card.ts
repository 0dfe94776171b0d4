import type { CardOf } from './cards.js';
import { type Box, DARK, INK, PAPER, type Pen } from './pen.js';

/** Up to 24 choices, each a place to touch, numbered so that they can be spoken of. */
export function drawMenu(pen: Pen, card: CardOf<'menu'>, box: Box): void {
  const { items } = card;
  const columns = items.length <= 5 ? 1 : items.length <= 12 ? 2 : 3;
  const lines = Math.ceil(items.length / columns);
  const gap = lines > 6 ? 8 : 12;
  const width = (box.w - gap * (columns - 1)) / columns;
  const height = Math.min(66, (box.h - gap * (lines - 1)) / lines);
  const size = Math.round(Math.max(13, Math.min(25, height * 0.44)));
  for (const [i, item] of items.entries()) {
    const cell = {
      x: Math.round(box.x + Math.floor(i / lines) * (width + gap)),
      y: Math.round(box.y + (i % lines) * (height + gap)),
      w: Math.round(width),
      h: Math.round(height),
    };
    const baseline = cell.y + cell.h / 2 + size * 0.36;
    pen.round(cell, Math.min(10, height / 4), PAPER, INK, 2);
    const badge = Math.round(size * 1.7);
    const number = String(i + 1);
    pen.put(number, cell.x + 8 + badge / 2, baseline, {
      size,
      face: 'bold',
      color: DARK,
      align: 'center',
    });
    pen.rect({ x: cell.x + badge + 16, y: cell.y + 8, w: 1, h: cell.h - 16 }, DARK);
    pen.line(item.label, cell.x + badge + 30, baseline, cell.w - badge - 44, { size });
    pen.targets.push({ ...cell, id: item.id });
  }
}
