/**
 * Blobs in parts, as two machines without I/O or timers (design: BLOB_OPEN to BLOB_DONE,
 * amendment 9). The receiver grants credit as an absolute end offset and always takes bytes in
 * order; what it says in BLOB_ACK is also where a sender goes on after a cut, which needs the
 * same id, size and hash. After silence or a new connection the sender says `open()` again.
 *
 * A gap is answered with the same BLOB_ACK twice; a repeated BLOB_ACK sends the sender back to
 * its `nextOffset`, while a single one only moves the window (bytes may be under way).
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { FrameError } from './frame-error.js';
import { BLOB_STATUS, type Message, type MessageOf } from './messages.js';

export type BlobEnd = keyof typeof BLOB_STATUS;
/** `opening` until the first BLOB_ACK, `sent` when only BLOB_DONE is awaited, then how it ended. */
export type BlobSenderStatus = 'opening' | 'sending' | 'sent' | BlobEnd;

export interface BlobSenderInput {
  /** Unique for this sender and its boot. */
  readonly id: number;
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  readonly purpose: string;
  readonly callId?: number;
  /** Bytes of content in one BLOB_DATA; with 20 more it must fit the peer's `maxMessage`. */
  readonly chunk: number;
}

const ENDS = Object.fromEntries(
  Object.entries(BLOB_STATUS).map(([name, status]) => [status, name as BlobEnd]),
);

export class BlobSender {
  readonly #input: BlobSenderInput;
  readonly #sha256: Uint8Array;
  #status: BlobSenderStatus = 'opening';
  #next = 0;
  #acked = -1;
  #windowEnd = -1;

  constructor(input: BlobSenderInput) {
    if (!Number.isInteger(input.chunk) || input.chunk < 1) {
      throw new FrameError('bad_field', 'a blob is sent in chunks of at least one byte');
    }
    this.#input = input;
    this.#sha256 = sha256(input.bytes);
  }

  get status(): BlobSenderStatus {
    return this.#status;
  }

  /** Bytes that the receiver has said it keeps. */
  get kept(): number {
    return Math.max(0, this.#acked);
  }

  get ended(): boolean {
    return Object.hasOwn(BLOB_STATUS, this.#status);
  }

  /** The first message, and the one to send again after a cut or a silence. */
  open(): Message {
    const { id, bytes, mediaType, purpose, callId } = this.#input;
    if (!this.ended) {
      this.#status = 'opening';
      this.#acked = this.#windowEnd = -1;
    }
    return {
      type: 'blobOpen',
      blobId: id,
      size: bytes.length,
      mediaType,
      purpose,
      ...(callId === undefined ? {} : { callId }),
      sha256: this.#sha256,
    };
  }

  /** Gives up; the message tells the receiver to drop what it has. */
  abort(): Message {
    if (!this.ended) this.#status = 'aborted';
    return { type: 'blobDone', blobId: this.#input.id, status: BLOB_STATUS.aborted };
  }

  /** Takes BLOB_ACK or BLOB_DONE and says what to send; other messages are not for it. */
  take(message: Message): Message[] {
    if (this.ended) return [];
    if (message.type === 'blobDone' && message.blobId === this.#input.id) {
      this.#status = ENDS[message.status] ?? 'aborted';
      return [];
    }
    if (message.type !== 'blobAck' || message.blobId !== this.#input.id) return [];
    const size = this.#input.bytes.length;
    const { nextOffset, windowEnd } = message;
    // A peer that claims bytes that don't exist can't be trusted to keep any.
    if (nextOffset > size || windowEnd < nextOffset) return [this.abort()];
    const repeated = nextOffset === this.#acked && windowEnd === this.#windowEnd;
    if (this.#status === 'opening' || repeated) this.#next = nextOffset;
    // One that was overtaken by a later one.
    else if (nextOffset < this.#acked) return [];
    this.#acked = nextOffset;
    this.#windowEnd = windowEnd;
    if (this.#status === 'sent' && !repeated) return [];
    this.#status = 'sending';
    return this.#data(Math.min(windowEnd, size));
  }

  #data(end: number): Message[] {
    const { id, bytes, chunk } = this.#input;
    const out: Message[] = [];
    while (this.#next < end) {
      const to = Math.min(end, this.#next + chunk);
      const part = bytes.subarray(this.#next, to);
      out.push({ type: 'blobData', blobId: id, offset: this.#next, bytes: part });
      this.#next = to;
    }
    if (this.#next === bytes.length) {
      this.#status = 'sent';
      out.push({ type: 'blobClose', blobId: id, sha256: this.#sha256 });
    }
    return out;
  }
}

/** A running SHA-256, already fed with the bytes before `at`. */
export interface BlobHash {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
}

export interface BlobReceiverOptions {
  /** Bytes of credit beyond what was taken. */
  readonly window: number;
  /** Largest blob that is taken at all. */
  readonly maxSize: number;
  /** Bytes that were kept before (resume). */
  readonly at?: number;
  /** Checks the content at BLOB_CLOSE; without it the caller does, with `closed.sha256`. */
  readonly hash?: BlobHash;
}

export interface BlobStep {
  readonly reply: Message[];
  /** Bytes to keep, at their place. */
  readonly write?: { readonly offset: number; readonly bytes: Uint8Array };
  /** All bytes came; when they are durable and the hash is right, answer BLOB_DONE `stored`. */
  readonly closed?: { readonly sha256: Uint8Array };
}

const NOTHING: BlobStep = { reply: [] };

export class BlobReceiver {
  readonly #open: MessageOf<'blobOpen'>;
  readonly #options: BlobReceiverOptions;
  #next: number;
  #windowEnd = 0;
  #gapTold = false;
  #ended = false;

  constructor(open: MessageOf<'blobOpen'>, options: BlobReceiverOptions) {
    this.#open = open;
    this.#options = options;
    this.#next = Math.min(options.at ?? 0, open.size);
  }

  /** Bytes taken so far: the offset to resume at. */
  get next(): number {
    return this.#next;
  }

  /** No more messages are taken: all bytes came, or it was given up. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Takes the messages of this blob, its BLOB_OPEN (first and repeated) included. */
  take(message: Message): BlobStep {
    if (!('blobId' in message) || message.blobId !== this.#open.blobId || this.#ended) {
      return NOTHING;
    }
    switch (message.type) {
      case 'blobOpen':
        return this.#reopened(message);
      case 'blobData':
        return this.#data(message);
      case 'blobClose':
        return this.#close(message);
      case 'blobDone':
        this.#ended = true;
        return NOTHING;
      default:
        return NOTHING;
    }
  }

  #reopened(open: MessageOf<'blobOpen'>): BlobStep {
    if (open.size > this.#options.maxSize) return this.#end('tooLarge');
    // Another content under the same id would be spliced onto what was kept.
    if (open.size !== this.#open.size || !sameHash(open.sha256, this.#open.sha256)) {
      return this.#end('refused');
    }
    return { reply: [this.#ack()] };
  }

  #data({ offset, bytes }: MessageOf<'blobData'>): BlobStep {
    const end = offset + bytes.length;
    if (bytes.length === 0 || end > this.#windowEnd) return this.#end('aborted');
    if (offset !== this.#next) return offset > this.#next ? this.#gap() : NOTHING;
    this.#next = end;
    this.#gapTold = false;
    this.#options.hash?.update(bytes);
    const { window } = this.#options;
    const renew = this.#windowEnd < this.#open.size && this.#windowEnd - end <= window / 2;
    return { reply: renew ? [this.#ack()] : [], write: { offset, bytes } };
  }

  #close({ sha256: hash }: MessageOf<'blobClose'>): BlobStep {
    if (this.#next < this.#open.size) return this.#gap();
    const own = this.#options.hash?.digest();
    if (!sameHash(hash, this.#open.sha256) || !sameHash(hash, own)) return this.#end('badHash');
    this.#ended = true;
    return { reply: [], closed: { sha256: hash } };
  }

  #gap(): BlobStep {
    if (this.#gapTold) return NOTHING;
    this.#gapTold = true;
    return { reply: [this.#ack(), this.#ack()] };
  }

  #ack(): Message {
    this.#windowEnd = Math.min(this.#open.size, this.#next + this.#options.window);
    return {
      type: 'blobAck',
      blobId: this.#open.blobId,
      nextOffset: this.#next,
      windowEnd: this.#windowEnd,
    };
  }

  #end(status: BlobEnd): BlobStep {
    this.#ended = true;
    const blobId = this.#open.blobId;
    return { reply: [{ type: 'blobDone', blobId, status: BLOB_STATUS[status] }] };
  }
}

/** Equal, or one of them isn't known. */
function sameHash(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (!a || !b) return true;
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
