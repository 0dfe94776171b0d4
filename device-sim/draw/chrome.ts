/** What every card has round it: the status line, the title, the footer and the buttons. */
import type { Card } from './cards.js';
import { type Box, DARK, INK, LIGHT, PAPER, type Pen } from './pen.js';

export const PANEL = { width: 800, height: 480 } as const;
const MARGIN = 32;

/** What the status line says. */
export interface PanelStatus {
  name: string;
  /** Percent. */
  battery?: number;
  /** Local time of this refresh by the gateway's clock, `14:32`; absent until a gateway told it. */
  time?: string;
}

type Around = Pick<Card, 'title' | 'footer' | 'buttons' | 'priority'>;

/** Draws all that is not the card's own content, and answers the box left for that. */
export function drawChrome(pen: Pen, card: Around, status: PanelStatus): Box {
  drawStatus(pen, status);
  let top = 38;
  if (card.priority === 'alert') top = drawAlert(pen, card.title ?? 'Alert', top);
  else if ((card.title ?? '') !== '') top = drawTitle(pen, card.title ?? '', top);
  else top += 22;
  let bottom = PANEL.height - 26;
  if ((card.footer ?? '') !== '') {
    pen.line(card.footer ?? '', MARGIN, PANEL.height - 17, PANEL.width - 2 * MARGIN, {
      size: 16,
      color: DARK,
    });
    bottom = PANEL.height - 48;
  }
  if (card.buttons && card.buttons.length > 0) bottom = drawButtons(pen, card.buttons, bottom);
  return { x: MARGIN, y: top, w: PANEL.width - 2 * MARGIN, h: bottom - top };
}

function drawStatus(pen: Pen, status: PanelStatus): void {
  const right = PANEL.width - MARGIN;
  pen.line(status.name, MARGIN, 26, 380, { size: 16, face: 'bold', color: DARK });
  let x = right;
  if (status.battery !== undefined) x = drawBattery(pen, x, status.battery) - 18;
  const said = status.time === undefined ? 'no gateway yet' : `updated ${status.time}`;
  pen.put(said, x, 26, { size: 16, color: DARK, align: 'right' });
  pen.rule(MARGIN, 37, PANEL.width - 2 * MARGIN, LIGHT, 1);
}

function drawBattery(pen: Pen, right: number, percent: number): number {
  const body = { x: right - 31, y: 13, w: 28, h: 15 };
  pen.round(body, 3, undefined, DARK, 2);
  pen.rect({ x: right - 3, y: 17, w: 3, h: 7 }, DARK);
  const full = Math.max(0, Math.min(100, percent)) / 100;
  const level = { x: body.x + 4, y: body.y + 4, w: Math.round(20 * full), h: body.h - 8 };
  pen.rect(level, full < 0.15 ? INK : DARK);
  const text = `${Math.round(full * 100)}%`;
  pen.put(text, body.x - 7, 26, { size: 16, color: DARK, align: 'right' });
  return body.x - 7 - pen.measure(16)(text);
}

function drawTitle(pen: Pen, title: string, top: number): number {
  const width = PANEL.width - 2 * MARGIN;
  const large = pen.wrap(title, width, 1, { size: 38, face: 'bold' });
  const style = large.cut
    ? { size: 28, face: 'bold' as const }
    : { size: 38, face: 'bold' as const };
  const wrapped = large.cut ? pen.wrap(title, width, 2, style) : large;
  const box = { x: MARGIN, y: top + (large.cut ? 14 : 16), w: width, h: 0 };
  const height = pen.lines(wrapped, box, { ...style, leading: 1.2 });
  return box.y + height + 12;
}

function drawAlert(pen: Pen, title: string, top: number): number {
  const band = { x: 0, y: top, w: PANEL.width, h: 76 };
  pen.rect(band, INK);
  const { ctx } = pen;
  const middle = band.y + band.h / 2;
  ctx.fillStyle = PAPER;
  ctx.beginPath();
  ctx.moveTo(MARGIN + 24, middle - 23);
  ctx.lineTo(MARGIN + 50, middle + 21);
  ctx.lineTo(MARGIN - 2, middle + 21);
  ctx.closePath();
  ctx.fill();
  pen.put('!', MARGIN + 24, middle + 16, { size: 30, face: 'bold', color: INK, align: 'center' });
  const width = PANEL.width - 2 * MARGIN - 72;
  const style = { size: 36, face: 'bold' as const, color: PAPER };
  const small = pen.wrap(title, width, 1, style).cut ? { ...style, size: 26 } : style;
  pen.line(title, MARGIN + 72, middle + small.size * 0.36, width, small);
  return band.y + band.h + 22;
}

function drawButtons(pen: Pen, buttons: NonNullable<Card['buttons']>, bottom: number): number {
  const height = 48;
  const gap = 14;
  const y = bottom - height;
  const room = PANEL.width - 2 * MARGIN - gap * (buttons.length - 1);
  const measure = pen.measure(20, 'bold');
  const wide = buttons.map((button) => Math.min(340, Math.max(120, measure(button.label) + 56)));
  const sum = wide.reduce((a, b) => a + b, 0);
  const scale = sum > room ? room / sum : 1;
  let x = MARGIN;
  for (const [i, button] of buttons.entries()) {
    const box = { x, y, w: Math.round((wide[i] ?? 120) * scale), h: height };
    const first = i === 0;
    pen.round(box, 10, first ? INK : PAPER, INK, 2);
    const style = { size: 20, face: 'bold' as const, color: first ? PAPER : INK };
    pen.line(button.label, box.x + box.w / 2, y + 31, box.w - 24, { ...style, align: 'center' });
    pen.targets.push({ ...box, id: button.id });
    x += box.w + gap;
  }
  return y - 18;
}
