import { createCanvas, type Image, loadImage } from '@napi-rs/canvas';
import { CardError, type CardOf } from './cards.js';
import { dither } from './dither.js';
import { type Box, DARK, LIGHT, type Pen } from './pen.js';

/** More pixels than this are not decoded: a small file can claim to be an enormous picture. */
const MAX_PIXELS = 4_000_000;

/** Decodes a card's picture. Throws CardError `bad_picture` with what is wrong. */
export async function loadPicture(card: CardOf<'image'>): Promise<Image> {
  const base64 = (card.data ?? '').replace(/^data:[^,]{0,64},/, '').replace(/\s+/g, '');
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(base64)) throw bad('image.data is not base64');
  const bytes = Buffer.from(base64, 'base64');
  const size = pictureSize(bytes);
  if (!size) throw bad('image.data is neither a PNG nor a JPEG');
  if (size.width < 1 || size.height < 1) throw bad('the picture has no pixels');
  if (size.width * size.height > MAX_PIXELS) {
    throw bad(
      `the picture is ${size.width}×${size.height}; this board takes at most ${MAX_PIXELS / 1e6} million pixels`,
    );
  }
  try {
    const image = await loadImage(bytes);
    if (image.width > 0 && image.height > 0) return image;
  } catch {
    // The decoder's own words speak of its inside; ours say what to do.
  }
  throw bad('the picture is damaged and could not be decoded');
}

function bad(why: string): CardError {
  return new CardError('bad_picture', `${why}; send a PNG or JPEG as base64`, 'image');
}

/** Scales the picture into the box, keeps its shape, and turns it into four grays. */
export function drawImage(pen: Pen, card: CardOf<'image'>, box: Box, image: Image): void {
  const caption = card.caption ?? '';
  const room = { ...box, h: box.h - (caption === '' ? 0 : 34) };
  const scale = Math.min(room.w / image.width, room.h / image.height);
  const width = Math.max(1, Math.round(image.width * scale));
  const height = Math.max(1, Math.round(image.height * scale));
  const x = Math.round(room.x + (room.w - width) / 2);
  const y = Math.round(room.y + (room.h - height) / 2);
  const canvas = createCanvas(width, height);
  const ctx = canvas.getContext('2d');
  ctx.fillStyle = '#ffffff';
  ctx.fillRect(0, 0, width, height);
  // Pixel art stays crisp when it is enlarged; photographs are scaled smoothly.
  ctx.imageSmoothingEnabled = scale < 2;
  ctx.imageSmoothingQuality = 'high';
  ctx.drawImage(image, 0, 0, width, height);
  const pixels = ctx.getImageData(0, 0, width, height);
  dither(pixels.data, width, height);
  pen.ctx.putImageData(pixels, x, y);
  pen.round({ x: x - 1, y: y - 1, w: width + 2, h: height + 2 }, 0, undefined, LIGHT, 1);
  if (caption !== '') {
    pen.line(caption, box.x + box.w / 2, box.y + box.h - 6, box.w, {
      size: 19,
      color: DARK,
      align: 'center',
    });
  }
}

/** Width and height from a PNG's IHDR or a JPEG's frame header; undefined if it is neither. */
export function pictureSize(bytes: Uint8Array): { width: number; height: number } | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length >= 24 && view.getUint32(0) === 0x89504e47 && view.getUint32(4) === 0x0d0a1a0a) {
    return { width: view.getUint32(16), height: view.getUint32(20) };
  }
  if (bytes.length < 4 || view.getUint16(0) !== 0xffd8) return undefined;
  for (let at = 2; at + 9 <= bytes.length; ) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) {
      at++;
      continue;
    }
    // C0 to CF are frame headers, but for the tables C4, C8 and CC.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    }
    const alone = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);
    at += alone ? 2 : 2 + view.getUint16(at + 2);
  }
  return undefined;
}
