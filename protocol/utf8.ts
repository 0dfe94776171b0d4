/** The offset of the first byte that breaks UTF-8 in `[from, end)`, or −1 (RFC 3629). */
export function checkUtf8(b: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end) {
    const lead = b[at] as number;
    if (lead < 0x80) {
      at++;
      continue;
    }
    if (lead < 0xc2 || lead > 0xf4) return at;
    const more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if (at + more >= end) return at;
    const second = b[at + 1] as number;
    // The second byte rules out overlong forms, surrogates and what lies beyond U+10FFFF.
    const least = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const most = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    if (second < least || second > most) return at;
    for (let i = 2; i <= more; i++) if (((b[at + i] as number) & 0xc0) !== 0x80) return at;
    at += more + 1;
  }
  return -1;
}
