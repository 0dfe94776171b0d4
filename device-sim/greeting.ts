/**
 * How a board and its gateway come to trust each other on a connection: HELLO until a WELCOME
 * comes, and on a sealing board nothing of that WELCOME counts before a sealed frame of the
 * gateway has verified (amendments 1 and 2). Frames come in and go out in order, sealed or not.
 */
import { MAX_BAD_TAGS } from '../protocol/channel.js';
import { decodeMessage, encodeMessage } from '../protocol/codec.js';
import { readFrame, SEAL } from '../protocol/frame.js';
import type { Message, MessageOf } from '../protocol/messages.js';
import type { Provisioning } from './provisioning.js';
import { SetupDesk } from './setup-desk.js';
import type { BoardClock, BoardSeal } from './types.js';

/** One connection, as a transport hands it over. */
export interface Wire {
  /** Bytes of one frame. May throw; the frame is lost then. */
  send(frame: Uint8Array): void;
  close(reason: string): void;
  /** On a wire of small packets: what HELLO must tell the gateway of this end. */
  readonly packets?: { readonly att: number; readonly rxWindow: number };
  /** The gateway's own `rxWindow`, once its WELCOME counts. */
  peerWindow?(bytes: number): void;
}

/** Makes the sealed session of a HELLO and a WELCOME, both as encoded messages. */
export type Secure = (hello: Uint8Array, welcome: Uint8Array) => Promise<BoardSeal>;

export interface GreetingDeps {
  readonly boardId: Uint8Array;
  readonly clock: BoardClock;
  readonly random: () => number;
  readonly maxMessage: number;
  readonly secure: Secure | undefined;
  /** Of a board that is paired by its set-up code; `secure` is set then, and needs a key. */
  readonly provisioning: Provisioning | undefined;
  hello(): MessageOf<'hello'>;
  /** A WELCOME came and can be answered; `counts` says whether it may change anything yet. */
  welcomed(welcome: MessageOf<'welcome'>, counts: boolean): void;
  /** The gateway repeats its WELCOME: CAPS were lost. */
  repeated(welcome: MessageOf<'welcome'>): void;
  /** What stood on this connection is void; the board greets anew. */
  void(): void;
  message(message: Message): void;
  /** An ERROR of the gateway, plain or sealed. */
  error(message: MessageOf<'error'>): void;
  refused(error: unknown): void;
  count(what: string): void;
}

interface Greeted {
  readonly welcome: MessageOf<'welcome'>;
  readonly bytes: Uint8Array;
  readonly seal: BoardSeal | undefined;
}

const HELLO_MS = 3_000;
const HELLO_MAX_MS = 60_000;

export class Greeting {
  readonly #deps: GreetingDeps;
  #wire: Wire | undefined;
  #hello: Uint8Array | undefined;
  #tries = 0;
  #timer: { cancel(): void } | undefined;
  /** The gateway whose WELCOME counts. */
  #greeted: Greeted | undefined;
  /** One whose WELCOME has come, and of which no sealed frame has verified yet. */
  #candidate: Greeted | undefined;
  #badTags = 0;
  #desk: SetupDesk | undefined;
  #in: Promise<void> = Promise.resolve();
  #out: Promise<void> = Promise.resolve();

  constructor(deps: GreetingDeps) {
    this.#deps = deps;
  }

  /** What the gateway said that messages go to now, whether or not it counts already. */
  get welcome(): MessageOf<'welcome'> | undefined {
    return (this.#candidate ?? this.#greeted)?.welcome;
  }

  connected(wire: Wire): void {
    this.#wire = wire;
    this.#badTags = 0;
    this.#desk = this.#deskAt(wire);
    if (this.#desk?.admits() ?? true) this.greet();
  }

  disconnected(): void {
    this.#wire = undefined;
    this.#desk?.ended();
    this.#forget();
  }

  /** Says HELLO, and the same again with longer and longer pauses until a WELCOME comes. */
  greet(): void {
    if (this.#hello || !this.#wire) return;
    this.#tries = 0;
    this.#hello = encodeMessage(this.#deps.hello());
    this.#sayHello();
  }

  send(message: Message): void {
    const to = this.#candidate ?? this.#greeted;
    const wire = this.#wire;
    if (!to || !wire) return;
    const bytes = encodeMessage(message);
    const { seal } = to;
    if (!seal) {
      this.#put(wire, plain(bytes));
      return;
    }
    this.#out = this.#out
      .then(async () => this.#put(wire, await seal.seal(bytes)))
      .catch(() => wire.close('sealing failed'));
  }

  /** Plain, as only HELLO and ERROR may travel on a sealing link. */
  sendPlain(message: MessageOf<'error'>): void {
    if (this.#wire) this.#put(this.#wire, plain(encodeMessage(message)));
  }

  /** One frame. Never throws. */
  received(frame: Uint8Array): void {
    const wire = this.#wire;
    if (!wire) return;
    try {
      const { seal, body } = readFrame(frame, this.#deps.maxMessage + 64);
      const desk = this.#desk;
      if (seal === SEAL.plain) this.#plain(wire, body.slice());
      else if (seal === SEAL.board && this.#deps.secure) {
        const kept = frame.slice();
        this.#in = this.#in.then(() => this.#sealed(wire, kept));
      } else if (seal === SEAL.setup && desk) {
        const kept = frame.slice();
        this.#in = this.#in.then(() => desk.received(kept));
      } else this.#deps.count('ignored.seal');
    } catch (error) {
      this.#deps.refused(error);
    }
  }

  #sayHello(): void {
    if (!this.#hello || !this.#wire) return;
    this.#put(this.#wire, plain(this.#hello));
    const pause = Math.min(HELLO_MAX_MS, HELLO_MS * 2 ** this.#tries++);
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after(
      Math.round(pause * (0.75 + 0.5 * this.#deps.random())),
      () => this.#sayHello(),
    );
  }

  #plain(wire: Wire, body: Uint8Array): void {
    const message = decodeMessage(body, this.#deps.maxMessage);
    if (message.type === 'welcome') this.#welcomed(wire, message, body);
    else if (message.type === 'error') this.#deps.error(message);
    else if (!this.#greeted && !this.#candidate) this.#deps.count('ignored.ungreeted');
    else if (this.#deps.secure) this.#deps.count('ignored.plain');
    else this.#deps.message(message);
  }

  #welcomed(wire: Wire, welcome: MessageOf<'welcome'>, bytes: Uint8Array): void {
    const known = this.#candidate ?? this.#greeted;
    if (known && sameBytes(known.bytes, bytes)) {
      this.#deps.repeated(welcome);
      return;
    }
    const { secure } = this.#deps;
    const hello = this.#hello;
    if (!secure) {
      this.#adopt({ welcome, bytes, seal: undefined });
      this.#deps.welcomed(welcome, true);
      return;
    }
    if (!hello) {
      // Nothing was asked: a recorded WELCOME must not shake a session that stands.
      this.#deps.count('ignored.welcome');
      return;
    }
    this.#in = this.#in
      .then(async () => {
        await this.#desk?.welcomed(hello, bytes);
        if (this.#wire !== wire || this.#hello !== hello) return;
        // Without a key there is nothing to say: the gateway proves first that it has the code.
        if (this.#deps.provisioning?.hasKey === false) return;
        const seal = await secure(hello, bytes);
        if (this.#wire !== wire || this.#hello !== hello) return;
        this.#candidate = { welcome, bytes, seal };
        this.#deps.welcomed(welcome, false);
      })
      .catch(() => this.#deps.count('bad.welcome'));
  }

  async #sealed(wire: Wire, frame: Uint8Array): Promise<void> {
    let why = 'ungreeted';
    for (const from of [this.#candidate, this.#greeted]) {
      if (!from?.seal) continue;
      const opened = await from.seal.open(frame);
      if (this.#wire !== wire) return;
      if (opened.ok) {
        this.#opened(from, opened.body);
        return;
      }
      why = opened.why;
    }
    this.#deps.count(`dropped.${why}`);
    // A link that repeats frames, or one that we have not greeted on, is no attack.
    if (why !== 'bad_tag' && why !== 'closed') return;
    if (++this.#badTags >= MAX_BAD_TAGS) wire.close('ten frames with a bad seal');
  }

  #opened(from: Greeted, body: Uint8Array): void {
    if (from === this.#candidate) {
      try {
        this.#deps.provisioning?.proven();
      } catch (error) {
        // Not durable: the set-up code opens still, and nothing of this session may count.
        this.#deps.refused(error);
        this.#wire?.close('the flash could not be written');
        return;
      }
      this.#adopt(from);
      this.#deps.welcomed(from.welcome, true);
    }
    if (from !== this.#greeted) return;
    try {
      const message = decodeMessage(body, this.#deps.maxMessage);
      if (message.type === 'error') this.#deps.error(message);
      // The WELCOME again, sealed, is the gateway's proof and nothing more.
      else if (message.type !== 'welcome') this.#deps.message(message);
    } catch (error) {
      this.#deps.refused(error);
    }
  }

  #adopt(greeted: Greeted): void {
    this.#greeted = greeted;
    this.#candidate = undefined;
    this.#hello = undefined;
    this.#timer?.cancel();
  }

  #forget(): void {
    this.#greeted = this.#candidate = this.#hello = undefined;
    this.#timer?.cancel();
  }

  #deskAt(wire: Wire): SetupDesk | undefined {
    const { boardId, clock, maxMessage, provisioning, refused, count } = this.#deps;
    if (!provisioning) return undefined;
    return new SetupDesk({
      boardId,
      clock,
      maxMessage,
      provisioning,
      put: (frame) => this.#put(wire, frame),
      sayPlain: (error) => this.#put(wire, plain(encodeMessage(error))),
      regreet: () => {
        this.#forget();
        this.#deps.void();
        this.greet();
      },
      close: (reason) => wire.close(reason),
      refused,
      count,
    });
  }

  #put(wire: Wire, frame: Uint8Array): void {
    try {
      if (this.#wire === wire) wire.send(frame);
    } catch {
      wire.close('sending failed');
    }
  }
}

function plain(body: Uint8Array): Uint8Array {
  const frame = new Uint8Array(body.length + 1);
  frame.set(body, 1);
  return frame;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
