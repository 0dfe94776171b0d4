/** Just enough of PNG and JPEG to say how large a picture is. */

export interface Picture {
  type: string;
  width?: number;
  height?: number;
}

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** Looks at the bytes, not at what the server calls them; `claimed` is the fallback. */
export function describePicture(bytes: Uint8Array, claimed: string): Picture {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length >= 24 && PNG.every((byte, i) => bytes[i] === byte)) {
    return { type: 'image/png', width: view.getUint32(16), height: view.getUint32(20) };
  }
  if (bytes.length >= 4 && view.getUint16(0) === 0xffd8) {
    return { type: 'image/jpeg', ...jpegSize(view) };
  }
  return { type: claimed === '' ? 'application/octet-stream' : claimed };
}

/** Walks the segments up to the start of frame, where the size stands. */
function jpegSize(view: DataView): { width?: number; height?: number } {
  let at = 2;
  while (at + 9 <= view.byteLength) {
    if (view.getUint8(at) !== 0xff) return {};
    const marker = view.getUint8(at + 1);
    const frame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (frame) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    at += 2 + view.getUint16(at + 2);
  }
  return {};
}

/** `800×480 PNG, 12345 bytes`. */
export function pictureWords(picture: Picture, bytes: number): string {
  const kind = picture.type.replace(/^image\//, '').toUpperCase();
  const size = picture.width === undefined ? '' : `${picture.width}×${picture.height ?? '?'} `;
  return `${size}${kind}, ${bytes} bytes`;
}
