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
  const gap = 40;
  const width = (box.w - gap * (columns - 1)) / columns;
  const height = (box.h - gap * (lines - 1)) / lines;
  // One size for all: a longer number must not look less important.
  const size =
    [150, 128, 104, 88, 72, 60, 48, 40, 32].find(
      (s) => s * 1.1 <= height - 50 && rows.every((row) => figureWidth(pen, row.value, s) <= width),
    ) ?? 26;
  for (const [i, row] of rows.entries()) {
    const cell = {
      x: box.x + (i % columns) * (width + gap),
      y: box.y + Math.floor(i / columns) * (height + gap),
      w: width,
      h: height,
    };
    pen.rect({ x: cell.x, y: cell.y, w: cell.w, h: 3 }, INK);
    pen.line(row.key, cell.x, cell.y + 36, cell.w, { size: 22, color: DARK });
    drawFigure(pen, row.value, size, cell, lines > 1);
  }
}

/** A value's number large and its unit after it, smaller. */
function drawFigure(pen: Pen, value: string, size: number, cell: Box, low: boolean): void {
  const { number, unit } = parts(value);
  const top = cell.y + 44;
  const room = cell.y + cell.h - top;
  const baseline = Math.round(top + (low ? size * 0.95 : Math.min(room * 0.3 + size * 0.4, 170)));
  pen.line(number, cell.x - size * 0.06, baseline, cell.w + 1, { size, face: 'bold' });
  if (unit === '') return;
  const x = cell.x + pen.measure(size, 'bold')(number) + size * 0.12;
  pen.put(unit, x, baseline, { size: unitSize(size), color: DARK });
}

function figureWidth(pen: Pen, value: string, size: number): number {
  const { number, unit } = parts(value);
  const width = pen.measure(size, 'bold')(number);
  return unit === '' ? width : width + size * 0.12 + pen.measure(unitSize(size))(unit);
}

function parts(value: string): { number: string; unit: string } {
  const text = printable(value).replace(/\s+/g, ' ').trim();
  const found = /^([-+\u2212]?[\d.,:]+)\s?([\p{L}°%€$£‰][^\d\s]{0,5})$/u.exec(text);
  return { number: found?.[1] ?? text, unit: found?.[2] ?? '' };
}

const unitSize = (size: number): number => Math.max(20, Math.round(size * 0.42));

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
