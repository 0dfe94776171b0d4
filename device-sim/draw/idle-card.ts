import { PANEL } from './chrome.js';
import { type Box, DARK, LIGHT, type Pen } from './pen.js';

/** What a display shows until its first card comes. */
export function drawIdle(pen: Pen, name: string, boardId: string, box: Box): void {
  const middle = PANEL.width / 2;
  const y = box.y + box.h / 2;
  pen.line(name, middle, y - 6, box.w, { size: 60, face: 'bold', align: 'center' });
  pen.rule(middle - 40, y + 20, 80, LIGHT, 3);
  pen.put('Waiting for a first card', middle, y + 62, { size: 24, color: DARK, align: 'center' });
  pen.put(boardId, middle, y + 98, { size: 17, face: 'mono', color: DARK, align: 'center' });
}
