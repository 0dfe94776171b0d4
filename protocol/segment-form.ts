/**
 * Messages cut into what one small radio packet carries, and put together again (design:
 * "Segments"; amendments 7 and 8). One header byte: bit 7 first, bit 6 last, bits 5..0 the
 * number of the segment modulo 64, counted per direction.
 *
 * | segment | bytes |
 * |---|---|
 * | whole message | `11ssssss` content |
 * | first of several | `10ssssss` length(2, big endian, of the whole message) content |
 * | middle | `00ssssss` content |
 * | last | `01ssssss` content |
 * | NAK | `00ssssss` alone: number s is missing, start the message that holds it again |
 * | CREDIT | `01ssssss` alone: everything before number s was taken, its bytes are free again |
 *
 * Content is never empty, so a lone header is always control; it uses no number of its own and
 * the lone headers `10` and `11` are faults. A CREDIT says all that was taken so far, so that a
 * lost or repeated one does no harm.
 *
 * The receiver takes numbers strictly in order. At a gap or a fault it drops the unfinished
 * message, says NAK once and drops all that comes until that number comes again as a first
 * segment. The sender then starts the message that holds the number, and all after it, again
 * under new numbers from that one on: messages arrive in order, each whole or not at all.
 *
 * In flight are at most `rxWindow` bytes of segments (headers counted) and 32 segments: half
 * of the numbers, so that an old one is never taken for a new one.
 */
export const FIRST = 0x80;
export const LAST = 0x40;
/** The payload of a link that has told nothing yet: the least that BLE guarantees. */
export const LEAST_PAYLOAD = 20;
export const MOST_PAYLOAD = 512;
/** Credit before HELLO or WELCOME has told `rxWindow`. */
export const FIRST_WINDOW = 256;
export const MAX_IN_FLIGHT = 32;
/** So many NAKs in a row for one message close the link. */
export const MAX_NAKS = 3;

export interface Control {
  readonly kind: 'nak' | 'credit';
  /** Modulo 64. */
  readonly number: number;
}

/** The control segment that these bytes are, or undefined: then they are the reassembler's. */
export function controlOf(segment: Uint8Array): Control | undefined {
  if (segment.length !== 1) return undefined;
  const header = segment[0] as number;
  if ((header & FIRST) !== 0) return undefined;
  return { kind: (header & LAST) === 0 ? 'nak' : 'credit', number: header & 63 };
}
