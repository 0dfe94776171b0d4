/** Where each message of a greeted board goes: to its calls, its readings, the journal, a blob. */
import type { BoardCatalog } from '../../protocol/catalog.js';
import type { Message, MessageOf } from '../../protocol/messages.js';
import { SaidBook, type Say } from './answers.js';
import { BlobInbox } from './blob-inbox.js';
import type { BlobStore } from './blob-store.js';
import type { Guard } from './guard.js';
import { type Journal, JournalUnavailable } from './journal.js';
import type { Lane } from './lane.js';
import type { Limits } from './limits.js';
import { namedReadings } from './readings.js';
import type { Session } from './session.js';
import type { BlobRef, BoardId, BoardView, Clock, UpItem } from './types.js';
import { keepUp, type UpMessage, upItem } from './upward.js';

export interface IntakeDeps {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly blobs: BlobStore;
  readonly limits: Limits;
  kept(): void;
  log(what: string, about: Record<string, unknown>): void;
}

/** What the intake needs of its board. */
export interface IntakeBoard {
  readonly id: BoardId;
  readonly guard: Guard;
  readonly lane: Lane;
  catalog(): BoardCatalog | undefined;
  readings(values: BoardView['readings'], at: number): void;
  battery(percent: number): void;
}

export class Intake {
  readonly #deps: IntakeDeps;
  readonly #board: IntakeBoard;
  readonly #blobs: BlobInbox;
  readonly #said = new SaidBook();

  constructor(deps: IntakeDeps, board: IntakeBoard) {
    this.#deps = deps;
    this.#board = board;
    this.#blobs = new BlobInbox({
      boardId: board.id,
      store: deps.blobs,
      limits: deps.limits,
      stored: (ref, open) => this.#blobStored(ref, open),
      failed: (error) => deps.log('a blob was not kept', { board: board.id, error: String(error) }),
    });
  }

  /** A new connection: blobs begin again from what is kept. */
  reset(): void {
    this.#blobs.reset();
  }

  take(session: Session, message: Message): void {
    const { lane } = this.#board;
    switch (message.type) {
      case 'beat':
        if (message.battery !== undefined) this.#board.battery(message.battery);
        break;
      case 'ack':
        lane.acked(message.callId);
        break;
      case 'progress':
        lane.progressed(message.callId, message);
        break;
      case 'result':
      case 'failure':
        void lane.answered(message);
        break;
      case 'readings':
        this.#live(message);
        break;
      case 'event':
      case 'transcript':
      case 'taskResult':
      case 'storedReadings':
      case 'ask':
      case 'mail':
        void this.#keep(session, message);
        break;
      case 'blobOpen':
      case 'blobData':
      case 'blobClose':
      case 'blobDone':
        this.#blobs.take(message, session.bootId, (answer) => session.send(answer));
        break;
      default:
        this.#board.guard.count(`ignored.${message.type}`);
    }
  }

  /** Blobs that a call has brought so far; known across a restart. */
  callBlobs(callId: number): BlobRef[] {
    const kept = this.#deps.journal.get('blob', `${this.#board.id}/${callId}`);
    return kept ? (JSON.parse(kept) as BlobRef[]) : [];
  }

  #live(message: MessageOf<'readings'>): void {
    const catalog = this.#board.catalog();
    if (!catalog) return;
    const at = Math.max(0, Math.round(this.#deps.clock.wall() - (message.ageMs ?? 0)));
    const values: BoardView['readings'] = {};
    for (const [name, value] of Object.entries(namedReadings(message.values, catalog))) {
      values[name] = { value, at };
    }
    this.#board.readings(values, at);
  }

  async #keep(session: Session, message: UpMessage): Promise<void> {
    const { clock, journal } = this.#deps;
    const { id, guard } = this.#board;
    const board = { id, bootId: session.bootId, catalog: this.#board.catalog() };
    try {
      const item = upItem(message, board, clock);
      const isNew = await keepUp(journal, item, message, (answer) => session.send(answer));
      if (isNew) this.#deps.kept();
      else {
        guard.count('duplicates');
        this.#sayAgain(session, item);
      }
    } catch (error) {
      guard.count(error instanceof JournalUnavailable ? 'journal_unavailable' : 'bad.item');
      this.#deps.log('an item was not kept; the board keeps it', {
        board: id,
        error: String(error),
      });
    }
  }

  /** Tells the boot that asked; `session` is the board's present one, if it has one. */
  answer(
    kind: 'ask' | 'mail',
    id: number,
    bootId: number,
    say: Say,
    session: Session | undefined,
  ): void {
    this.#said.keep(kind, bootId, id, say);
    if (session?.bootId !== bootId) return;
    for (const message of say(session.maxMessage)) session.send(message);
  }

  /** A question that comes twice: its answer was lost on the way, or is still being found. */
  #sayAgain(session: Session, { kind, bootId, seq }: UpItem): void {
    if (kind !== 'ask' && kind !== 'mail') return;
    const say = this.#said.find(kind, bootId, seq);
    for (const message of say?.(session.maxMessage) ?? []) session.send(message);
  }

  async #blobStored(ref: BlobRef, open: MessageOf<'blobOpen'>): Promise<void> {
    if (open.callId === undefined) return;
    const before = this.callBlobs(open.callId).filter((known) => known.key !== ref.key);
    const room = `${this.#board.id}/${open.callId}`;
    await this.#deps.journal.put('blob', room, JSON.stringify([...before, ref]));
  }
}
