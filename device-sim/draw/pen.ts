/** A canvas context with the few things that cards need, and a record of the words it drew. */
import { type Canvas, createCanvas, type SKRSContext2D } from '@napi-rs/canvas';
import { type Face, fontOf, loadFonts } from './fonts.js';
import { isRtl, type Measure, oneLine, printable, type Wrapped, wrap } from './text.js';

/** The panel's four grays as a canvas writes them. */
export const INK = '#000000';
export const DARK = '#555555';
export const LIGHT = '#aaaaaa';
export const PAPER = '#ffffff';

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** A place that answers to a finger. */
export interface Target extends Box {
  id: string;
}

export interface DrawnText {
  text: string;
  x: number;
  y: number;
  size: number;
}

export interface LineStyle {
  size: number;
  face?: Face;
  color?: string;
  align?: 'left' | 'center' | 'right';
}

export interface BlockStyle extends LineStyle {
  /** Line height as a multiple of the size. */
  leading?: number;
}

export class Pen {
  readonly canvas: Canvas;
  readonly ctx: SKRSContext2D;
  /** Every line of text drawn, in order, with its baseline. */
  readonly texts: DrawnText[] = [];
  readonly targets: Target[] = [];
  /** True once something had to be cut. */
  cut = false;

  constructor(width: number, height: number) {
    loadFonts();
    this.canvas = createCanvas(width, height);
    this.ctx = this.canvas.getContext('2d');
    this.ctx.lang = 'en';
    this.ctx.textBaseline = 'alphabetic';
    this.rect({ x: 0, y: 0, w: width, h: height }, PAPER);
  }

  measure(size: number, face: Face = 'regular'): Measure {
    const font = fontOf(face, size);
    return (text) => {
      this.ctx.font = font;
      return this.ctx.measureText(text).width;
    };
  }

  rect(box: Box, color: string): void {
    this.ctx.fillStyle = color;
    this.ctx.fillRect(box.x, box.y, box.w, box.h);
  }

  /** A rectangle with round corners, filled, outlined (inside its edge), or both. */
  round(box: Box, radius: number, fill?: string, stroke?: string, width = 2): void {
    this.ctx.beginPath();
    const inset = stroke ? width / 2 : 0;
    this.ctx.roundRect(box.x + inset, box.y + inset, box.w - 2 * inset, box.h - 2 * inset, radius);
    if (fill) {
      this.ctx.fillStyle = fill;
      this.ctx.fill();
    }
    if (stroke) {
      this.ctx.strokeStyle = stroke;
      this.ctx.lineWidth = width;
      this.ctx.stroke();
    }
  }

  rule(x: number, y: number, w: number, color: string = LIGHT, thick = 1): void {
    this.rect({ x, y: Math.round(y), w, h: thick }, color);
  }

  /** Draws words as they are; `x` is the left edge, the middle or the right edge by `align`. */
  put(text: string, x: number, baseline: number, style: LineStyle): void {
    const { ctx } = this;
    ctx.font = fontOf(style.face ?? 'regular', style.size);
    ctx.fillStyle = style.color ?? INK;
    ctx.textAlign = style.align ?? 'left';
    ctx.direction = isRtl(text) ? 'rtl' : 'ltr';
    ctx.fillText(text, x, baseline);
    if (text !== '') this.texts.push({ text, x, y: baseline, size: style.size });
  }

  /** One line of foreign text in a width, cut and marked if it must be. */
  line(text: string, x: number, baseline: number, width: number, style: LineStyle): void {
    const fitted = oneLine(printable(text), width, this.measure(style.size, style.face));
    if (fitted.cut) this.cut = true;
    this.put(fitted.lines[0] ?? '', x, baseline, style);
  }

  /** How foreign text would fall into a box of this width and at most that many lines. */
  wrap(text: string, width: number, maxLines: number, style: LineStyle): Wrapped {
    return wrap(printable(text), width, maxLines, this.measure(style.size, style.face));
  }

  /** Draws wrapped lines from the top of a box; answers the height they took. */
  lines(wrapped: Wrapped, box: Box, style: BlockStyle): number {
    if (wrapped.cut) this.cut = true;
    const step = Math.round(style.size * (style.leading ?? 1.32));
    let baseline = box.y + Math.round(style.size * 0.95);
    for (const line of wrapped.lines) {
      const align = style.align ?? (isRtl(line) ? 'right' : 'left');
      const x = align === 'left' ? box.x : align === 'right' ? box.x + box.w : box.x + box.w / 2;
      this.put(line, x, baseline, { ...style, align });
      baseline += step;
    }
    return wrapped.lines.length * step;
  }

  /**
   * Draws a text as large as one of `sizes` lets it fit the box (tried in order); at the last
   * size it is cut. Answers the height it took.
   */
  fit(text: string, box: Box, sizes: readonly number[], style: Omit<BlockStyle, 'size'>): number {
    for (const [i, size] of sizes.entries()) {
      const full = { ...style, size };
      const step = Math.round(size * (style.leading ?? 1.32));
      const maxLines = Math.max(1, Math.floor((box.h + step * 0.25) / step));
      const wrapped = this.wrap(text, box.w, maxLines, full);
      // A word broken in two at a large size looks worse than a smaller size.
      const broken = i < sizes.length - 1 && this.breaksWord(text, box.w, full);
      if ((!wrapped.cut && !broken) || i === sizes.length - 1)
        return this.lines(wrapped, box, full);
    }
    return 0;
  }

  private breaksWord(text: string, width: number, style: LineStyle): boolean {
    const measure = this.measure(style.size, style.face);
    const words = printable(text).split(/\s+/).slice(0, 80);
    return words.some((word) => word.length > 3 && measure(word) > width);
  }
}

/** A smaller box inside a box. */
export function inset(box: Box, dx: number, dy = dx): Box {
  return { x: box.x + dx, y: box.y + dy, w: box.w - 2 * dx, h: box.h - 2 * dy };
}
