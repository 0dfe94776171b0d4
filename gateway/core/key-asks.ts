/**
 * What a board is asked about its key, under that key: to forget it (UNPAIR), or to keep the one
 * of the gateway that it goes to next (PROVISION, amendment 10); and the wait for its answer.
 */
import { boardIdBytes } from '../../protocol/identity.js';
import { MESSAGES, type Message } from '../../protocol/messages.js';
import { cutUtf8 } from '../../protocol/text.js';
import type { Session } from './session.js';
import type { BoardId, Clock, Timer } from './types.js';

export type KeyFault =
  /** The board is not there: nothing was asked. */
  | 'offline'
  /** Its key was given to it with its configuration: there is none to forget or to change. */
  | 'not_by_code'
  /** It refused, or could not store it. */
  | 'refused'
  /** Asked, and no answer came: it may have done it, or not. */
  | 'unconfirmed'
  /** It is being asked already; nothing more was asked. */
  | 'busy';

type Words = Readonly<Record<KeyFault, string>>;

const UNPAIR: Words = {
  offline:
    'The board is not connected, so it was not told and keeps its key; bring it near and try again, or reset it with its button.',
  not_by_code:
    'This board was not paired by a code but has its key from its configuration, so there is nothing to unpair.',
  refused: 'The board did not forget its key, so nothing was changed; try again.',
  unconfirmed:
    'The board was told, but its answer did not come: it may have forgotten its key or not; try again, or reset it with its button.',
  busy: 'The board is being asked about its key already, so it was not told once more; wait for that to end and try again.',
};

const PROVISION: Words = {
  offline: 'The board is not connected, so it was given no other key; bring it near and try again.',
  not_by_code:
    'This board was not paired by a code but has its key from its configuration, so it can be given no other; change its configuration.',
  refused: 'The board did not take another key, so nothing was changed; try again.',
  unconfirmed:
    'The board was given another key, but its answer did not come, so its own still counts; bring it near and try again.',
  busy: 'The board is being asked about its key already, so it was given no other; wait for that to end and try again.',
};

export class UnpairError extends Error {
  override readonly name = 'UnpairError';
  constructor(readonly code: KeyFault) {
    super(UNPAIR[code]);
  }
}

/** The board speaks under the key that it had. */
export class ProvisionError extends Error {
  override readonly name = 'ProvisionError';
  constructor(readonly code: KeyFault) {
    super(PROVISION[code]);
  }
}

const ANSWER_MS = 5_000;
/** Bytes of UTF-8 that PROVISION has for a name. */
export const NAME_BYTES = 64;

interface Asked {
  message: Message & { type: 'unpair' | 'provision' };
  session: Session;
  timer: Timer;
  done(): void;
  fail(code: KeyFault): void;
}

export class KeyAsks {
  readonly #clock: Clock;
  readonly #boardId: BoardId;
  #asked: Asked | undefined;

  constructor(clock: Clock, boardId: BoardId) {
    this.#clock = clock;
    this.#boardId = boardId;
  }

  /** Resolves when the board has said that its key is forgotten. Rejects with `UnpairError`. */
  unpair(session: Session | undefined): Promise<void> {
    const boardId = boardIdBytes(this.#boardId);
    return this.#ask(session, { type: 'unpair', boardId }, (code) => new UnpairError(code));
  }

  /**
   * Resolves when the board has said that it keeps `key` (16 bytes) for the gateway that comes
   * next. Its own goes on to count until a frame under that one verifies. Rejects with
   * `ProvisionError`.
   */
  provision(session: Session | undefined, key: Uint8Array, name: string): Promise<void> {
    const boardId = boardIdBytes(this.#boardId);
    const message = { type: 'provision', boardId, key, name: cutUtf8(name, NAME_BYTES) } as const;
    return this.#ask(session, message, (code) => new ProvisionError(code));
  }

  #ask(
    session: Session | undefined,
    message: Asked['message'],
    error: (code: KeyFault) => Error,
  ): Promise<void> {
    if (!session) return Promise.reject(error('offline'));
    // A link without sealing has no key to be told under.
    if (!session.seal) return Promise.reject(error('not_by_code'));
    // An answer names no key: of two that wait nobody could tell whose it is.
    if (this.#asked) return Promise.reject(error('busy'));
    return new Promise((done, reject) => {
      const timer = this.#clock.after(ANSWER_MS, () => {
        this.#end('unconfirmed');
        // Nor of one that comes late: it must not be taken for that of the next ask.
        if (message.type === 'provision') session.path.close('another key was not confirmed');
      });
      this.#asked = { message, session, timer, done, fail: (code) => reject(error(code)) };
      session.send(message);
    });
  }

  /** Whether the message is an answer to what was asked, which is taken then. */
  take(session: Session, message: Message): boolean {
    if (this.#asked?.session !== session) return false;
    const { type } = this.#asked.message;
    if (message.type === (type === 'unpair' ? 'unpaired' : 'provisioned')) {
      const { timer, done } = this.#asked;
      this.#asked = undefined;
      timer.cancel();
      done();
      return true;
    }
    if (message.type !== 'error' || message.about !== MESSAGES[type].id) return false;
    this.#end(message.code === 'unsupported' ? 'not_by_code' : 'refused');
    return true;
  }

  /** The session is over. */
  closed(): void {
    this.#end('unconfirmed');
  }

  #end(code: KeyFault): void {
    const asked = this.#asked;
    this.#asked = undefined;
    asked?.timer.cancel();
    asked?.fail(code);
  }
}
