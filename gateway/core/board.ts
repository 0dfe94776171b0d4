/**
 * One board: its greeting, its catalog, its presence, and where each of its messages goes.
 * Everything that comes in is hostile until parsed; a bad frame costs the board that frame.
 */
import { decodeMessage, encodeMessage } from '../../protocol/codec.js';
import { readFrame, SEAL } from '../../protocol/frame.js';
import { boardIdText } from '../../protocol/identity.js';
import { type Message, type MessageOf, PROTOCOL_VERSION } from '../../protocol/messages.js';
import type { Say } from './answers.js';
import type { BlobStore } from './blob-store.js';
import { CapsBook } from './caps.js';
import { welcomeTo } from './greeting.js';
import { Guard } from './guard.js';
import { Intake } from './intake.js';
import type { Journal } from './journal.js';
import { KeyAsks } from './key-asks.js';
import { Lane, type LaneDeps } from './lane.js';
import type { Limits } from './limits.js';
import { PresenceWatch } from './presence.js';
import { type Seal, SealRefused } from './secure.js';
import { openSealed, Session } from './session.js';
import type { BoardId, BoardView, Clock, Path, Timer } from './types.js';

export interface BoardDeps {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly blobs: BlobStore;
  readonly limits: Limits;
  random(length: number): Uint8Array;
  /** The board's own key, where this gateway holds it. */
  keyOf(boardId: BoardId): Promise<Uint8Array | undefined>;
  /** Makes the sealed session of a key and a greeting. */
  secure(key: Uint8Array, hello: Uint8Array, welcome: Uint8Array): Promise<Seal>;
  finished: LaneDeps['finished'];
  late: LaneDeps['late'];
  progress: LaneDeps['progress'];
  presence(board: Board): void;
  catalog(board: Board): void;
  readings(board: Board, values: BoardView['readings'], at: number): void;
  kept(): void;
  /** A sealed session has verified: the board holds the key that `keyOf` gave. */
  verified(boardId: BoardId): void;
  log(what: string, about: Record<string, unknown>): void;
}

export class Board {
  readonly id: BoardId;
  readonly lane: Lane;
  readonly guard: Guard;
  readonly presence: PresenceWatch;
  readonly readings: BoardView['readings'] = {};
  readonly #deps: BoardDeps;
  readonly #caps: CapsBook;
  readonly #intake: Intake;
  readonly #keyAsks: KeyAsks;
  #battery: number | undefined;
  #session: Session | undefined;
  /** Sealed sessions that no sealed frame has verified yet, by path. */
  readonly #unverified = new Map<Path, Session>();
  /** Paths whose end came while a greeting or a frame of theirs was worked on. */
  readonly #ended = new WeakSet<Path>();
  #ready = false;
  #capsTimer: Timer | undefined;
  #capsTries = 0;
  #in: Promise<void> = Promise.resolve();

  constructor(id: BoardId, deps: BoardDeps) {
    this.id = id;
    this.#deps = deps;
    this.guard = new Guard(deps.clock);
    this.#caps = new CapsBook(deps.journal, id);
    this.#keyAsks = new KeyAsks(deps.clock, id);
    this.presence = new PresenceWatch(
      deps.clock,
      deps.limits.beatS,
      () => deps.presence(this),
      () => this.#session?.path.close('no frame within 2.5 beats'),
    );
    this.lane = new Lane({
      boardId: id,
      clock: deps.clock,
      journal: deps.journal,
      limits: deps.limits,
      verb: (name) => this.#caps.catalog?.verbs.find((verb) => verb.name === name),
      blobs: (callId) => this.#intake.callBlobs(callId),
      finished: deps.finished,
      late: deps.late,
      progress: deps.progress,
      journalFailed: (error) =>
        deps.log('the journal took nothing', { board: id, error: String(error) }),
    });
    this.#intake = new Intake(deps, {
      id,
      guard: this.guard,
      lane: this.lane,
      catalog: () => this.#caps.catalog,
      readings: (values, at) => {
        Object.assign(this.readings, values);
        deps.readings(this, values, at);
      },
      battery: (battery) => {
        this.#battery = battery;
      },
    });
  }

  get view(): BoardView {
    const catalog = this.#caps.catalog;
    return {
      id: this.id,
      name: this.name,
      presence: this.presence.state,
      via: this.#session?.path.via ?? 'none',
      catalog,
      readings: this.readings,
      ...(this.#battery === undefined ? {} : { battery: this.#battery }),
    };
  }

  get name(): string {
    const known = this.#deps.journal.get('board', this.id);
    if (known) {
      try {
        const { name } = JSON.parse(known) as { name?: unknown };
        if (typeof name === 'string' && name) return name;
      } catch {
        this.guard.count('bad.book');
      }
    }
    return this.#caps.catalog?.name || this.id;
  }

  /** The greeted boot, while there is one; what a call is admitted for. */
  get session(): Session | undefined {
    return this.#ready ? this.#session : undefined;
  }

  /** Tells the board to forget its key. Rejects with `UnpairError`. */
  unpair(): Promise<void> {
    return this.#keyAsks.unpair(this.session);
  }

  /** Gives the board the key of the gateway it goes to. Rejects with `ProvisionError`. */
  provision(key: Uint8Array, name: string): Promise<void> {
    return this.#keyAsks.provision(this.session, key, name);
  }

  received(path: Path, frame: Uint8Array): void {
    this.guard.count('frames');
    let seal: number;
    let body: Uint8Array;
    try {
      ({ seal, body } = readFrame(frame, this.#deps.limits.maxMessage + 16));
    } catch (error) {
      this.#refused(path, frame, error);
      return;
    }
    if (seal === SEAL.plain) this.#plain(path, body, frame);
    else this.#in = this.#in.then(() => this.#sealed(path, frame));
  }

  closed(path: Path): void {
    this.#ended.add(path);
    this.#unverified.delete(path);
    if (this.#session?.path !== path) return;
    this.#dropSession();
    this.presence.closed();
  }

  stop(): void {
    this.lane.stop();
    this.presence.stop();
    this.#capsTimer?.cancel();
    this.#session?.path.close('the gateway stops');
    this.#session = undefined;
  }

  /** `say` makes the messages for the largest that this boot of the board takes. */
  answer(kind: 'ask' | 'mail', id: number, bootId: number, say: Say): void {
    this.#intake.answer(kind, id, bootId, say, this.session);
  }

  #plain(path: Path, body: Uint8Array, frame: Uint8Array): void {
    let message: Message;
    try {
      message = decodeMessage(body, this.#deps.limits.maxMessage);
    } catch (error) {
      this.#refused(path, frame, error);
      return;
    }
    if (message.type === 'hello') {
      void this.#greet(path, message, body).catch((error) => {
        this.#deps.log('a greeting failed', { board: this.id, error: String(error) });
      });
      return;
    }
    if (message.type === 'error') this.#boardError(message);
    else if (this.#session?.path !== path) {
      this.guard.count('ignored.ungreeted');
      if (this.guard.within('hello_first', 1)) {
        this.#answerPlain(path, { type: 'error', code: 'hello_first', message: 'say HELLO first' });
      }
    } else if (this.#session.seal) this.guard.count('ignored.plain');
    else this.#dispatch(this.#session, message, body);
  }

  async #sealed(path: Path, frame: Uint8Array): Promise<void> {
    // The session that stands comes first: a recorded HELLO opens another and must not end it.
    const standing = this.#session?.path === path ? this.#session : undefined;
    const sessions = [standing, this.#unverified.get(path)].filter((each) => each?.seal);
    if (sessions.length === 0) {
      this.guard.count('ignored.sealed');
      return;
    }
    try {
      const { session, body } = await openSealed(sessions as Session[], frame);
      if (this.#ended.has(path)) return;
      if (!session.verified) {
        session.prove();
        this.#unverified.delete(path);
        this.#adopt(session);
        this.#deps.verified(this.id);
      }
      this.#dispatch(session, decodeMessage(body, this.#deps.limits.maxMessage), body);
    } catch (error) {
      if (error instanceof SealRefused) this.#badSeal(path, error);
      this.#refused(path, frame, error);
    }
  }

  #badSeal(path: Path, error: SealRefused): void {
    if (error.why === 'bad_tag' && this.guard.within('logged.bad_seal', 1)) {
      const about = { board: this.id, via: path.via, why: error.message };
      this.#deps.log('a board’s seal does not verify', about);
    }
    if (error.final) path.close(error.message);
  }

  async #greet(path: Path, hello: MessageOf<'hello'>, body: Uint8Array): Promise<void> {
    if (!this.guard.within('hello', this.#deps.limits.hellos)) {
      this.guard.count('shed.hello');
      return;
    }
    const refuse = (code: string, message: string): void => {
      this.guard.count(`refused.${code}`);
      this.#answerPlain(path, { type: 'error', code, message });
    };
    if (boardIdText(hello.boardId) !== this.id) {
      return refuse('wrong_board', 'this HELLO names another board than its link does');
    }
    if (hello.version !== PROTOCOL_VERSION) {
      return refuse('version', `this gateway speaks version ${PROTOCOL_VERSION}`);
    }
    const key = path.mustSeal || hello.nonce ? await this.#deps.keyOf(this.id) : undefined;
    const seals = key !== undefined && hello.nonce !== null;
    if (path.mustSeal && !seals) {
      return refuse('sealing_required', 'this link is open to others: sealed frames only');
    }
    if (!seals && this.#session?.path === path && this.#session.seal) {
      return refuse('sealing_required', 'this connection is sealed and stays so');
    }
    const wantCaps = !hello.capsHash || boardIdText(hello.capsHash) !== this.#caps.catalog?.hash;
    const welcome = encodeMessage(welcomeTo(this.#deps, this.id, wantCaps, seals, path.rxWindow));
    const seal = seals ? await this.#deps.secure(key, body, welcome) : undefined;
    if (this.#ended.has(path)) return;
    const session = new Session(path, hello, welcome, seal, this.#deps.limits);
    this.#put(path, welcome);
    if (seal) this.#unverified.set(path, session);
    else this.#adopt(session);
  }

  /** From here on this session is the board; an older path of it ends. */
  #adopt(session: Session): void {
    const before = this.#session;
    this.#dropSession();
    if (before && before.path !== session.path)
      before.path.close('the board has greeted elsewhere');
    this.#session = session;
    this.#battery = session.hello.battery ?? this.#battery;
    this.#intake.reset();
    this.#caps.restart();
    this.#capsTries = 0;
    const { capsHash } = session.hello;
    const catalog = this.#caps.catalog;
    if (catalog && capsHash && boardIdText(capsHash) === catalog.hash) this.#becomeReady(session);
    else this.#awaitCaps(session);
  }

  #becomeReady(session: Session): void {
    this.#capsTimer?.cancel();
    this.#ready = true;
    this.presence.up();
    const unsettled = (session.hello.unsettled ?? []).map(([id, state]) => [id, state] as const);
    this.lane.opened(session, unsettled);
  }

  /** CAPS can be lost on a link: the same WELCOME asks again, ever less often. */
  #awaitCaps(session: Session): void {
    this.#capsTimer?.cancel();
    this.#capsTimer = this.#deps.clock.after(
      this.#deps.limits.capsMs * 2 ** this.#capsTries,
      () => {
        if (this.#session !== session || this.#ready) return;
        this.#capsTries += 1;
        if (this.#capsTries > 5) {
          session.path.close('the capabilities did not come');
          return;
        }
        this.#put(session.path, session.welcome);
        this.#awaitCaps(session);
      },
    );
  }

  #dropSession(): void {
    this.#session = undefined;
    this.#ready = false;
    this.#capsTimer?.cancel();
    this.#keyAsks.closed();
    this.lane.closed();
  }

  #dispatch(session: Session, message: Message, bytes: Uint8Array): void {
    if (this.#session !== session) return;
    this.presence.heard();
    if (this.#keyAsks.take(session, message)) return;
    if (message.type === 'caps') this.#takeCaps(session, message, bytes);
    else if (message.type === 'error') this.#boardError(message);
    else if (message.type === 'sleep') {
      this.presence.asleep(message.seconds);
      this.#dropSession();
    } else this.#intake.take(session, message);
  }

  #takeCaps(session: Session, message: MessageOf<'caps'>, bytes: Uint8Array): void {
    const before = this.#caps.catalog?.hash;
    try {
      const catalog = this.#caps.take(message, bytes);
      if (!catalog) return;
      if (catalog.hash !== before) this.#deps.catalog(this);
      if (!this.#ready) this.#becomeReady(session);
    } catch (error) {
      this.guard.count('bad.catalog');
      const why = error instanceof Error ? error.message : String(error);
      session.send({ type: 'error', code: 'bad_catalog', message: why.slice(0, 200) });
      this.#deps.log('a catalog was refused', { board: this.id, why });
    }
  }

  #boardError(message: MessageOf<'error'>): void {
    this.guard.count(`board_error.${message.code.replace(/[^a-z0-9_]/gi, '').slice(0, 32)}`);
  }

  #refused(path: Path, frame: Uint8Array, error: unknown): void {
    const code = this.guard.refuse(frame, error);
    if (!this.guard.within('bad', this.#deps.limits.badFrames)) {
      path.close('too many bad frames');
      return;
    }
    if (!this.guard.within(`answered.${code}`, 1)) return;
    const why = error instanceof Error ? error.message : String(error);
    this.#answerPlain(path, { type: 'error', code: code.slice(0, 64), message: why.slice(0, 200) });
  }

  #answerPlain(path: Path, message: Message): void {
    this.#put(path, encodeMessage(message));
  }

  #put(path: Path, bytes: Uint8Array): void {
    const frame = new Uint8Array(bytes.length + 1);
    frame[0] = SEAL.plain;
    frame.set(bytes, 1);
    try {
      path.send(frame);
    } catch {
      path.close('sending failed');
    }
  }
}
