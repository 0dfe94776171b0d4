/** Text of the air: anyone nearby may have written it. */
import { cutUtf8 } from '../../../protocol/text.js';

/** Control, format, surrogate and private characters, and the two line separators. */
const UNSEEN = /[\p{C}\u2028\u2029]/gu;

/** Fit to show: nothing that moves a cursor or turns the line about; at most 32 bytes. */
export function cleanName(text: string): string {
  // A long text is cut first, so that cleaning it costs nothing.
  const clean = text.slice(0, 256).replace(UNSEEN, ' ').replace(/\s+/g, ' ').trim();
  return cutUtf8(clean, 32);
}
