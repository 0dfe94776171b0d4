import QRCode from 'qrcode';
import { CardError, type CardOf } from './cards.js';
import { type Box, DARK, INK, PAPER, type Pen } from './pen.js';

/** Below this many pixels a module, a phone can't read the code from a panel. */
const LEAST_MODULE = 3;

/** A code at the left and what it is for at the right; below each other where it is narrow. */
export function drawQr(pen: Pen, card: CardOf<'qr'>, box: Box): void {
  const caption = card.caption ?? card.text;
  const beside = box.w > 500;
  const side = beside ? Math.min(box.h, 380) : Math.min(box.w, box.h - 34);
  const drawn = drawCode(pen, card.text, { x: box.x, y: box.y, w: side, h: side });
  if (!beside) {
    const under = { x: box.x, y: box.y + drawn + 22, w: box.w, h: 0 };
    pen.line(caption, under.x, under.y, under.w, { size: 17, color: DARK });
    return;
  }
  const words = { x: box.x + drawn + 40, y: box.y + 4, w: box.w - drawn - 40, h: box.h - 8 };
  if (card.caption === undefined) {
    pen.fit(caption, words, [26, 22, 19, 17], { face: 'mono', leading: 1.4 });
    return;
  }
  const head = { ...words, h: words.h * 0.62 };
  const height = pen.fit(caption, head, [38, 32, 28, 24, 20], { face: 'bold', leading: 1.25 });
  const rest = { ...words, y: words.y + height + 14, h: words.h - height - 14 };
  pen.fit(card.text, rest, [18], { color: DARK, leading: 1.4, face: 'mono' });
}

/** Draws a code as large as whole modules allow; answers its side in pixels. */
export function drawCode(pen: Pen, text: string, box: Box): number {
  let code: QRCode.QRCode;
  try {
    code = QRCode.create(text, { errorCorrectionLevel: text.length > 300 ? 'L' : 'M' });
  } catch {
    throw tooDense(text);
  }
  const { size, data } = code.modules;
  const quiet = 2;
  const module = Math.floor(box.w / (size + 2 * quiet));
  if (module < LEAST_MODULE) throw tooDense(text);
  const side = module * (size + 2 * quiet);
  pen.rect({ x: box.x, y: box.y, w: side, h: side }, PAPER);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      if (!data[row * size + column]) continue;
      const x = box.x + (column + quiet) * module;
      pen.rect({ x, y: Math.round(box.y) + (row + quiet) * module, w: module, h: module }, INK);
    }
  }
  return side;
}

function tooDense(text: string): CardError {
  const bytes = new TextEncoder().encode(text).length;
  return new CardError(
    'too_dense',
    `${bytes} bytes make a QR code too fine for this panel; send a shorter text, such as a short link`,
    'qr',
  );
}
