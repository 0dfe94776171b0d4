import type { CardOf } from './cards.js';
import { type Box, DARK, INK, LIGHT, PAPER, type Pen } from './pen.js';
import { printable } from './text.js';

interface Scale {
  low: number;
  high: number;
  ticks: number[];
  decimals: number;
}

/** A line or bars over a numbered axis, with the last value said in figures. */
export function drawChart(pen: Pen, card: CardOf<'chart'>, box: Box): void {
  const { data } = card;
  const wide = box.w > 500;
  const small = wide ? 17 : 14;
  const scale = scaleOf(card, Math.max(2, Math.min(5, Math.floor(box.h / 52))));
  const unit = printable(card.unit ?? '').slice(0, 12);
  const texts = scale.ticks.map((tick) => tick.toFixed(scale.decimals));
  const measure = pen.measure(small);
  const left = Math.ceil(Math.max(...texts.map(measure))) + 12;
  const lastSize = wide ? 24 : 18;
  const last = `${said(data[data.length - 1] ?? 0, scale.decimals + 1)}${unit === '' ? '' : ` ${unit}`}`;
  const right = card.style === 'line' ? Math.ceil(pen.measure(lastSize, 'bold')(last)) + 18 : 4;
  const under = card.labels && card.labels.length > 0 ? small + 12 : 6;
  const plot = {
    x: box.x + left,
    y: box.y + small,
    w: box.w - left - right,
    h: box.h - small - under,
  };
  const yOf = (v: number): number => {
    const inside = Math.max(scale.low, Math.min(scale.high, v));
    return plot.y + plot.h - ((inside - scale.low) / (scale.high - scale.low)) * plot.h;
  };
  for (const [i, tick] of scale.ticks.entries()) {
    const y = Math.round(yOf(tick));
    dotted(pen, plot.x, y, plot.w);
    pen.put(texts[i] ?? '', plot.x - 10, y + small * 0.36, {
      size: small,
      color: DARK,
      align: 'right',
    });
  }
  if (card.style === 'bar') bars(pen, data, plot, yOf, scale);
  else line(pen, data, plot, yOf, wide);
  const floor = Math.round(yOf(Math.max(scale.low, Math.min(0, scale.high))));
  pen.rule(plot.x, floor, plot.w, INK, 2);
  if (card.style === 'line') {
    const at = yOf(data[data.length - 1] ?? 0);
    const baseline = Math.max(
      plot.y + lastSize * 0.5,
      Math.min(plot.y + plot.h, at + lastSize * 0.36),
    );
    pen.put(last, plot.x + plot.w + 14, baseline, { size: lastSize, face: 'bold' });
  }
  if (card.labels && card.labels.length > 0) {
    labels(pen, card.labels, card.style, data.length, plot, small);
  }
}

function line(
  pen: Pen,
  data: number[],
  plot: Box,
  yOf: (v: number) => number,
  wide: boolean,
): void {
  const { ctx } = pen;
  const xOf = (i: number): number => plot.x + (i / (data.length - 1)) * plot.w;
  ctx.beginPath();
  for (const [i, v] of data.entries()) ctx.lineTo(xOf(i), yOf(v));
  ctx.strokeStyle = INK;
  ctx.lineWidth = wide ? 3.5 : 2.5;
  ctx.lineJoin = 'round';
  ctx.stroke();
  const end = { x: xOf(data.length - 1), y: yOf(data[data.length - 1] ?? 0) };
  for (const [radius, color] of [
    [8, PAPER],
    [6, INK],
  ] as const) {
    ctx.beginPath();
    ctx.arc(end.x, end.y, radius, 0, 2 * Math.PI);
    ctx.fillStyle = color;
    ctx.fill();
  }
}

function bars(pen: Pen, data: number[], plot: Box, yOf: (v: number) => number, scale: Scale): void {
  const step = plot.w / data.length;
  const width = Math.max(1, Math.min(64, step * (data.length > 60 ? 0.7 : 0.62)));
  const zero = yOf(Math.max(scale.low, Math.min(0, scale.high)));
  const size = 16;
  const told = data.length <= 12;
  for (const [i, v] of data.entries()) {
    const x = plot.x + i * step + (step - width) / 2;
    const y = yOf(v);
    const top = Math.min(y, zero);
    const color = i === data.length - 1 ? INK : DARK;
    pen.rect({ x: Math.round(x), y: top, w: Math.round(width), h: Math.abs(zero - y) }, color);
    if (!told) continue;
    const text = said(v, scale.decimals + 1);
    const baseline = v < 0 ? Math.min(y + size, plot.y + plot.h) : Math.max(top - 6, plot.y - 2);
    pen.put(text, x + width / 2, baseline, { size, face: 'bold', align: 'center' });
  }
}

function labels(
  pen: Pen,
  names: string[],
  style: 'line' | 'bar',
  count: number,
  plot: Box,
  size: number,
): void {
  const step = style === 'bar' ? plot.w / count : plot.w / Math.max(1, names.length - 1);
  const start = style === 'bar' ? step / 2 : 0;
  const measure = pen.measure(size);
  const baseline = plot.y + plot.h + size + 8;
  let free = Number.NEGATIVE_INFINITY;
  for (const [i, name] of names.entries()) {
    const middle = plot.x + start + i * step;
    const half = measure(printable(name)) / 2;
    const most = plot.x + plot.w + (style === 'bar' ? 0 : half);
    // A name that would touch its neighbour or leave the plot is left out, not squeezed.
    if (middle - half < free || middle + half > most + 1) continue;
    pen.line(name, middle, baseline, plot.w, { size, color: DARK, align: 'center' });
    free = middle + half + 12;
  }
}

function dotted(pen: Pen, x: number, y: number, width: number): void {
  for (let at = 0; at < width; at += 6) pen.rect({ x: x + at, y, w: 2, h: 1 }, LIGHT);
}

/** Ticks at 1, 2 or 5 times a power of ten that cover the data or the wanted range. */
function scaleOf(card: CardOf<'chart'>, wanted: number): Scale {
  const least = Math.min(...card.data);
  const most = Math.max(...card.data);
  const bar = card.style === 'bar';
  let low = card.y_min ?? (bar ? Math.min(0, least) : least);
  let high = card.y_max ?? (bar ? Math.max(0, most) : most);
  if (!(high > low)) {
    const spread = Math.max(Math.abs(low) * 0.1, 1);
    low -= card.y_min === undefined ? spread : 0;
    high = Math.max(high, low) + spread;
  }
  const step = niceStep((high - low) / wanted);
  if (card.y_min === undefined) low = Math.floor(low / step + 1e-9) * step;
  if (card.y_max === undefined) high = Math.ceil(high / step - 1e-9) * step;
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); ticks.length < 12; i++) {
    if (i * step > high + step * 1e-6) break;
    ticks.push(i * step);
  }
  const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
  return { low, high, ticks: ticks.length > 0 ? ticks : [low, high], decimals };
}

function niceStep(raw: number): number {
  const power = 10 ** Math.floor(Math.log10(raw));
  const times = raw / power;
  return (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10) * power;
}

function said(v: number, decimals: number): string {
  if (Math.abs(v) >= 1e7) return v.toExponential(1);
  return String(Number(v.toFixed(Math.min(decimals, 6))));
}
