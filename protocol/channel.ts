/** A sealed session between a board and its gateway, from WELCOME to the next HELLO. */
import { decodeMessage } from './codec.js';
import type { SEAL } from './frame.js';
import { FrameError } from './frame-error.js';
import {
  type Ccm,
  type CcmMaker,
  COUNTER_END,
  type Direction,
  fullCounter,
  join,
  sealNonce,
  sessionKey,
  TAG_BYTES,
} from './sealing.js';

/** So many bad tags end the connection, without any lock-out (amendment 10). */
export const MAX_BAD_TAGS = 10;
/** Seal byte, low half of the counter and tag: what a sealed frame adds to its message. */
export const SEALED_OVERHEAD = 1 + 2 + TAG_BYTES;

export interface ChannelInput {
  readonly role: 'board' | 'gateway';
  /** Which key it is; the seal byte of every frame. */
  readonly seal: typeof SEAL.board | typeof SEAL.setup;
  /** The board's key, or the one that `setupKey` makes. 16 bytes. */
  readonly key: Uint8Array;
  /** HELLO and WELCOME of this connection as they crossed the link, without the seal byte. */
  readonly hello: Uint8Array;
  readonly welcome: Uint8Array;
  readonly ccm: CcmMaker;
}

export type Opened =
  | { readonly ok: true; readonly body: Uint8Array }
  | { readonly ok: false; readonly why: NotOpened };

/**
 * Why a frame was dropped. `replayed`: it verified before. `exhausted`: the counter's end.
 * `closed`: ten bad tags have come, close the connection; nothing is opened any more.
 */
export type NotOpened =
  | 'bad_tag'
  | 'replayed'
  | 'wrong_seal'
  | 'truncated'
  | 'exhausted'
  | 'closed';

export class SecureChannel {
  readonly #seal: number;
  readonly #session: number;
  readonly #out: { ccm: Ccm; direction: Direction; counter: number };
  readonly #in: { ccm: Ccm; direction: Direction; counter: number };
  #badTags = 0;
  #replays = 0;
  #sealing: Promise<unknown> = Promise.resolve();
  #opening: Promise<unknown> = Promise.resolve();

  /**
   * Derives both keys. Nothing that HELLO or WELCOME says may take effect before a frame of
   * the peer has opened: see `established`.
   * @throws FrameError if the bytes are no HELLO and WELCOME, or one of them lacks its nonce
   */
  static async create(input: ChannelInput): Promise<SecureChannel> {
    const hello = decodeMessage(input.hello);
    const welcome = decodeMessage(input.welcome);
    if (hello.type !== 'hello' || welcome.type !== 'welcome') {
      throw new FrameError('not_a_message', 'a session needs a HELLO and a WELCOME');
    }
    if (!hello.nonce || !welcome.nonce) {
      throw new FrameError('missing_field', 'a sealed session needs the nonce of both sides');
    }
    const side = async (direction: Direction) => ({
      direction,
      counter: 0,
      ccm: await input.ccm(sessionKey(input.key, direction, input.hello, input.welcome)),
    });
    const [up, down] = await Promise.all([side('up'), side('down')]);
    const board = input.role === 'board';
    return new SecureChannel(input.seal, welcome.session, board ? up : down, board ? down : up);
  }

  private constructor(
    seal: number,
    session: number,
    out: { ccm: Ccm; direction: Direction; counter: number },
    from: { ccm: Ccm; direction: Direction; counter: number },
  ) {
    this.#seal = seal;
    this.#session = session;
    this.#out = out;
    this.#in = from;
  }

  /** A frame of the peer has verified: it holds the key and saw the same greeting. */
  get established(): boolean {
    return this.#in.counter > 0;
  }

  get badTags(): number {
    return this.#badTags;
  }

  get replays(): number {
    return this.#replays;
  }

  /** No further frame can be sealed: the board must greet anew. */
  get exhausted(): boolean {
    return this.#out.counter + 1 >= COUNTER_END;
  }

  /**
   * A frame with this message inside. Frames resolve in the order of the calls and must be
   * sent in it: a counter below one that was accepted is dropped.
   * @throws FrameError `too_many` when the counter is at its end
   */
  seal(message: Uint8Array): Promise<Uint8Array> {
    if (this.exhausted) {
      return Promise.reject(
        new FrameError('too_many', 'the session has sealed all it may; a new HELLO is needed'),
      );
    }
    const { ccm, direction } = this.#out;
    const counter = ++this.#out.counter;
    const head = Uint8Array.of(this.#seal);
    const nonce = sealNonce(direction, this.#session, counter);
    const sealed = ccm.seal(nonce, head, message);
    const frame = Promise.all([sealed, this.#sealing]).then(([bytes]) =>
      join(head, Uint8Array.of(counter >> 8, counter), bytes),
    );
    this.#sealing = frame.catch(() => undefined);
    return frame;
  }

  /** Opens a whole frame, seal byte included; one after the other, in the order of the calls. */
  open(frame: Uint8Array): Promise<Opened> {
    const opened = this.#opening.then(() => this.#open(frame));
    this.#opening = opened.catch(() => undefined);
    return opened;
  }

  async #open(frame: Uint8Array): Promise<Opened> {
    if (this.#badTags >= MAX_BAD_TAGS) return { ok: false, why: 'closed' };
    if (frame[0] !== this.#seal) return { ok: false, why: 'wrong_seal' };
    // A message has at least one byte.
    if (frame.length <= SEALED_OVERHEAD) return { ok: false, why: 'truncated' };
    const low = ((frame[1] as number) << 8) | (frame[2] as number);
    const counter = fullCounter(this.#in.counter, low);
    if (counter >= COUNTER_END) return { ok: false, why: 'exhausted' };
    const body = await this.#try(frame, counter);
    if (body) {
      this.#in.counter = counter;
      return { ok: true, body };
    }
    // A link that repeats frames is no attack: it must not use up the bad tags.
    if (counter > 0x1_0000 && (await this.#try(frame, counter - 0x1_0000))) {
      this.#replays++;
      return { ok: false, why: 'replayed' };
    }
    this.#badTags++;
    return { ok: false, why: this.#badTags >= MAX_BAD_TAGS ? 'closed' : 'bad_tag' };
  }

  #try(frame: Uint8Array, counter: number): Promise<Uint8Array | undefined> {
    const { ccm, direction } = this.#in;
    const nonce = sealNonce(direction, this.#session, counter);
    return ccm.open(nonce, frame.subarray(0, 1), frame.subarray(3));
  }
}
