/** The sending side of segments (`segment-form.ts` has their form and rules). */
import { FrameError } from './frame-error.js';
import {
  type Control,
  FIRST,
  FIRST_WINDOW,
  LAST,
  LEAST_PAYLOAD,
  MAX_IN_FLIGHT,
  MAX_NAKS,
  MOST_PAYLOAD,
} from './segment-form.js';

export * from './reassembler.js';
export * from './segment-form.js';

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

  /** Bytes of messages that were not yet cut as a whole. */
  get waiting(): number {
    return this.#queue.reduce((bytes, message) => bytes + message.bytes.length, -this.#cut);
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
