/** Blobs that one board sends: taken with credits, kept in the blob store, resumed after a cut. */
import { BlobReceiver } from '../../protocol/blob.js';
import { BLOB_STATUS, type Message, type MessageOf } from '../../protocol/messages.js';
import type { BlobStore } from './blob-store.js';
import type { Limits } from './limits.js';
import type { BlobRef, BoardId } from './types.js';

interface Open {
  readonly message: MessageOf<'blobOpen'>;
  readonly receiver: BlobReceiver;
  readonly key: string;
}

export interface BlobInboxDeps {
  readonly boardId: BoardId;
  readonly store: BlobStore;
  readonly limits: Limits;
  /** A blob is whole and durable. */
  stored(ref: BlobRef, open: MessageOf<'blobOpen'>): Promise<void>;
  failed(error: unknown): void;
}

type BlobMessage =
  | MessageOf<'blobOpen'>
  | MessageOf<'blobData'>
  | MessageOf<'blobClose'>
  | MessageOf<'blobDone'>;

export class BlobInbox {
  readonly #deps: BlobInboxDeps;
  readonly #open = new Map<number, Open>();
  readonly #done = new Set<string>();
  #turn: Promise<void> = Promise.resolve();

  constructor(deps: BlobInboxDeps) {
    this.#deps = deps;
  }

  /** A new connection: transfers start again from what the store has kept. */
  reset(): void {
    this.#open.clear();
  }

  /** Takes one message after the other; answers go through `send`. */
  take(message: BlobMessage, bootId: number, send: (message: Message) => void): void {
    this.#turn = this.#turn
      .then(() => this.#handle(message, bootId, send))
      .catch((error) => {
        this.#open.delete(message.blobId);
        this.#deps.failed(error);
        send({ type: 'blobDone', blobId: message.blobId, status: BLOB_STATUS.aborted });
      });
  }

  async #handle(
    message: BlobMessage,
    bootId: number,
    send: (message: Message) => void,
  ): Promise<void> {
    if (message.type === 'blobOpen') return this.#begin(message, bootId, send);
    const open = this.#open.get(message.blobId);
    if (!open) {
      if (message.type === 'blobDone') return;
      const key = blobKey(this.#deps.boardId, bootId, message.blobId);
      const status = this.#done.has(key) ? BLOB_STATUS.stored : BLOB_STATUS.aborted;
      send({ type: 'blobDone', blobId: message.blobId, status });
      return;
    }
    const { reply, write, closed } = open.receiver.take(message);
    if (write) await this.#deps.store.write(open.key, write.offset, write.bytes);
    if (message.type === 'blobDone') {
      this.#open.delete(message.blobId);
      await this.#deps.store.remove(open.key);
      return;
    }
    if (closed) return this.#finish(open, closed.sha256, send);
    if (open.receiver.ended) {
      this.#open.delete(message.blobId);
      await this.#deps.store.remove(open.key);
    }
    for (const answer of reply) send(answer);
  }

  async #begin(
    message: MessageOf<'blobOpen'>,
    bootId: number,
    send: (message: Message) => void,
  ): Promise<void> {
    const { limits, store } = this.#deps;
    const { blobId, size } = message;
    if (size > limits.maxBlob) {
      send({ type: 'blobDone', blobId, status: BLOB_STATUS.tooLarge });
      return;
    }
    if (!this.#open.has(blobId) && this.#open.size >= limits.openBlobs) {
      send({ type: 'blobDone', blobId, status: BLOB_STATUS.refused });
      return;
    }
    const key = blobKey(this.#deps.boardId, bootId, blobId);
    if (this.#done.has(key)) {
      send({ type: 'blobDone', blobId, status: BLOB_STATUS.stored });
      return;
    }
    const { offset } = await store.begin(key, size, message.sha256);
    const receiver = new BlobReceiver(message, {
      window: limits.blobWindow,
      maxSize: limits.maxBlob,
      at: offset,
    });
    this.#open.set(blobId, { message, receiver, key });
    for (const answer of receiver.take(message).reply) send(answer);
  }

  async #finish(open: Open, sha256: Uint8Array, send: (message: Message) => void): Promise<void> {
    const { blobId, size, mediaType, purpose } = open.message;
    this.#open.delete(blobId);
    const whole = await this.#deps.store.finish(open.key, sha256);
    if (!whole) {
      await this.#deps.store.remove(open.key);
      send({ type: 'blobDone', blobId, status: BLOB_STATUS.badHash });
      return;
    }
    await this.#deps.stored({ key: open.key, size, mediaType, purpose }, open.message);
    this.#done.add(open.key);
    if (this.#done.size > 64) this.#done.delete([...this.#done][0] ?? '');
    send({ type: 'blobDone', blobId, status: BLOB_STATUS.stored });
  }
}

/** A blob id is unique for its board and boot (amendment 9). */
export function blobKey(boardId: BoardId, bootId: number, blobId: number): string {
  return `${boardId}-${bootId}-${blobId}`;
}
