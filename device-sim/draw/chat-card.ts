import type { CardOf } from './cards.js';
import { type Box, DARK, INK, PAPER, type Pen } from './pen.js';
import { isRtl, type Wrapped } from './text.js';

const OWN = new Set(['user', 'me', 'you', 'owner', 'human']);

interface Bubble {
  from: string;
  own: boolean;
  words: Wrapped;
  width: number;
  height: number;
}

/** A conversation, the newest at the bottom; what no longer fits above is said. */
export function drawChat(pen: Pen, card: CardOf<'chat'>, box: Box): void {
  const size = box.w > 500 ? 23 : 18;
  const step = Math.round(size * 1.32);
  const most = Math.floor((box.h - 40) / step);
  const bubbles: Bubble[] = [];
  let used = 0;
  for (const message of [...card.messages].reverse()) {
    const own = OWN.has(message.from.toLowerCase());
    const words = pen.wrap(message.text, box.w * 0.74, Math.max(1, Math.min(most, 8)), { size });
    const measure = pen.measure(size);
    const widest = Math.max(...words.lines.map(measure), 24);
    const name = !own && message.from !== '' ? 20 : 0;
    const height = words.lines.length * step + 18 + name + 12;
    if (used + height > box.h - (bubbles.length + 1 < card.messages.length ? 24 : -12)) break;
    used += height;
    bubbles.push({ from: message.from, own, words, width: widest + 34, height });
  }
  const hidden = card.messages.length - bubbles.length;
  let y = box.y;
  if (hidden > 0) {
    pen.cut = true;
    const text = `[cut] ${hidden} earlier`;
    pen.put(text, box.x + box.w / 2, y + 14, { size: 16, color: DARK, align: 'center' });
    y += 26;
  }
  for (const bubble of bubbles.reverse()) {
    drawBubble(pen, bubble, box, y, size);
    y += bubble.height;
  }
}

function drawBubble(pen: Pen, bubble: Bubble, box: Box, top: number, size: number): void {
  const { own, words, width } = bubble;
  let y = top;
  const x = own ? box.x + box.w - width : box.x;
  if (!own && bubble.from !== '') {
    pen.line(bubble.from, x + 4, y + 14, box.w * 0.7, { size: 15, face: 'bold', color: DARK });
    y += 20;
  }
  const shape = { x, y, w: width, h: bubble.height - 12 - (y - top) };
  pen.round(shape, 14, own ? INK : PAPER, own ? undefined : INK, 2);
  // The corner towards the speaker is square, so that sides can be told apart in gray.
  const corner = { x: own ? x + width - 14 : x, y: y + shape.h - 14, w: 14, h: 14 };
  if (own) pen.rect(corner, INK);
  else {
    pen.rect({ ...corner, h: 14 }, INK);
    pen.rect({ x: corner.x + 2, y: corner.y, w: 12, h: 12 }, PAPER);
  }
  const inner = { x: x + 17, y: y + 8, w: width - 34, h: shape.h - 16 };
  const align = words.lines.some(isRtl) ? 'right' : 'left';
  pen.lines(words, inner, { size, color: own ? PAPER : INK, align });
}
