import type { CardOf } from './cards.js';
import { type Box, DARK, INK, LIGHT, type Pen } from './pen.js';
import { CUT, printable } from './text.js';

/** Names and values: up to four as large figures, more as a table. */
export function drawKv(pen: Pen, card: CardOf<'kv'>, box: Box): void {
  const rows = card.rows;
  const wide = box.w > 500;
  const short = rows.every((row) => printable(row.value).length <= 14);
  if (wide && rows.length <= 4 && short) drawFigures(pen, rows, box);
  else drawTable(pen, rows, box);
}

type Rows = CardOf<'kv'>['rows'];

function drawFigures(pen: Pen, rows: Rows, box: Box): void {
  const columns = rows.length === 4 ? 2 : rows.length;
  const lines = Math.ceil(rows.length / columns);
  const gap = 28;
  const width = (box.w - gap * (columns - 1)) / columns;
  const height = (box.h - gap * (lines - 1)) / lines;
  for (const [i, row] of rows.entries()) {
    const cell = {
      x: box.x + (i % columns) * (width + gap),
      y: box.y + Math.floor(i / columns) * (height + gap),
      w: width,
      h: height,
    };
    pen.rect({ x: cell.x, y: cell.y, w: cell.w, h: 3 }, INK);
    pen.line(row.key, cell.x, cell.y + 36, cell.w, { size: 22, color: DARK });
    const sizes = [104, 88, 72, 60, 48, 40, 32, 26];
    const value = printable(row.value);
    const fits = (size: number): boolean =>
      size * 1.1 <= cell.h - 56 && pen.measure(size, 'bold')(value) <= cell.w;
    const size = sizes.find(fits) ?? 26;
    const top = cell.y + 44;
    const room = cell.y + cell.h - top;
    const baseline = lines > 1 ? top + size * 0.95 : top + Math.min(room * 0.5, 130) + size * 0.3;
    pen.line(row.value, cell.x, Math.round(baseline), cell.w, { size, face: 'bold' });
  }
}

function drawTable(pen: Pen, rows: Rows, box: Box): void {
  const wide = box.w > 500;
  const columns = wide && rows.length > 7 ? 2 : 1;
  const gap = 44;
  const width = (box.w - gap * (columns - 1)) / columns;
  const perColumn = Math.ceil(rows.length / columns);
  const least = wide ? 30 : 26;
  const height = Math.max(least, Math.min(wide ? 58 : 44, box.h / perColumn));
  const fits = Math.max(1, Math.floor((box.h + 4) / height));
  const size = Math.round(Math.min(wide ? 27 : 21, height * 0.6));
  const shown = Math.min(rows.length, fits * columns);
  const perShown = rows.length > shown ? fits : perColumn;
  for (const [i, row] of rows.slice(0, shown).entries()) {
    const x = box.x + Math.floor(i / perShown) * (width + gap);
    const y = box.y + (i % perShown) * height;
    const baseline = Math.round(y + height / 2 + size * 0.34 - 2);
    if (rows.length > shown && i === shown - 1) {
      const rest = rows.length - shown + 1;
      pen.put(`${CUT} ${rest} more`, x, baseline, { size, color: DARK });
      pen.cut = true;
      return;
    }
    const valueWidth = pen.measure(size, 'bold')(printable(row.value).replace(/\s+/g, ' '));
    const keyWidth = pen.measure(size)(printable(row.key));
    const forValue = Math.min(valueWidth + 1, Math.max(width * 0.55, width - keyWidth - 20));
    pen.line(row.key, x, baseline, width - forValue - 20, { size, color: DARK });
    pen.line(row.value, x + width, baseline, forValue, { size, face: 'bold', align: 'right' });
    if (i % perShown < perShown - 1 && i < shown - 1) pen.rule(x, y + height - 2, width, LIGHT);
  }
}
