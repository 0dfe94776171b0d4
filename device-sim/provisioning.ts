/**
 * How a board comes by its key and loses it (frame.md "Pairing", amendment 10): what its flash
 * holds of that, when the set-up secret opens, and the lock-out of those who guess it. No frames
 * here: `setup-desk.ts` speaks them.
 */
import { SecureChannel } from '../protocol/channel.js';
import { SEAL } from '../protocol/frame.js';
import { boardNonce, type CcmMaker, setupKey } from '../protocol/sealing.js';
import { formatSetupCode, SECRET_BYTES } from '../protocol/setup-code.js';
import type { BoardClock, BoardSeal, BoardStore } from './types.js';

/**
 * `unpaired`: no key of its own. `provisioned`: it has one, and nobody has spoken under it yet, so
 * that the set-up secret opens still. `paired`: the secret opens nothing.
 */
export type PairingState = 'unpaired' | 'provisioned' | 'paired';

/** Wrong seals until the next lock-out. */
const TRIES = 3;
const LOCKED_MAX_S = 60;

export interface ProvisioningOptions {
  readonly boardId: string;
  readonly store: BoardStore;
  readonly clock: BoardClock;
  /** From 0 up to, but not including, 1. */
  readonly random: () => number;
  readonly ccm: CcmMaker;
  /** The set-up secret, where the flash holds none yet; random unless given. 16 bytes. */
  readonly secret?: Uint8Array | undefined;
}

export class Provisioning {
  /** Told after each change of `state`, with everything durable. */
  changed: () => void = () => undefined;
  readonly #options: ProvisioningOptions;
  readonly #secret: Uint8Array;
  /** What the flash holds, so that not every frame reads it. */
  #key: Uint8Array | undefined;
  #burnt: boolean;
  #next: Uint8Array | undefined;
  /** The session that was made last is under `next`. */
  #triesNext = false;
  #wrong = 0;
  #lockouts = 0;
  #lockedUntil = Number.NEGATIVE_INFINITY;

  /** Throws what the store throws, and RangeError for a secret that is not 16 bytes. */
  constructor(options: ProvisioningOptions) {
    this.#options = options;
    const { store } = options;
    const flash = store.load();
    this.#secret =
      flash.secret ??
      options.secret ??
      globalThis.crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
    if (this.#secret.length !== SECRET_BYTES) {
      throw new RangeError(`a set-up secret is ${SECRET_BYTES} bytes, not ${this.#secret.length}`);
    }
    if (!flash.secret) store.save({ ...flash, secret: this.#secret });
    this.#key = flash.key;
    this.#burnt = flash.burnt ?? false;
    this.#next = flash.next;
  }

  get state(): PairingState {
    if (!this.#key) return 'unpaired';
    return this.#burnt ? 'paired' : 'provisioned';
  }

  /** The set-up secret opens. */
  get open(): boolean {
    return this.state !== 'paired';
  }

  /** What the board shows while it can be paired. */
  get code(): string | undefined {
    if (!this.open) return undefined;
    return formatSetupCode({ boardId: this.#options.boardId, secret: this.#secret });
  }

  get hasKey(): boolean {
    return this.state !== 'unpaired';
  }

  nonce(bootId: number, connection: number): Uint8Array {
    const { random } = this.#options;
    const eight = Uint8Array.from({ length: 8 }, () => Math.floor(random() * 256));
    return boardNonce(this.#key ?? setupKey(this.#secret), bootId, connection, eight);
  }

  /**
   * The session under the board's own key. Rejects where it has none. Between two gateways nothing
   * says which of them has greeted, so that it is one key and then the other, greeting by greeting.
   */
  async secureOwn(hello: Uint8Array, welcome: Uint8Array): Promise<BoardSeal> {
    this.#triesNext = this.#next !== undefined && !this.#triesNext;
    const key = this.#triesNext ? this.#next : this.#key;
    if (!key) throw new Error('this board has no key of its own yet');
    return this.#secure(SEAL.board, key, hello, welcome);
  }

  secureSetup(hello: Uint8Array, welcome: Uint8Array): Promise<BoardSeal> {
    return this.#secure(SEAL.setup, setupKey(this.#secret), hello, welcome);
  }

  #secure(
    seal: typeof SEAL.board | typeof SEAL.setup,
    key: Uint8Array,
    hello: Uint8Array,
    welcome: Uint8Array,
  ): Promise<BoardSeal> {
    const { ccm } = this.#options;
    return SecureChannel.create({ role: 'board', seal, key, hello, welcome, ccm });
  }

  /** A PROVISION has verified: durable when this returns. */
  provision(key: Uint8Array): void {
    this.#save({ key: key.slice(), burnt: false, next: undefined });
    this.#wrong = this.#lockouts = 0;
    this.changed();
  }

  /**
   * The present gateway gives the board away (PROVISION under the board's own key): the key of the
   * next one, durable when this returns. The present key opens until a frame under it verifies.
   */
  handOver(key: Uint8Array): void {
    this.#save({ key: this.#key, burnt: this.#burnt, next: key.slice() });
    this.#triesNext = false;
  }

  /** A frame of the session made last has verified: no other key opens anything from now on. */
  proven(): void {
    if (this.#triesNext) this.#save({ key: this.#next, burnt: true, next: undefined });
    else if (this.state === 'provisioned') {
      this.#save({ key: this.#key, burnt: true, next: this.#next });
    } else return;
    this.changed();
  }

  /** UNPAIR or a factory reset: the key is gone when this returns, the set-up code opens again. */
  forget(): void {
    this.#save({ key: undefined, burnt: false, next: undefined });
    this.changed();
  }

  #save(held: { key: Uint8Array | undefined; burnt: boolean; next: Uint8Array | undefined }): void {
    const { store } = this.#options;
    const { bootId } = store.load();
    const { key, burnt, next } = held;
    store.save({
      bootId,
      secret: this.#secret,
      ...(key ? { key, burnt } : {}),
      ...(next ? { next } : {}),
    });
    this.#key = key;
    this.#burnt = burnt;
    this.#next = next;
    if (!next) this.#triesNext = false;
  }

  /** Counts a frame of the set-up key that did not verify; seconds of the lock-out it begins, or 0. */
  wrong(): number {
    if (++this.#wrong % TRIES !== 0) return 0;
    const seconds = Math.min(LOCKED_MAX_S, 2 ** this.#lockouts++);
    this.#lockedUntil = this.#options.clock.now() + seconds * 1000;
    return seconds;
  }

  /** Seconds until set-up frames are looked at again; 0 when they are. */
  get lockedS(): number {
    return Math.max(0, Math.ceil((this.#lockedUntil - this.#options.clock.now()) / 1000));
  }

  /** Somebody stands at the board: the lock-out ends and is forgotten. */
  button(): void {
    this.#wrong = this.#lockouts = 0;
    this.#lockedUntil = Number.NEGATIVE_INFINITY;
  }
}
