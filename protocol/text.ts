/** Lengths of text in bytes: a character count says nothing about what fits a wire. */

/** Bytes of `text` in UTF-8; a lone surrogate counts as the 3 bytes of its replacement. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (unit < 0xd800 || unit > 0xdbff || !isTrail(text.charCodeAt(i + 1))) bytes += 2;
    else {
      // A pair: two units become four bytes.
      bytes += 2;
      i++;
    }
  }
  return bytes;
}

/** Whether `text` fits `max` bytes; most answers need no count. */
export function fitsUtf8(text: string, max: number): boolean {
  if (text.length > max) return false;
  return text.length * 3 <= max || utf8Length(text) <= max;
}

/** The longest start of `text` that fits `maxBytes` of UTF-8, cut at a code point. */
export function cutUtf8(text: string, maxBytes: number): string {
  if (fitsUtf8(text, maxBytes)) return text;
  let bytes = 0;
  for (let i = 0; i < text.length; ) {
    const step = (text.codePointAt(i) ?? 0) > 0xffff ? 2 : 1;
    const size = utf8Length(text.slice(i, i + step));
    if (bytes + size > maxBytes) return text.slice(0, i);
    bytes += size;
    i += step;
  }
  return text;
}

function isTrail(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
