/**
 * One greeted connection of a board: what its HELLO said, and how messages go out. On a link
 * that seals, frames are sealed one after the other, in the order they were asked for.
 */
import { encodeMessage } from '../../protocol/codec.js';
import { plainFrame } from '../../protocol/frame.js';
import type { Message, MessageOf } from '../../protocol/messages.js';
import type { Limits } from './limits.js';
import { type Seal, SealRefused } from './secure.js';
import type { Path } from './types.js';

export class Session {
  readonly path: Path;
  readonly hello: MessageOf<'hello'>;
  readonly welcome: Uint8Array;
  readonly seal: Seal | undefined;
  readonly bootId: number;
  readonly maxCalls: number;
  /** Largest message the board takes, in bytes, sealing left aside. */
  readonly maxMessage: number;
  /** On a link that seals: true once a sealed frame of the board has verified. */
  verified: boolean;
  #out: Promise<void> = Promise.resolve();

  constructor(
    path: Path,
    hello: MessageOf<'hello'>,
    welcome: Uint8Array,
    seal: Seal | undefined,
    limits: Limits,
  ) {
    this.path = path;
    this.hello = hello;
    this.welcome = welcome;
    this.seal = seal;
    this.verified = seal === undefined;
    this.bootId = hello.bootId;
    this.maxCalls = Math.max(1, hello.maxCalls ?? limits.boardMaxCalls);
    this.maxMessage = Math.max(64, hello.maxMessage ?? limits.boardMaxMessage);
  }

  send(message: Message): void {
    const seal = this.seal;
    if (!seal) {
      this.#put(plainFrame(message));
      return;
    }
    this.#sealed(seal, encodeMessage(message));
  }

  /**
   * A sealed frame of the board has verified: it hears its WELCOME again, sealed. Nothing of a
   * WELCOME counts before that (amendment 2), and there may be nothing else to say for hours.
   */
  prove(): void {
    this.verified = true;
    if (this.seal) this.#sealed(this.seal, this.welcome);
  }

  #sealed(seal: Seal, bytes: Uint8Array): void {
    this.#out = this.#out
      .then(async () => this.#put(await seal.seal(bytes)))
      .catch(() => {
        this.path.close('sealing failed');
      });
  }

  /** A path that is closed loses the frame: what must arrive is sent again after the next HELLO. */
  #put(frame: Uint8Array): void {
    try {
      this.path.send(frame);
    } catch {
      this.path.close('sending failed');
    }
  }
}

/**
 * The message in a frame that one of the sessions can open, tried in their order. Rejects as the
 * last one does, or as the first that says the connection must end.
 */
export async function openSealed(
  sessions: readonly Session[],
  frame: Uint8Array,
): Promise<{ session: Session; body: Uint8Array }> {
  let refused: unknown;
  for (const session of sessions) {
    try {
      const body = await session.seal?.open(frame);
      if (body) return { session, body };
    } catch (error) {
      if (!(refused instanceof SealRefused && refused.final)) refused = error;
    }
  }
  throw refused;
}
