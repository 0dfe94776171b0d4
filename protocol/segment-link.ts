/**
 * Both directions of segments over one packet link, with the timers that they need: what stands
 * between a pipe of small packets (BLE, or anything like it) and whole messages. Either end uses
 * it; it owns no radio, and its time is injected.
 *
 * - CREDIT is said when half of our window was taken, and after a pause, so that the other side
 *   can forget what it sent.
 * - What gets no CREDIT for a while is sent again, with growing pauses; after `repeats` of them the
 *   peer has stopped answering and the link is given up.
 * - A NAK that nothing follows is said again, as often.
 */
import { Reassembler } from './reassembler.js';
import { controlOf, FIRST_WINDOW, LEAST_PAYLOAD, MOST_PAYLOAD } from './segment-form.js';
import { Segmenter } from './segments.js';

/** Milliseconds on a clock that never jumps, and timers. */
export interface SegmentClock {
  now(): number;
  after(ms: number, run: () => void): { cancel(): void };
}

export interface SegmentLinkOptions {
  readonly clock: SegmentClock;
  /** One packet to the peer, at most `payload` bytes. What it throws closes the link. */
  sendPacket(packet: Uint8Array): void;
  /** A whole message of the peer; the array is the caller's. Must not throw. */
  message(bytes: Uint8Array): void;
  /**
   * The link is of no more use: close what carries it. Called once, never by `close()`.
   * `reason` is for a log.
   */
  broken(reason: string): void;
  /** Bytes that one packet carries now (ATT payload); `LEAST_PAYLOAD` until told. */
  readonly payload?: number;
  /** The `rxWindow` that we tell the peer, in bytes of segments. */
  readonly rxWindow?: number;
  /** Longest message that we take, in bytes: our `maxMessage` and what sealing adds. */
  readonly limit: number;
  /** Bytes of messages that may wait for credit; what is more is shed. Default 65,536. */
  readonly maxWaiting?: number;
  /** Pause before a CREDIT that is not due yet. Default 100 ms. */
  readonly creditMs?: number;
  /** Pause before the first repetition; each is twice as long. Default 1,500 ms. */
  readonly repeatMs?: number;
  /** Repetitions without an answer before the link is given up. Default 3: 22.5 s in all. */
  readonly repeats?: number;
}

/** Since the link was made. */
export interface SegmentCounters {
  messagesIn: number;
  messagesOut: number;
  packetsIn: number;
  packetsOut: number;
  /** Bytes of packets, control included. */
  bytesIn: number;
  bytesOut: number;
  /** Messages and faults that we dropped (`Reassembler.dropped`). */
  dropped: number;
  naksIn: number;
  /** NAKs that we said, repeated ones included. */
  naksOut: number;
  /** Times that all in flight was sent again. */
  repeats: number;
  /** Messages that `send` did not take. */
  shed: number;
}

export class SegmentLink {
  readonly #options: SegmentLinkOptions;
  readonly #out: Segmenter;
  readonly #in: Reassembler;
  readonly #counters: Omit<SegmentCounters, 'dropped'> = {
    messagesIn: 0,
    messagesOut: 0,
    packetsIn: 0,
    packetsOut: 0,
    bytesIn: 0,
    bytesOut: 0,
    naksIn: 0,
    naksOut: 0,
    repeats: 0,
    shed: 0,
  };
  readonly #repeat: Retry;
  readonly #nak: Retry;
  #creditTimer: { cancel(): void } | undefined;
  /** When the last segment came for which no CREDIT was said; undefined: none is owed. */
  #owedSince: number | undefined;
  readonly #packets: Uint8Array[] = [];
  #putting = false;
  #closed = false;

  constructor(options: SegmentLinkOptions) {
    this.#options = options;
    const { clock, limit, rxWindow = FIRST_WINDOW, repeatMs = 1_500, repeats = 3 } = options;
    this.#out = new Segmenter({ payload: payloadOf(options.payload) });
    this.#in = new Reassembler({ window: rxWindow, limit });
    const retry = (run: () => void, gone: string): Retry =>
      new Retry(clock, repeatMs, repeats, run, () => this.#break(gone));
    this.#repeat = retry(() => this.#sendAgain(), 'the peer stopped acknowledging segments');
    this.#nak = retry(() => this.#nakAgain(), 'the peer does not send again what was lost');
  }

  get closed(): boolean {
    return this.#closed;
  }

  get counters(): Readonly<SegmentCounters> {
    return { ...this.#counters, dropped: this.#in.dropped };
  }

  /** Nothing waits, and all that was sent was credited. */
  get idle(): boolean {
    return this.#out.inFlight === 0 && this.#out.waiting === 0;
  }

  /** The live ATT payload in bytes; kept within 20 to 512. */
  setPayload(bytes: number): void {
    this.#out.payload = payloadOf(bytes);
    this.#put(this.#out.pump());
  }

  /** The peer's `rxWindow`, as its HELLO or WELCOME told it. */
  setWindow(bytes: number): void {
    this.#out.window = bytes;
    this.#put(this.#out.pump());
  }

  /**
   * Sends a message now or when there is credit. False: the link is closed, or too much waits
   * already; the message was not taken. @throws FrameError `too_large`, `truncated`
   */
  send(message: Uint8Array): boolean {
    const { maxWaiting = 65_536 } = this.#options;
    const { waiting } = this.#out;
    if (this.#closed || (waiting > 0 && waiting + message.length > maxWaiting)) {
      this.#counters.shed++;
      return false;
    }
    const packets = this.#out.add(message);
    this.#counters.messagesOut++;
    this.#put(packets);
    return true;
  }

  /** One packet of the peer. Never throws, whatever the bytes are. */
  packet(bytes: Uint8Array): void {
    if (this.#closed || bytes.length === 0) return;
    this.#counters.packetsIn++;
    this.#counters.bytesIn += bytes.length;
    const control = controlOf(bytes);
    if (control) {
      const before = this.#out.inFlight;
      if (control.kind === 'nak') this.#counters.naksIn++;
      const packets = this.#out.take(control);
      if (this.#out.closed) {
        this.#break('the peer refused one message three times');
        return;
      }
      // A CREDIT that frees nothing is no sign that anything arrives.
      if (control.kind === 'nak' || this.#out.inFlight < before) this.#repeat.stop();
      this.#put(packets);
      return;
    }
    const { message, reply } = this.#in.take(bytes);
    this.#follow(reply);
    if (!message) return;
    this.#counters.messagesIn++;
    this.#options.message(message);
  }

  /** Stops all timers; nothing is sent or taken any more. */
  close(): void {
    this.#closed = true;
    this.#packets.length = 0;
    this.#repeat.stop();
    this.#nak.stop();
    this.#creditTimer?.cancel();
  }

  /** After a segment: the control that it asks for, now or after a pause. */
  #follow(reply: Uint8Array | undefined): void {
    const restarting = this.#in.nakAgain() !== undefined;
    if (!restarting) this.#nak.stop();
    if (reply) {
      const nak = controlOf(reply)?.kind === 'nak';
      if (nak) this.#counters.naksOut++;
      else this.#owedSince = undefined;
      this.#put([reply]);
    } else if (!restarting) this.#owe();
    if (restarting) this.#nak.start();
  }

  #owe(): void {
    const { clock, creditMs = 100 } = this.#options;
    const fresh = this.#owedSince === undefined;
    this.#owedSince = clock.now();
    if (!fresh || this.#closed) return;
    this.#creditTimer?.cancel();
    this.#creditTimer = clock.after(creditMs, () => this.#payCredit(creditMs));
  }

  #payCredit(pause: number): void {
    this.#creditTimer = undefined;
    if (this.#owedSince === undefined) return;
    // One timer for a whole burst: it looks again if segments came meanwhile.
    const left = this.#owedSince + pause - this.#options.clock.now();
    if (left > 0) {
      this.#creditTimer = this.#options.clock.after(left, () => this.#payCredit(pause));
      return;
    }
    this.#owedSince = undefined;
    this.#put([this.#in.credit()]);
  }

  #sendAgain(): void {
    this.#counters.repeats++;
    this.#put(this.#out.again());
  }

  #nakAgain(): void {
    const nak = this.#in.nakAgain();
    if (!nak) return;
    this.#counters.naksOut++;
    this.#put([nak]);
  }

  #put(packets: readonly Uint8Array[]): void {
    this.#packets.push(...packets);
    // A pipe that answers at once must not bring later packets before these.
    if (this.#putting) return;
    this.#putting = true;
    try {
      for (let next = this.#packets.shift(); next && !this.#closed; next = this.#packets.shift()) {
        this.#counters.packetsOut++;
        this.#counters.bytesOut += next.length;
        this.#options.sendPacket(next);
      }
    } catch (error) {
      this.#break(`sending failed: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.#putting = false;
    }
    if (this.#closed) return;
    if (this.#out.inFlight > 0) this.#repeat.start();
    else this.#repeat.stop();
  }

  #break(reason: string): void {
    if (this.#closed) return;
    this.close();
    this.#options.broken(reason);
  }
}

/** Runs something again and again with growing pauses until it is stopped or has had enough. */
class Retry {
  readonly #clock: SegmentClock;
  readonly #firstMs: number;
  readonly #most: number;
  readonly #run: () => void;
  readonly #giveUp: () => void;
  #timer: { cancel(): void } | undefined;
  #tries = 0;

  constructor(
    clock: SegmentClock,
    firstMs: number,
    most: number,
    run: () => void,
    giveUp: () => void,
  ) {
    this.#clock = clock;
    this.#firstMs = firstMs;
    this.#most = most;
    this.#run = run;
    this.#giveUp = giveUp;
  }

  /** Does nothing if it runs already. */
  start(): void {
    if (!this.#timer) this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#tries = 0;
  }

  #arm(): void {
    this.#timer = this.#clock.after(this.#firstMs * 2 ** this.#tries, () => {
      if (this.#tries++ >= this.#most) this.#giveUp();
      else {
        this.#arm();
        this.#run();
      }
    });
  }
}

function payloadOf(bytes: number | undefined): number {
  if (bytes === undefined || !(bytes >= LEAST_PAYLOAD)) return LEAST_PAYLOAD;
  return Math.min(bytes, MOST_PAYLOAD);
}
