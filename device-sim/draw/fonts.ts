/** The panel's fonts: DejaVu, from its package, under names that no installed font has. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { GlobalFonts } from '@napi-rs/canvas';

export type Face = 'regular' | 'bold' | 'light' | 'mono';

const FILES: Record<Face, { family: string; file: string }> = {
  regular: { family: 'Mote Regular', file: 'DejaVuSansCondensed.ttf' },
  bold: { family: 'Mote Bold', file: 'DejaVuSansCondensed-Bold.ttf' },
  light: { family: 'Mote Light', file: 'DejaVuSans-ExtraLight.ttf' },
  mono: { family: 'Mote Mono', file: 'DejaVuSansMono.ttf' },
};

let covered: ((codePoint: number) => boolean) | undefined;

/** Registers the fonts once and says which code points both text faces can draw. */
export function loadFonts(): (codePoint: number) => boolean {
  if (covered) return covered;
  const { resolve } = createRequire(import.meta.url);
  const tables: [first: number, last: number][][] = [];
  for (const face of Object.keys(FILES) as Face[]) {
    const { family, file } = FILES[face];
    const bytes = readFileSync(resolve(`dejavu-fonts-ttf/ttf/${file}`));
    GlobalFonts.register(bytes, family);
    if (face === 'regular' || face === 'bold') tables.push(coverage(bytes));
  }
  covered = (codePoint) => tables.every((ranges) => inRanges(ranges, codePoint));
  return covered;
}

/** A canvas font string. The family names are ours, so no installed font can stand in. */
export function fontOf(face: Face, size: number): string {
  return `${size}px "${FILES[face].family}"`;
}

function inRanges(ranges: [number, number][], codePoint: number): boolean {
  let low = 0;
  let high = ranges.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [first, last] = ranges[middle] ?? [0, -1];
    if (codePoint < first) high = middle - 1;
    else if (codePoint > last) low = middle + 1;
    else return true;
  }
  return false;
}

/**
 * The code points that a TrueType file maps, from its `cmap` table in format 12 (OpenType
 * specification, cmap). Read by us, since a canvas takes a missing glyph from whatever font the
 * machine has, and a board has only its own.
 */
export function coverage(font: Uint8Array): [first: number, last: number][] {
  const view = new DataView(font.buffer, font.byteOffset, font.byteLength);
  const tables = view.getUint16(4);
  for (let i = 0; i < tables; i++) {
    const record = 12 + i * 16;
    if (view.getUint32(record) !== 0x636d6170) continue;
    const cmap = view.getUint32(record + 8);
    const encodings = view.getUint16(cmap + 2);
    for (let e = 0; e < encodings; e++) {
      const table = cmap + view.getUint32(cmap + 4 + e * 8 + 4);
      if (view.getUint16(table) === 12) return groups(view, table);
    }
  }
  return [];
}

function groups(view: DataView, table: number): [number, number][] {
  const ranges: [number, number][] = [];
  const count = view.getUint32(table + 12);
  for (let i = 0; i < count; i++) {
    const group = table + 16 + i * 12;
    ranges.push([view.getUint32(group), view.getUint32(group + 4)]);
  }
  return ranges;
}
