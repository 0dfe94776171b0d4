import type { CardOf } from './cards.js';
import { type Box, DARK, INK, LIGHT, type Pen } from './pen.js';
import { CUT } from './text.js';

/** Items one below the other, with a bullet or a tick box; two columns when there are many. */
export function drawList(pen: Pen, card: CardOf<'list'>, box: Box): void {
  const { items } = card;
  const wide = box.w > 500;
  const columns = wide && items.length > 9 && items.every((i) => i.text.length <= 36) ? 2 : 1;
  const gap = 36;
  const width = (box.w - gap * (columns - 1)) / columns;
  const perColumn = Math.ceil(items.length / columns);
  const ideal = box.h / perColumn;
  const rowHeight = Math.max(wide ? 32 : 28, Math.min(wide ? 58 : 42, ideal));
  const size = Math.round(Math.min(wide ? 27 : 21, rowHeight * 0.58));
  const fits = Math.max(1, Math.floor((box.h + 4) / rowHeight));
  const shown = Math.min(items.length, fits * columns);
  const hidden = items.length - shown;
  const perShown = hidden > 0 ? fits : Math.ceil(shown / columns);
  const boxes = items.some((item) => item.done !== undefined);
  for (const [i, item] of items.slice(0, shown).entries()) {
    const column = Math.floor(i / perShown);
    const line = i % perShown;
    const cell = {
      x: box.x + column * (width + gap),
      y: box.y + line * rowHeight,
      w: width,
      h: rowHeight,
    };
    if (hidden > 0 && i === shown - 1) {
      const rest = hidden + 1;
      pen.put(`${CUT} ${rest} more`, cell.x, middle(cell, size), { size, color: DARK });
      pen.cut = true;
      return;
    }
    drawItem(pen, item, cell, size, boxes ? size + 12 : 26, line < perShown - 1 && i < shown - 1);
  }
}

function drawItem(
  pen: Pen,
  item: CardOf<'list'>['items'][number],
  cell: Box,
  size: number,
  indent: number,
  ruled: boolean,
): void {
  const baseline = middle(cell, size);
  const mark = {
    x: cell.x,
    y: cell.y + cell.h / 2 - 3 - size * 0.36,
    w: size * 0.72,
    h: size * 0.72,
  };
  if (item.done === undefined) {
    pen.rect({ x: cell.x + 2, y: cell.y + cell.h / 2 - 6, w: 8, h: 8 }, INK);
  } else {
    pen.round(mark, 4, item.done ? INK : undefined, INK, 2);
    if (item.done) drawTick(pen, mark);
  }
  const left = cell.x + indent;
  let width = cell.w - (left - cell.x);
  if (item.detail !== undefined && item.detail !== '') {
    const small = Math.round(size * 0.82);
    const taken = Math.min(width * 0.45, pen.measure(small)(item.detail) + 2);
    pen.line(item.detail, cell.x + cell.w, baseline, taken, {
      size: small,
      color: DARK,
      align: 'right',
    });
    width -= taken + 18;
  }
  pen.line(item.text, left, baseline, width, { size, color: item.done ? DARK : INK });
  if (ruled) pen.rule(left, cell.y + cell.h - 3, cell.w - (left - cell.x), LIGHT);
}

function drawTick(pen: Pen, mark: Box): void {
  const { ctx } = pen;
  ctx.strokeStyle = '#ffffff';
  ctx.lineWidth = 3;
  ctx.beginPath();
  ctx.moveTo(mark.x + mark.w * 0.22, mark.y + mark.h * 0.52);
  ctx.lineTo(mark.x + mark.w * 0.42, mark.y + mark.h * 0.74);
  ctx.lineTo(mark.x + mark.w * 0.8, mark.y + mark.h * 0.26);
  ctx.stroke();
}

function middle(cell: Box, size: number): number {
  return Math.round(cell.y + cell.h / 2 + size * 0.34 - 3);
}
