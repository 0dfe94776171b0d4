import QRCode from 'qrcode';
import { CardError, type CardOf } from './cards.js';
import { type Box, DARK, INK, type Pen } from './pen.js';

/** Fewer pixels a module and a phone can't read the code from a panel at arm's length. */
const LEAST_MODULE = 3;
/** In a part of a composite one has to come closer. */
const LEAST_IN_PART = 2;

/** A code at the left and what it is for at the right. */
export function drawQr(pen: Pen, card: CardOf<'qr'>, box: Box): void {
  const wide = box.w > 500;
  const side = Math.min(box.h, box.w, 390);
  const least = wide ? LEAST_MODULE : LEAST_IN_PART;
  const drawn = drawCode(pen, card.text, { x: box.x, y: box.y, w: side, h: side }, least);
  const gap = wide ? 36 : 18;
  const words = { x: box.x + drawn + gap, y: box.y + 4, w: box.w - drawn - gap, h: box.h - 8 };
  if (words.w < 90) return;
  if (card.caption === undefined) {
    pen.fit(card.text, words, wide ? [26, 22, 19, 17] : [16, 14], { face: 'mono', leading: 1.4 });
    return;
  }
  const head = { ...words, h: wide ? words.h * 0.62 : words.h };
  const sizes = wide ? [38, 32, 28, 24, 20] : [24, 20, 17];
  const height = pen.fit(card.caption, head, sizes, { face: 'bold', leading: 1.25 });
  if (!wide) return;
  const rest = { ...words, y: words.y + height + 14, h: words.h - height - 14 };
  pen.fit(card.text, rest, [18], { color: DARK, leading: 1.4, face: 'mono' });
}

/**
 * Draws a code as large as whole modules allow, its ink at the box's left edge; answers its width
 * in pixels. The quiet zone is the panel's paper round it.
 */
function drawCode(pen: Pen, text: string, box: Box, least: number): number {
  let code: QRCode.QRCode;
  try {
    code = QRCode.create(text, { errorCorrectionLevel: text.length > 300 ? 'L' : 'M' });
  } catch {
    throw tooDense(text);
  }
  const { size, data } = code.modules;
  const module = Math.floor(box.w / size);
  if (module < least) throw tooDense(text);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      if (!data[row * size + column]) continue;
      const x = box.x + column * module;
      pen.rect({ x, y: Math.round(box.y) + row * module, w: module, h: module }, INK);
    }
  }
  return module * size;
}

function tooDense(text: string): CardError {
  const bytes = new TextEncoder().encode(text).length;
  return new CardError(
    'too_dense',
    `${bytes} bytes make a QR code too fine for this panel; send a shorter text, such as a short link`,
    'qr',
  );
}
