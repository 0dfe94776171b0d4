/**
 * Blobs on their way to the gateway: a few at once, taken up again where the gateway left off
 * after a cut, kept until it says that they are stored (amendment 9).
 */
import { BlobSender } from '../protocol/blob.js';
import { BLOB_STATUS, type Message, type MessageOf } from '../protocol/messages.js';
import { type BoardClock, type OutgoingBlob, VerbError } from './types.js';

export interface BlobOutboxDeps {
  readonly clock: BoardClock;
  send(message: Message): void;
  maxOut(): number;
}

const AT_ONCE = 3;
const QUEUE = 16;
/** Bytes of BLOB_DATA around its bytes, sealing included. */
const OVERHEAD = 32;
const MAX_CHUNK = 4_096;
const STALL_MS = 5_000;
const STALL_MAX_MS = 60_000;
/** How often a blob that arrived damaged, or found no room, is sent again. */
const TRIES = 4;

interface Sending {
  readonly id: number;
  readonly blob: OutgoingBlob;
  readonly callId: number | undefined;
  sender: BlobSender | undefined;
  tries: number;
  stalls: number;
  timer: { cancel(): void } | undefined;
  done(error?: VerbError): void;
}

export class BlobOutbox {
  readonly #deps: BlobOutboxDeps;
  readonly #active = new Map<number, Sending>();
  #waiting: Sending[] = [];
  #nextId = 1;
  #live = false;

  constructor(deps: BlobOutboxDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves to the blob's id when the gateway has stored it. Rejects with VerbError `blob_refused`,
   * `blob_too_large`, `blob_failed`, `busy`, or what `signal` was fired with.
   */
  put(blob: OutgoingBlob, callId?: number, signal?: AbortSignal): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#active.size + this.#waiting.length >= QUEUE) {
        reject(new VerbError('busy', `${QUEUE} blobs wait to be sent; this one was not queued`));
        return;
      }
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const sending: Sending = {
        id: this.#nextId++,
        blob,
        callId,
        sender: undefined,
        tries: 0,
        stalls: 0,
        timer: undefined,
        done: (error) => {
          signal?.removeEventListener('abort', stop);
          this.#remove(sending);
          if (error) reject(error);
          else resolve(sending.id);
        },
      };
      const stop = (): void => {
        if (this.#live && sending.sender) {
          const status = BLOB_STATUS.aborted;
          this.#deps.send({ type: 'blobDone', blobId: sending.id, status });
        }
        this.#remove(sending);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', stop, { once: true });
      this.#waiting.push(sending);
      this.#pump();
    });
  }

  get size(): number {
    return this.#active.size + this.#waiting.length;
  }

  opened(): void {
    this.#live = true;
    for (const sending of this.#active.values()) this.#open(sending);
    this.#pump();
  }

  closed(): void {
    this.#live = false;
    for (const sending of this.#active.values()) sending.timer?.cancel();
  }

  stop(): void {
    this.#live = false;
    const gone = new VerbError('rebooted', 'the board went down');
    for (const sending of [...this.#active.values(), ...this.#waiting]) sending.done(gone);
  }

  /** An acknowledgement; false if it is for no blob of this board. */
  take(message: MessageOf<'blobAck'> | MessageOf<'blobDone'>): boolean {
    const sending = this.#active.get(message.blobId);
    if (!sending?.sender) return false;
    if (message.type === 'blobDone') {
      this.#ended(sending, message.status);
      return true;
    }
    sending.stalls = 0;
    this.#watch(sending);
    const { sender } = sending;
    for (const answer of sender.take(message)) this.#deps.send(answer);
    if (sender.ended) this.#ended(sending, BLOB_STATUS.aborted);
    return true;
  }

  #ended(sending: Sending, status: number): void {
    if (status === BLOB_STATUS.stored) {
      sending.done();
      return;
    }
    if (status === BLOB_STATUS.tooLarge) {
      const size = sending.blob.bytes.length;
      sending.done(new VerbError('blob_too_large', `the gateway takes no blob of ${size} bytes`));
      return;
    }
    sending.tries++;
    if (sending.tries >= TRIES) {
      const code = status === BLOB_STATUS.refused ? 'blob_refused' : 'blob_failed';
      const why = `the gateway did not take the blob after ${sending.tries} tries`;
      sending.done(new VerbError(code, why));
      return;
    }
    sending.sender = undefined;
    sending.timer?.cancel();
    // Damaged or forgotten: at once. No room: after a pause.
    const pause = status === BLOB_STATUS.refused ? 500 * 2 ** sending.tries : 0;
    sending.timer = this.#deps.clock.after(pause, () => this.#open(sending));
  }

  #pump(): void {
    while (this.#live && this.#active.size < AT_ONCE) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#active.set(next.id, next);
      this.#open(next);
    }
  }

  #open(sending: Sending): void {
    if (!this.#live) return;
    const { bytes, mediaType, purpose } = sending.blob;
    sending.sender ??= new BlobSender({
      id: sending.id,
      bytes,
      mediaType,
      purpose,
      chunk: Math.max(1, Math.min(MAX_CHUNK, this.#deps.maxOut() - OVERHEAD)),
      ...(sending.callId === undefined ? {} : { callId: sending.callId }),
    });
    this.#deps.send(sending.sender.open());
    this.#watch(sending);
  }

  /** Silence of the gateway: the blob is offered again, and it says where to go on. */
  #watch(sending: Sending): void {
    sending.timer?.cancel();
    const pause = Math.min(STALL_MAX_MS, STALL_MS * 2 ** sending.stalls);
    sending.timer = this.#deps.clock.after(pause, () => {
      sending.stalls = Math.min(sending.stalls + 1, 10);
      this.#open(sending);
    });
  }

  #remove(sending: Sending): void {
    sending.timer?.cancel();
    this.#active.delete(sending.id);
    this.#waiting = this.#waiting.filter((other) => other !== sending);
    this.#pump();
  }
}
