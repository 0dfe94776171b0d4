/**
 * The gateway's side of pairing on one connection (frame.md "Pairing", amendment 10). It stands
 * where the gateway stands otherwise, and hands the connection on once the board has its key:
 * HELLO, WELCOME, PROVISION under the set-up key, PROVISIONED under it. Whoever lacks the code can
 * make none of these pass; a board's plain ERROR is believed only so far as to give up.
 */
import { SecureChannel } from '../../protocol/channel.js';
import { decodeMessage, encodeMessage } from '../../protocol/codec.js';
import { readFrame, SEAL } from '../../protocol/frame.js';
import { boardIdBytes, boardIdText } from '../../protocol/identity.js';
import { type Message, type MessageOf, PROTOCOL_VERSION } from '../../protocol/messages.js';
import { type CcmMaker, setupKey } from '../../protocol/sealing.js';
import type { SetupCode } from '../../protocol/setup-code.js';
import { cutUtf8 } from '../../protocol/text.js';
import { type GreetingDeps, welcomeTo } from './greeting.js';
import { NAME_BYTES } from './key-asks.js';
import { type FaultAbout, PairingError, type PairingFault } from './pairing-error.js';
import type { Path, PathListener, Timer } from './types.js';

/** From the connection to HELLO, and from PROVISION to PROVISIONED. */
const GREETING_MS = 10_000;
const PROVISION_MS = 15_000;
/** A PROVISION or its answer can be lost; the board answers each. */
const RESEND_MS = 3_000;
/** More HELLOs than an honest board says, and more frames than it sends ahead. */
const MAX_HELLOS = 8;
const MAX_WAITING = 64;
const MAX_BAD = 20;

export type PairingStep = 'greeting' | 'provisioning' | 'storing' | 'handed_over';

export interface PairingDeps extends GreetingDeps {
  readonly ccm: CcmMaker;
  /** Makes the board's own key durable here; PROVISION leaves when it has resolved. */
  keep(): Promise<{ readonly key: Uint8Array; readonly name: string }>;
  /** The board has said, under the set-up key, that it holds the key: durable when it resolves. */
  confirm(path: Path): Promise<void>;
  /** Takes the connection over. */
  readonly next: PathListener;
  step?(step: PairingStep): void;
}

/** What a board's ERROR means here; any other code is `refused`. */
const SAID: Readonly<Record<string, PairingFault>> = {
  wrong_code: 'wrong_code',
  locked_out: 'locked_out',
  already_paired: 'already_paired',
  wrong_board: 'wrong_board',
  version: 'cannot_pair',
};

export class Pairing implements PathListener {
  /** Resolves when the connection is the gateway's; rejects with `PairingError`. */
  readonly done: Promise<void>;
  readonly #deps: PairingDeps;
  readonly #code: SetupCode;
  #resolve: () => void = () => undefined;
  #reject: (error: PairingError) => void = () => undefined;
  #state: 'waiting' | 'open' | 'storing' | 'handed' | 'over' = 'waiting';
  #path: Path | undefined;
  #hello: Uint8Array | undefined;
  #welcome: Uint8Array = new Uint8Array();
  #channel: SecureChannel | undefined;
  #provision: Uint8Array | undefined;
  #sent = false;
  #hellos = 0;
  #bad = 0;
  #deadline: Timer | undefined;
  #resend: Timer | undefined;
  #in: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(deps: PairingDeps, code: SetupCode) {
    this.#deps = deps;
    this.#code = code;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever waits for it is told; nobody has to.
    this.done.catch(() => undefined);
  }

  /** The board may hold the key: PROVISION has left. */
  get sent(): boolean {
    return this.#sent;
  }

  opened(path: Path): void {
    if (this.#state !== 'waiting') {
      path.close('this pairing has its connection, or is over');
      return;
    }
    this.#state = 'open';
    this.#path = path;
    if (path.boardId !== this.#code.boardId) {
      this.#fail('wrong_board');
      return;
    }
    this.#deps.step?.('greeting');
    this.#await(GREETING_MS);
  }

  received(path: Path, frame: Uint8Array): void {
    if (path !== this.#path || this.#state === 'over') return;
    if (this.#state === 'handed' && this.#waiting === 0) {
      this.#deps.next.received(path, frame);
      return;
    }
    // It asks for patience, not for memory.
    if (this.#waiting >= MAX_WAITING) return;
    const kept = frame.slice();
    this.#later(() => this.#take(path, kept));
  }

  closed(path: Path, reason: string): void {
    if (path !== this.#path) return;
    this.#later(async () => {
      if (this.#state === 'handed') this.#deps.next.closed(path, reason);
      else this.#fail('lost');
    });
  }

  /** Gives up, unless it is done. */
  cancel(code: PairingFault = 'cancelled', about: FaultAbout = {}): void {
    if (this.#state !== 'storing') this.#fail(code, about);
  }

  /** In the order of coming: the next waits until this one's work is done. */
  #later(run: () => Promise<void>): void {
    this.#waiting += 1;
    this.#in = this.#in.then(run).then(
      () => {
        this.#waiting -= 1;
      },
      (cause: unknown) => {
        this.#waiting -= 1;
        this.#fail('refused', { cause });
      },
    );
  }

  async #take(path: Path, frame: Uint8Array): Promise<void> {
    if (this.#state === 'handed') this.#deps.next.received(path, frame);
    if (this.#state !== 'open') return;
    try {
      const { seal, body } = readFrame(frame, this.#deps.limits.maxMessage + 16);
      if (seal === SEAL.plain) await this.#plain(path, body);
      else if (seal === SEAL.setup) await this.#sealed(path, frame);
      // A board that was given its key before speaks under it already: not here.
    } catch (error) {
      if (++this.#bad > MAX_BAD) this.#fail('refused', { cause: error });
    }
  }

  async #plain(path: Path, body: Uint8Array): Promise<void> {
    const message = decodeMessage(body, this.#deps.limits.maxMessage);
    if (message.type === 'hello') await this.#greet(path, message, body);
    else if (message.type === 'error') {
      const code = SAID[message.code] ?? 'refused';
      this.#fail(code, code === 'locked_out' ? { seconds: message.id } : {});
    }
  }

  async #greet(path: Path, hello: MessageOf<'hello'>, body: Uint8Array): Promise<void> {
    if (boardIdText(hello.boardId) !== this.#code.boardId) return this.#fail('wrong_board');
    if (hello.version !== PROTOCOL_VERSION || !hello.nonce) return this.#fail('cannot_pair');
    if (++this.#hellos > MAX_HELLOS) return this.#fail('refused');
    if (this.#hello && this.#channel && same(this.#hello, body)) {
      // The WELCOME was lost.
      this.#put(path, plainBytes(this.#welcome));
    } else {
      const { rxWindow } = path;
      const welcome = encodeMessage(welcomeTo(this.#deps, path.boardId, false, true, rxWindow));
      const key = setupKey(this.#code.secret);
      const { ccm } = this.#deps;
      const greeting = { hello: body, welcome, seal: SEAL.setup, role: 'gateway' } as const;
      const channel = await SecureChannel.create({ ...greeting, key, ccm });
      if (this.#state !== 'open') return;
      this.#hello = body;
      this.#welcome = welcome;
      this.#channel = channel;
      this.#put(path, plainBytes(welcome));
    }
    await this.#sayProvision(path);
  }

  async #sayProvision(path: Path): Promise<void> {
    if (!this.#provision) {
      const kept = await this.#deps.keep().catch((cause: unknown) => {
        this.#fail('not_kept', { cause });
      });
      if (!kept || this.#state !== 'open') return;
      const { key } = kept;
      const name = cutUtf8(kept.name, NAME_BYTES);
      const boardId = boardIdBytes(this.#code.boardId);
      this.#provision = encodeMessage({ type: 'provision', boardId, key, name });
      this.#deps.step?.('provisioning');
      this.#await(PROVISION_MS);
    }
    const frame = await this.#channel?.seal(this.#provision);
    if (!frame || this.#state !== 'open') return;
    this.#sent = true;
    this.#put(path, frame);
    this.#resend?.cancel();
    this.#resend = this.#deps.clock.after(RESEND_MS, () =>
      this.#later(async () => {
        if (this.#state === 'open') await this.#sayProvision(path);
      }),
    );
  }

  async #sealed(path: Path, frame: Uint8Array): Promise<void> {
    const opened = await this.#channel?.open(frame);
    if (!opened?.ok) {
      if (opened?.why === 'closed') this.#fail('refused');
      return;
    }
    const message: Message = decodeMessage(opened.body, this.#deps.limits.maxMessage);
    if (message.type !== 'provisioned' || this.#state !== 'open') return;
    if (boardIdText(message.boardId) !== this.#code.boardId) return this.#fail('wrong_board');
    this.#state = 'storing';
    this.#rest();
    this.#deps.step?.('storing');
    try {
      await this.#deps.confirm(path);
    } catch (cause) {
      return this.#fail('not_kept', { cause });
    }
    this.#state = 'handed';
    this.#deps.next.opened(path);
    this.#deps.step?.('handed_over');
    this.#resolve();
  }

  #await(ms: number): void {
    this.#deadline?.cancel();
    this.#deadline = this.#deps.clock.after(ms, () => this.#fail('silent'));
  }

  #rest(): void {
    this.#deadline?.cancel();
    this.#resend?.cancel();
  }

  #fail(code: PairingFault, about: FaultAbout = {}): void {
    if (this.#state === 'handed' || this.#state === 'over') return;
    this.#state = 'over';
    this.#rest();
    this.#path?.close(`pairing: ${code}`);
    this.#reject(new PairingError(code, about));
  }

  #put(path: Path, frame: Uint8Array): void {
    try {
      path.send(frame);
    } catch {
      // Its end is told by `closed`.
    }
  }
}

function plainBytes(body: Uint8Array): Uint8Array {
  const frame = new Uint8Array(body.length + 1);
  frame.set(body, 1);
  return frame;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
