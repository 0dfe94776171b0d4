/** From a card to the panel's picture. */
import type { Image } from '@napi-rs/canvas';
import { type Card, CardError, cardIdOf, type SimpleCard } from './cards.js';
import { drawChart } from './chart-card.js';
import { drawChat } from './chat-card.js';
import { drawChrome, PANEL, type PanelStatus } from './chrome.js';
import { drawComposite } from './composite-card.js';
import { drawError, type ErrorCard } from './error-card.js';
import { drawIdle } from './idle-card.js';
import { drawImage, loadPicture } from './image-card.js';
import { drawKv } from './kv-card.js';
import { drawList } from './list-card.js';
import { drawMenu } from './menu-card.js';
import { type Box, type DrawnText, Pen, type Target } from './pen.js';
import { drawQr } from './qr-card.js';
import { drawText } from './text-card.js';

export interface Picture {
  cardId: string;
  /** RGBA, 800 by 480. */
  rgba: Uint8ClampedArray;
  /** Every line of text in it, as drawn. */
  texts: DrawnText[];
  targets: Target[];
  /** True if something did not fit and is marked. */
  cut: boolean;
}

/** A card with its pictures decoded: what can fail has failed by then, but for the QR's size. */
export interface ReadyCard {
  card: Card;
  cardId: string;
  images: Map<SimpleCard, Image>;
}

/** Decodes what a card holds. Rejects with CardError only. */
export async function readyCard(card: Card): Promise<ReadyCard> {
  const images = new Map<SimpleCard, Image>();
  for (const part of card.type === 'composite' ? card.parts : [card]) {
    if (part.type === 'image') images.set(part, await loadPicture(part));
  }
  return { card, cardId: cardIdOf(card), images };
}

/** Draws a card. Throws CardError if its content can't be drawn at this size. */
export function renderCard(ready: ReadyCard, status: PanelStatus): Picture {
  const pen = new Pen(PANEL.width, PANEL.height);
  const { card } = ready;
  const box = drawChrome(pen, card, status);
  if (card.type === 'composite') {
    let i = 0;
    drawComposite(pen, card, box, (part, field) => {
      const own = card.parts[i++];
      drawSimple(pen, part, field, own && ready.images.get(own));
    });
  } else drawSimple(pen, card, box, ready.images.get(card));
  return finish(pen, ready.cardId);
}

/** Draws what stands for a card that can't be drawn. */
export function renderError(error: ErrorCard, status: PanelStatus): Picture {
  const pen = new Pen(PANEL.width, PANEL.height);
  const box = drawChrome(pen, { title: 'This card can’t be shown' }, status);
  drawError(pen, error, box);
  return finish(pen, 'error');
}

/** Draws the panel of a display that has not been given a card. */
export function renderIdle(boardId: string, status: PanelStatus): Picture {
  const pen = new Pen(PANEL.width, PANEL.height);
  drawIdle(pen, status.name, boardId, drawChrome(pen, {}, status));
  return finish(pen, 'idle');
}

/** Draws the set-up code of a board that waits to be paired, to be scanned or read. */
export function renderSetup(code: string, status: PanelStatus): Picture {
  const pen = new Pen(PANEL.width, PANEL.height);
  const box = drawChrome(pen, { title: 'Pair this board' }, status);
  drawQr(pen, { type: 'qr', text: code, caption: 'Scan this code, or type it' }, box);
  return finish(pen, 'setup');
}

function drawSimple(pen: Pen, card: SimpleCard, box: Box, image: Image | undefined): void {
  switch (card.type) {
    case 'text':
      drawText(pen, card, box);
      break;
    case 'list':
      drawList(pen, card, box);
      break;
    case 'kv':
      drawKv(pen, card, box);
      break;
    case 'qr':
      drawQr(pen, card, box);
      break;
    case 'chart':
      drawChart(pen, card, box);
      break;
    case 'chat':
      drawChat(pen, card, box);
      break;
    case 'menu':
      drawMenu(pen, card, box);
      break;
    case 'image':
      if (!image) throw new CardError('bad_picture', 'the picture was not decoded', 'image');
      drawImage(pen, card, box, image);
      break;
  }
}

function finish(pen: Pen, cardId: string): Picture {
  const { width, height } = PANEL;
  return {
    cardId,
    rgba: pen.ctx.getImageData(0, 0, width, height).data,
    texts: pen.texts,
    targets: pen.targets,
    cut: pen.cut,
  };
}
