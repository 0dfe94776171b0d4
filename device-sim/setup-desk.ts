/**
 * The frames of the set-up key on one connection of a board (frame.md "Pairing"): PROVISION is
 * taken and answered, everything else under that key is refused. Nothing here throws.
 */
import { decodeMessage, encodeMessage } from '../protocol/codec.js';
import { boardIdText } from '../protocol/identity.js';
import { MESSAGES, type MessageOf } from '../protocol/messages.js';
import { join } from '../protocol/sealing.js';
import type { Provisioning } from './provisioning.js';
import type { BoardClock, BoardSeal } from './types.js';

/** So long a connection stays open for a last word to leave. */
export const LINGER_MS = 300;

export interface DeskDeps {
  readonly boardId: Uint8Array;
  readonly clock: BoardClock;
  readonly maxMessage: number;
  readonly provisioning: Provisioning;
  /** A whole frame, sealed already. */
  put(frame: Uint8Array): void;
  sayPlain(error: MessageOf<'error'>): void;
  /** There is a key now: the board greets anew, under it. */
  regreet(): void;
  close(reason: string): void;
  refused(error: unknown): void;
  count(what: string): void;
}

export class SetupDesk {
  readonly #deps: DeskDeps;
  /** HELLO and WELCOME of the session. */
  #greeting: Uint8Array | undefined;
  #seal: BoardSeal | undefined;
  #saidPaired = false;
  #leaving = false;
  #over = false;

  constructor(deps: DeskDeps) {
    this.#deps = deps;
  }

  /** False while the board is locked out and has nothing else to talk about: it says so and leaves. */
  admits(): boolean {
    const { provisioning } = this.#deps;
    const { lockedS } = provisioning;
    if (lockedS === 0 || provisioning.hasKey) return true;
    this.#locked(lockedS);
    return false;
  }

  /** The connection ended. */
  ended(): void {
    this.#over = true;
    this.#seal = undefined;
  }

  /** A WELCOME for this HELLO has come: the set-up session, for as long as the secret opens. */
  async welcomed(hello: Uint8Array, welcome: Uint8Array): Promise<void> {
    const { provisioning } = this.#deps;
    const greeting = join(hello, welcome);
    // Repeated, since its answer was lost: the counters of the session that stands go on.
    if (this.#seal && this.#greeting && same(this.#greeting, greeting)) return;
    this.#seal = undefined;
    if (!provisioning.open) return;
    const seal = await provisioning.secureSetup(hello, welcome);
    if (this.#over) return;
    this.#seal = seal;
    this.#greeting = greeting;
  }

  /** A frame with the seal byte of the set-up key. */
  async received(frame: Uint8Array): Promise<void> {
    const { provisioning, count } = this.#deps;
    if (this.#over || this.#leaving) return;
    if (!provisioning.open) {
      count('refused.setup');
      this.#sayPaired();
      return;
    }
    const { lockedS } = provisioning;
    if (lockedS > 0) {
      count('refused.locked_out');
      this.#locked(lockedS);
      return;
    }
    if (!this.#seal) {
      count('dropped.ungreeted');
      return;
    }
    const seal = this.#seal;
    const opened = await seal.open(frame);
    if (this.#over) return;
    if (opened.ok) await this.#message(seal, opened.body);
    else if (opened.why === 'bad_tag' || opened.why === 'closed') this.#wrong();
    else count(`dropped.${opened.why}`);
  }

  async #message(seal: BoardSeal, body: Uint8Array): Promise<void> {
    const { boardId, maxMessage, provisioning, count } = this.#deps;
    try {
      const message = decodeMessage(body, maxMessage);
      if (message.type !== 'provision') {
        count('refused.setup_message');
        return;
      }
      const about = MESSAGES.provision.id;
      if (!same(message.boardId, boardId)) {
        const id = boardIdText(boardId);
        const said = { code: 'wrong_board', message: `this board is ${id}`, about };
        this.#deps.sayPlain({ type: 'error', ...said });
        return;
      }
      provisioning.provision(message.key);
      const answer = encodeMessage({ type: 'provisioned', boardId });
      const sealed = await seal.seal(answer);
      if (this.#over) return;
      this.#deps.put(sealed);
      this.#deps.regreet();
    } catch (error) {
      this.#deps.refused(error);
    }
  }

  #wrong(): void {
    this.#deps.count('wrong_code');
    const seconds = this.#deps.provisioning.wrong();
    if (seconds > 0) {
      this.#locked(seconds);
      return;
    }
    const message = 'this frame was not sealed with the key of this board’s set-up code';
    const about = MESSAGES.provision.id;
    this.#deps.sayPlain({ type: 'error', code: 'wrong_code', message, about });
  }

  #locked(seconds: number): void {
    const message = `too many wrong codes: wait ${seconds} s, or press the button on the board`;
    const about = MESSAGES.provision.id;
    this.#deps.sayPlain({ type: 'error', code: 'locked_out', message, about, id: seconds });
    this.#leaving = true;
    this.#deps.clock.after(LINGER_MS, () => {
      if (!this.#over) this.#deps.close('locked out after wrong set-up codes');
    });
  }

  #sayPaired(): void {
    if (this.#saidPaired) return;
    this.#saidPaired = true;
    const message = 'this board is paired: its set-up code opens nothing before a factory reset';
    const about = MESSAGES.provision.id;
    this.#deps.sayPlain({ type: 'error', code: 'already_paired', message, about });
  }
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
