/** A foreign tiny hub: each board is a device of its own there, by the tiny routes alone. */
import {
  audioUrlOf,
  cutText,
  EVENT_KINDS,
  mediaReply,
  okReply,
  SAID,
  TINY_LIMITS,
  taskResultReply,
  transcriptReply,
  UPLOAD_SAID,
} from '../../../protocol/tiny.js';
import type { CallRecord } from '../../core/journal.js';
import type { BoardId, BoardView, Outcome } from '../../core/types.js';
import { base64Of, plainJson } from '../prompt/plain.js';
import { Asks } from './asks.js';
import { HubRefused } from './client.js';
import { envelopeOf, type Mode, type ModeState, type RelayDeps } from './deps.js';
import { ItemPump } from './item-pump.js';
import { Media } from './media.js';
import { type Pending, putAside } from './pending.js';
import { replyText } from './reply.js';
import { TinyBoard } from './tiny-board.js';
import { textOf } from './up-items.js';

const AT_ONCE = 8;
/** A 424 without a sentence that we know may pass; after so many tries the item is put aside. */
const TRIES = 10;
/** What a tiny hub says with 424 and will say again. */
const FOR_GOOD: readonly string[] = [
  UPLOAD_SAID.unsupportedKind,
  UPLOAD_SAID.taskId,
  UPLOAD_SAID.taskTooBig,
  UPLOAD_SAID.audioUrl,
];

export class TinyMode implements Mode {
  readonly kind = 'tiny';
  readonly #deps: RelayDeps;
  readonly #ownerToken: string | undefined;
  readonly #boards = new Map<BoardId, TinyBoard>();
  readonly #media: Media;
  readonly #asks: Asks;
  readonly #items: ItemPump;
  readonly #tries = new Map<number, number>();
  readonly #unsubscribe: (() => void)[] = [];

  constructor(deps: RelayDeps, options: { ownerToken: string | undefined }) {
    this.#deps = deps;
    this.#ownerToken = options.ownerToken;
    this.#media = new Media(deps, (boardId, bytes, contentType) =>
      this.#board(boardId).request(
        'media',
        { data: base64Of(bytes), contentType },
        mediaReply,
        30_000,
      ),
    );
    this.#asks = new Asks({
      ...deps,
      media: this.#media,
      speakFor: (boardId) => {
        const body = this.#board(boardId).credential;
        return body && { body };
      },
    });
    this.#items = new ItemPump(deps, {
      atOnce: AT_ONCE,
      wanted: ({ kind, boardId }) => {
        if (kind === 'ask' || kind === 'mail') return false;
        const board = this.#board(boardId);
        return board.credential !== undefined && !board.strikes.halted;
      },
      run: (pending) => this.#up(pending),
    });
  }

  start(): void {
    const { switchboard } = this.#deps;
    const seen = (board: BoardView): void => this.#board(board.id).seen(board);
    this.#unsubscribe.push(
      switchboard.on('presence', seen),
      switchboard.on('catalog', seen),
      switchboard.on('kept', () => this.#kick()),
    );
    for (const board of switchboard.boards()) seen(board);
    this.#kick();
  }

  stop(): void {
    for (const off of this.#unsubscribe) off();
    for (const board of this.#boards.values()) board.stop();
    this.#asks.stop();
    this.#items.stop();
  }

  state(): ModeState {
    const boards = [...this.#boards.values()];
    return {
      mode: 'tiny',
      connected: boards.some((board) => board.connected),
      unauthorized: boards.some((board) => board.strikes.halted || board.ownerRefused),
      boards: boards.filter((board) => board.credential !== undefined).length,
      held: boards.reduce((sum, board) => sum + board.stuck, 0),
      running: this.#deps.journal.open().filter(({ call }) => call.key.startsWith('tiny/')).length,
    };
  }

  /** What was polled is ours: there is no claim to ask for again. */
  resume(record: CallRecord): void {
    this.#deps.switchboard.release(record.call.key);
  }

  async report(record: CallRecord): Promise<void> {
    const { boardId } = record.call;
    const outcome = record.outcome ?? { kind: 'outcome_unknown', message: 'No outcome is known.' };
    const pictures = await this.#media.pictures(boardId, outcome);
    const status = await this.#reply(record, replyText(outcome, pictures));
    if (status === SAID.badPayload) {
      const message = 'The outcome is known to the gateway, but the hub refused its text.';
      const short: Outcome = { kind: 'outcome_unknown', message };
      await this.#reply(record, replyText(short));
    }
  }

  /** A tiny hub keeps the first reply and no second one: a late result becomes a note. */
  async late(record: CallRecord): Promise<void> {
    if (!record.late) return;
    const { envelopeId } = envelopeOf(record.call.key);
    const text = `late result of ${record.call.verb} (${envelopeId}): ${replyText(record.late)}`;
    const detail = cutText(text, TINY_LIMITS.eventDetail);
    const board = this.#board(record.call.boardId);
    await board.request('event', { kind: 'device_note', detail }, okReply);
  }

  progress(): void {
    // The tiny routes have no place for it.
  }

  #board(boardId: BoardId): TinyBoard {
    const known = this.#boards.get(boardId);
    if (known) return known;
    const board = new TinyBoard(this.#deps, {
      boardId,
      ownerToken: this.#ownerToken,
      ready: () => this.#kick(),
    });
    this.#boards.set(boardId, board);
    return board;
  }

  #kick(): void {
    this.#items.kick();
    this.#asks.kick();
  }

  /** Resolves to what the hub said where it is final; rejects where it must be told again. */
  async #reply(record: CallRecord, payload: string): Promise<string> {
    const { counters, log } = this.#deps;
    const { envelopeId } = envelopeOf(record.call.key);
    const body = { inReplyTo: envelopeId, payload };
    try {
      await this.#board(record.call.boardId).request('relayReply', body, okReply);
      counters.count('replies.stored');
      return 'stored';
    } catch (error) {
      if (!(error instanceof HubRefused) || error.retryable) throw error;
      const known = [SAID.envelopeNotFound, SAID.badPayload].find((said) => said === error.error);
      // A 424 with another sentence is how such a hub says that its own parts are down.
      if (error.status === 424 && known === undefined) throw error;
      const status = error.status === 409 ? 'answered_before' : (known ?? 'refused');
      counters.count(`replies.${status}`);
      log('the hub did not keep a reply', { envelope: envelopeId, error: error.error });
      return status;
    }
  }

  async #up(pending: Pending): Promise<void> {
    try {
      await this.#send(pending);
      this.#tries.delete(pending.id);
    } catch (error) {
      if (!(error instanceof HubRefused) || error.retryable) throw error;
      const tries = (this.#tries.get(pending.id) ?? 0) + 1;
      const mayPass = error.status === 424 && !FOR_GOOD.includes(error.error);
      if (mayPass && tries < TRIES) {
        this.#tries.set(pending.id, tries);
        throw error;
      }
      this.#tries.delete(pending.id);
      await putAside(this.#deps, pending, error.error);
    }
  }

  async #send({ item }: Pending): Promise<void> {
    const board = this.#board(item.boardId);
    const { body } = item;
    switch (item.kind) {
      case 'transcript': {
        const transcript: Record<string, unknown> = { text: textOf(body.text) };
        if (typeof body.label === 'string') transcript.label = body.label;
        if (typeof body.durationS === 'number') transcript.durationS = body.durationS;
        if (typeof body.blobId === 'number') {
          const url = await this.#media.recording(item.boardId, item.bootId, body.blobId);
          if (audioUrlOf(url) !== undefined) transcript.audioUrl = url;
        }
        await board.request('transcript', transcript, transcriptReply);
        return;
      }
      case 'task_result': {
        const { taskId, summary } = body;
        const result = plainJson(body.result) ?? 'null';
        const task = { taskId: textOf(taskId), summary: textOf(summary), result };
        await board.request('taskResult', task, taskResultReply);
        return;
      }
      default:
        await board.request('event', noteOf(item.kind, item.body), okReply);
    }
  }
}

/** Kinds that the hub lists go as they are, all others as a note that names them. */
function noteOf(kind: string, body: Pending['item']['body']): { kind: string; detail: string } {
  const said = kind === 'readings' ? 'readings' : textOf(body.kind);
  const value = plainJson(kind === 'readings' ? body.values : body.detail);
  const text = typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
  const listed = EVENT_KINDS.find((known) => known === said);
  const detail = listed || said === '' ? text : text === '' ? said : `${said}: ${text}`;
  return { kind: listed ?? 'device_note', detail: cutText(detail, TINY_LIMITS.eventDetail) };
}
