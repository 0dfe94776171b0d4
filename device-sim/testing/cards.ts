/** Draws cards for tests and looks at what came out. */
import { parseCard } from '../draw/cards.js';
import { Framebuffer } from '../draw/framebuffer.js';
import { type Picture, readyCard, renderCard } from '../draw/render.js';

export interface Drawn extends Picture {
  framebuffer: Framebuffer;
  /** All words, line after line. */
  words: string;
}

const STATUS = { name: 'Kitchen display', battery: 87, time: '14:32' };

export async function draw(card: Record<string, unknown>): Promise<Drawn> {
  return shown(renderCard(await readyCard(parseCard(card)), STATUS));
}

export function shown(picture: Picture): Drawn {
  const framebuffer = new Framebuffer(800, 480);
  framebuffer.setRgba(picture.rgba);
  return { ...picture, framebuffer, words: picture.texts.map((t) => t.text).join('\n') };
}

/** How many pixels of a gray stand in a rectangle. */
export function count(
  framebuffer: Framebuffer,
  gray: number,
  box = { x: 0, y: 0, w: 800, h: 480 },
): number {
  let found = 0;
  for (let y = box.y; y < box.y + box.h; y++) {
    for (let x = box.x; x < box.x + box.w; x++) if (framebuffer.get(x, y) === gray) found++;
  }
  return found;
}
