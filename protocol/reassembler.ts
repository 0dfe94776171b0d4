/** The receiving side of segments (`segment-form.ts` has their form and rules). */
import { FIRST, FIRST_WINDOW, LAST, MAX_IN_FLIGHT } from './segment-form.js';

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
