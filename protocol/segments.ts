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
import { FrameError } from './frame-error.js';

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

interface Sent {
  readonly number: number;
  readonly bytes: Uint8Array;
  readonly message: Waiting;
  readonly last: boolean;
}

interface Waiting {
  readonly bytes: Uint8Array;
  naks: number;
}

export interface SegmenterOptions {
  /** Bytes that one packet carries now (ATT payload), 20 to 512. */
  readonly payload: number;
  /** The peer's `rxWindow`, in bytes of segments. */
  readonly window?: number;
}

/** The sending side. What it returns is to be sent at once and in order. */
export class Segmenter {
  payload: number;
  window: number;
  readonly #queue: Waiting[] = [];
  #sent: Sent[] = [];
  #inFlight = 0;
  #next = 0;
  /** Content bytes of the first message in the queue that were cut already. */
  #cut = 0;
  #closed = false;

  constructor({ payload, window = FIRST_WINDOW }: SegmenterOptions) {
    if (!(payload >= LEAST_PAYLOAD)) {
      throw new FrameError('bad_field', `a packet must carry ${LEAST_PAYLOAD} bytes or more`);
    }
    this.payload = Math.min(payload, MOST_PAYLOAD);
    this.window = window;
  }

  /** Three NAKs in a row for one message: close the link. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Messages that were not yet credited as a whole. */
  get unsettled(): number {
    const sent = new Set(this.#sent.map((s) => s.message));
    return new Set([...sent, ...this.#queue]).size;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Queues a message (sealed, if the link seals). @throws FrameError `too_large`, `truncated` */
  add(message: Uint8Array): Uint8Array[] {
    if (message.length > 0xffff) {
      throw new FrameError(
        'too_large',
        `a message of ${message.length} bytes does not fit segments (65,535 at most); nothing was sent`,
      );
    }
    if (message.length === 0) throw new FrameError('truncated', 'a message is never empty');
    this.#queue.push({ bytes: message, naks: 0 });
    return this.pump();
  }

  /** What may be sent now, after `window` or `payload` has changed. */
  pump(): Uint8Array[] {
    const out: Uint8Array[] = [];
    while (!this.#closed) {
      const message = this.#queue[0];
      if (!message || this.#sent.length >= MAX_IN_FLIGHT) break;
      const left = message.bytes.length - this.#cut;
      const whole = this.#cut === 0 && left + 1 <= this.payload;
      const head = this.#cut === 0 && !whole ? 3 : 1;
      const take = Math.min(left, this.payload - head);
      // One segment may always be under way, or a window below a packet would stop for ever.
      if (this.#inFlight > 0 && this.#inFlight + head + take > this.window) break;
      const last = take === left;
      const bytes = new Uint8Array(head + take);
      bytes[0] = (this.#cut === 0 ? FIRST : 0) | (last ? LAST : 0) | (this.#next & 63);
      if (head === 3) new DataView(bytes.buffer).setUint16(1, message.bytes.length);
      bytes.set(message.bytes.subarray(this.#cut, this.#cut + take), head);
      this.#sent.push({ number: this.#next, bytes, message, last });
      this.#inFlight += bytes.length;
      this.#next++;
      this.#cut = last ? 0 : this.#cut + take;
      if (last) this.#queue.shift();
      out.push(bytes);
    }
    return out;
  }

  /** Takes a control segment of the peer; `closed` may be true after it. */
  take(control: Control): Uint8Array[] {
    const number = this.#full(control.number);
    if (number === undefined || this.#closed) return [];
    if (control.kind === 'nak') return this.#restart(number);
    this.#credit(number);
    return this.pump();
  }

  /**
   * All that is in flight once more, as it was: for a caller that has heard no CREDIT for a
   * while. The receiver passes over what it has and says CREDIT again.
   */
  again(): Uint8Array[] {
    return this.#closed ? [] : this.#sent.map((s) => s.bytes);
  }

  /** The number in flight (or the next one) with these low bits; undefined if it is stale. */
  #full(low: number): number | undefined {
    const oldest = this.#sent[0]?.number ?? this.#next;
    const number = oldest + ((low - oldest) & 63);
    return number <= this.#next ? number : undefined;
  }

  #credit(number: number): void {
    while (this.#sent[0] && this.#sent[0].number < number) {
      const sent = this.#sent.shift();
      this.#inFlight -= sent?.bytes.length ?? 0;
    }
  }

  #restart(number: number): Uint8Array[] {
    const missing = this.#sent.find((s) => s.number === number);
    // Nothing of that number is under way: a NAK that was repeated or invented.
    if (!missing) return [];
    const { message } = missing;
    if (++message.naks >= MAX_NAKS) {
      this.#closed = true;
      return [];
    }
    const again = this.#sent.filter((s) => s.number >= number).map((s) => s.message);
    for (const waiting of [...new Set(again)].reverse()) {
      if (this.#queue[0] !== waiting) this.#queue.unshift(waiting);
    }
    this.#credit(number);
    this.#sent = [];
    this.#inFlight = 0;
    this.#next = number;
    this.#cut = 0;
    return this.pump();
  }
}

export interface ReassemblerOptions {
  /** Our own `rxWindow`. */
  readonly window?: number;
  /** Our own `maxMessage`, and what sealing adds. */
  readonly limit: number;
}

export interface SegmentStep {
  /** A whole message, never parts of two. */
  readonly message?: Uint8Array;
  /** A control segment to send. */
  readonly reply?: Uint8Array;
}

const NOTHING: SegmentStep = {};

/** The receiving side. */
export class Reassembler {
  readonly #window: number;
  readonly #limit: number;
  #expected = 0;
  #buffer: Uint8Array | undefined;
  #filled = 0;
  /** After a NAK: only a first segment of the expected number is taken. */
  #restarting = false;
  #bytesSince = 0;
  #segmentsSince = 0;
  #dropped = 0;

  constructor({ window = FIRST_WINDOW, limit }: ReassemblerOptions) {
    this.#window = window;
    this.#limit = Math.min(limit, 0xffff);
  }

  /** Messages that were dropped unfinished, and faults. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Takes one segment that `controlOf` says is none of control. */
  take(segment: Uint8Array): SegmentStep {
    const header = segment[0];
    if (header === undefined) return NOTHING;
    const ahead = ((header & 63) - this.#expected) & 63;
    // The sender goes over what it sent before: it lacks our CREDIT.
    if (ahead >= 64 - MAX_IN_FLIGHT) return { reply: this.credit() };
    if (this.#restarting) {
      if (ahead !== 0 || (header & FIRST) === 0) return NOTHING;
      this.#restarting = false;
    }
    if (ahead !== 0) return this.#fault();
    const first = (header & FIRST) !== 0;
    const last = (header & LAST) !== 0;
    // A first segment inside a message, a later one outside.
    if (first === (this.#buffer !== undefined)) return this.#fault();
    const step = first ? this.#begin(segment, last) : this.#more(segment, last);
    if (!step) return this.#fault();
    this.#expected = (this.#expected + 1) & 63;
    this.#bytesSince += segment.length;
    this.#segmentsSince++;
    const due = this.#bytesSince * 2 >= this.#window || this.#segmentsSince * 2 >= MAX_IN_FLIGHT;
    return due ? { ...step, reply: this.credit() } : step;
  }

  /** The CREDIT to send now: also good after a pause, so that the sender can forget. */
  credit(): Uint8Array {
    this.#bytesSince = 0;
    this.#segmentsSince = 0;
    return Uint8Array.of(LAST | this.#expected);
  }

  /** The NAK to say again, for a caller that has heard nothing for a while after one. */
  nakAgain(): Uint8Array | undefined {
    return this.#restarting ? Uint8Array.of(this.#expected) : undefined;
  }

  #begin(segment: Uint8Array, last: boolean): SegmentStep | undefined {
    if (last) {
      if (segment.length < 2 || segment.length - 1 > this.#limit) return undefined;
      return { message: segment.slice(1) };
    }
    if (segment.length < 4) return undefined;
    const length = ((segment[1] as number) << 8) | (segment[2] as number);
    // The whole content is not in a first segment that isn't last.
    if (length > this.#limit || length <= segment.length - 3) return undefined;
    this.#buffer = new Uint8Array(length);
    this.#buffer.set(segment.subarray(3));
    this.#filled = segment.length - 3;
    return NOTHING;
  }

  #more(segment: Uint8Array, last: boolean): SegmentStep | undefined {
    const buffer = this.#buffer;
    const end = this.#filled + segment.length - 1;
    if (!buffer || segment.length < 2 || end > buffer.length) return undefined;
    if (last !== (end === buffer.length)) return undefined;
    buffer.set(segment.subarray(1), this.#filled);
    this.#filled = end;
    if (!last) return NOTHING;
    this.#buffer = undefined;
    return { message: buffer };
  }

  #fault(): SegmentStep {
    this.#dropped++;
    this.#buffer = undefined;
    this.#restarting = true;
    return { reply: Uint8Array.of(this.#expected) };
  }
}
