/**
 * The live connections and what becomes of each: it opens through its profile, must prove itself,
 * may be let go so that another board gets its slot, and ends.
 */
import type { BoardId, Clock, PathListener, Timer } from '../../core/types.js';
import type { LinkLog } from '../link.js';
import type { Connection } from './connection.js';
import { DEADLINES, within } from './deadline.js';
import type { Keeper } from './keeper.js';
import { BleError, type BleErrorCode } from './port.js';
import type { BleProfile, KnownBoard, ProfileContext } from './profile.js';
import { Session } from './session.js';

export interface SessionsOptions {
  readonly clock: Clock;
  readonly keeper: Keeper;
  count(name: string): void;
  readonly log: LinkLog;
  context(listener: PathListener): ProfileContext;
  /** False: what ends now is no board's fault. */
  adapterOn(): boolean;
  mayRest(boardId: BoardId): boolean;
  proven?: ((boardId: BoardId) => boolean) | undefined;
  /** A slot is free, or a board may be tried again. */
  changed(): void;
}

/** A board that is to make room was silent for so long. */
const QUIET_MS = 3_000;
const PROVE_MS = 45_000;

/** What only a device that is no board of ours, or not the one it seems, makes an opening fail with. */
const STRANGE: ReadonlySet<BleErrorCode> = new Set([
  'not_a_board',
  'no_service',
  'no_characteristic',
]);

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #all = new Set<Session>();
  /** Boards whose opening has not settled, even if its link is gone already. */
  readonly #opening = new Set<BoardId>();
  readonly #proofs = new Map<Session, Timer>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): IterableIterator<Session> {
    return [...this.#all].values();
  }

  of(boardId: BoardId): Session | undefined {
    for (const session of this.#all) if (session.board.boardId === boardId) return session;
    return undefined;
  }

  /** Connected, or about to be. */
  has(boardId: BoardId): boolean {
    return this.#opening.has(boardId) || this.of(boardId) !== undefined;
  }

  /** One is on its way out, so a slot comes free by itself. */
  get ending(): boolean {
    return [...this.#all].some(({ connection }) => connection.cause !== 'lost');
  }

  /** The board held longest of those that may be let go for a while. */
  restful(leastHoldMs: number): Session | undefined {
    const { clock, mayRest } = this.#options;
    const now = clock.now();
    return [...this.#all]
      .filter(
        ({ adopted, openedAt, connection, board }) =>
          adopted &&
          openedAt !== undefined &&
          now - openedAt >= leastHoldMs &&
          now - connection.usedAt >= QUIET_MS &&
          mayRest(board.boardId),
      )
      .sort((a, b) => (a.openedAt ?? 0) - (b.openedAt ?? 0))[0];
  }

  /** Rejects with `BleError`; the connection is closed then. */
  async open(
    profile: BleProfile,
    board: KnownBoard,
    connection: Connection,
    listener: PathListener,
    adopted: boolean,
  ): Promise<Session> {
    const { clock, context, keeper } = this.#options;
    const session = new Session({ connection, board, clock, listener, adopted });
    this.#all.add(session);
    this.#opening.add(board.boardId);
    connection.onClosed((reason) => this.#over(session, reason));
    try {
      session.spoken = await within(
        clock,
        DEADLINES.open,
        'opening the board',
        async () => {
          if (profile.open) return profile.open(connection, board, context(session.listener));
          throw new BleError('failed', `${profile.name} boards are only listened to`);
        },
        (late) => late.closed('it opened too late'),
      );
      if (connection.ended) {
        session.spoken.closed('the link was lost while it opened');
        throw new BleError('disconnected', 'the link was lost while the board opened');
      }
      session.openedAt = clock.now();
      keeper.opened(board.boardId);
      this.proveSoon(session);
      return session;
    } catch (error) {
      this.#notOpened(session, error);
      throw error;
    } finally {
      this.#opening.delete(board.boardId);
      this.#options.changed();
    }
  }

  /** Whoever holds a connection must show soon that it is the board it seems. */
  proveSoon(session: Session): void {
    const { clock, proven, log } = this.#options;
    const { boardId } = session.board;
    if (!proven || !session.adopted) return;
    const timer = clock.after(PROVE_MS, () => {
      this.#proofs.delete(session);
      if (!this.#all.has(session) || proven(boardId)) return;
      log('a device that seemed to be a board did not prove it', { board: boardId });
      void session.connection.drop('unproven', 'it did not prove to be the board it seemed');
    });
    this.#proofs.set(session, timer);
  }

  /** Ends all, for a reset or for good. */
  async dropAll(why: string): Promise<void> {
    await Promise.all([...this.#all].map(({ connection }) => connection.drop('adapter', why)));
  }

  #notOpened({ board, connection, adopted }: Session, error: unknown): void {
    const { keeper, count } = this.#options;
    const code = error instanceof BleError ? error.code : 'failed';
    const why = error instanceof Error ? error.message : String(error);
    count(`open_failed.${code}`);
    if (adopted && STRANGE.has(code)) keeper.stranger(board.boardId, connection.address, why);
    else if (adopted && this.#atFault(connection)) keeper.failed(board.boardId, code, why, 0);
    void connection.drop('let_go', why);
  }

  /** The connection is gone, whatever ended it; its slot is free. */
  #over(session: Session, reason: string): void {
    const { keeper, count, clock, changed } = this.#options;
    const { board, connection, openedAt } = session;
    this.#all.delete(session);
    this.#proofs.get(session)?.cancel();
    this.#proofs.delete(session);
    session.spoken?.closed(reason);
    const { cause } = connection;
    if (openedAt !== undefined && this.#atFault(connection)) {
      count(`ended.${cause}`);
      const held = clock.now() - openedAt;
      if (cause === 'unproven') keeper.stranger(board.boardId, connection.address, reason);
      else if (session.adopted && cause !== 'adapter' && cause !== 'forgotten') {
        keeper.failed(board.boardId, cause, reason, held);
      }
    }
    changed();
  }

  #atFault({ cause }: Connection): boolean {
    return cause !== 'adapter' && cause !== 'forgotten' && this.#options.adapterOn();
  }
}
