/**
 * The board's side of the frame protocol as a state machine (frame.md; amendments 1, 2, 4 to 6, 9
 * and 13). It is handed frames and a way to send them; it owns no socket, and nothing that comes
 * makes it throw. One session is one boot: what it remembers outlives connections, not reboots.
 */
import { boardIdText } from '../protocol/identity.js';
import type { Value } from '../protocol/kinds.js';
import {
  BLOB_STATUS,
  MESSAGES,
  type Message,
  type MessageOf,
  PROTOCOL_VERSION,
} from '../protocol/messages.js';
import { AnswerParts } from './answer-parts.js';
import { BlobOutbox } from './blob-outbox.js';
import { CallMemory, type CallMemoryDeps } from './call-memory.js';
import { Complaints } from './complaints.js';
import { Greeting, type Secure, type Wire } from './greeting.js';
import { Inquiries } from './inquiries.js';
import { Outbox, type OutboxItem } from './outbox.js';
import type { Provisioning } from './provisioning.js';
import { LINGER_MS } from './setup-desk.js';
import type { AgentAnswer, BoardClock, GatewayTime, OutgoingBlob } from './types.js';

export type { Secure, Wire } from './greeting.js';

export interface SessionOptions {
  readonly boardId: Uint8Array;
  readonly bootId: number;
  readonly clock: BoardClock;
  /** From 0 up to, but not including, 1: jitter only. */
  readonly random: () => number;
  /** Largest message that the board takes, in bytes. */
  readonly maxMessage: number;
  readonly maxCalls: number;
  /** Stored messages that wait at most; default 64. */
  readonly outbox?: number;
  readonly capsHash: Uint8Array;
  /** CAPS messages in page order, as bytes are hashed and sent. */
  caps(): readonly MessageOf<'caps'>[];
  /** Percent; undefined without a battery. */
  battery(): number | undefined;
  readonly prepare: CallMemoryDeps['prepare'];
  /** All readings in catalog order, scaled. */
  readings(): Value[];
  /** Eight bytes for HELLO where the board seals; undefined where it does not. */
  nonce?(connection: number): Uint8Array;
  readonly secure?: Secure;
  /** Of a board that is paired by its set-up code. */
  readonly provisioning?: Provisioning | undefined;
  /** The gateway has let the board go, and its key is forgotten: the connection must end. */
  unpaired?(): void;
}

const BEAT_S = 30;
/** What a gateway takes that doesn't say (frame.md, "Encoding"). */
const GATEWAY_MAX = 1_024;
/** A gateway that has lost our session says so; it must not make us greet without end. */
const REGREET_MS = 1_000;

export class BoardSession {
  readonly calls: CallMemory;
  readonly outbox: Outbox;
  readonly blobs: BlobOutbox;
  readonly asks: Inquiries<AgentAnswer>;
  readonly mails: Inquiries<Value>;
  /** What was ignored, refused or lost, by cause. */
  readonly counters: Record<string, number> = {};
  readonly #options: SessionOptions;
  readonly #greeting: Greeting;
  readonly #startedAt: number;
  #connection = 0;
  #wire: Wire | undefined;
  #live = false;
  #time: { unixMs: number; utcOffsetMin: number; at: number } | undefined;
  #beat: { cancel(): void } | undefined;
  #greetedAt = Number.NEGATIVE_INFINITY;
  readonly #complaints: Complaints;
  readonly #answer = new AnswerParts();
  #leaving = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { boardId, clock, random, bootId, maxMessage, maxCalls, prepare, secure } = options;
    this.#startedAt = clock.now();
    this.#complaints = new Complaints({
      clock,
      say: (error) => {
        if (this.#live) this.#greeting.send(error);
        else this.#greeting.sendPlain(error);
      },
      count: (what) => this.#count(what),
    });
    this.#greeting = new Greeting({
      boardId,
      clock,
      random,
      maxMessage,
      secure,
      provisioning: options.provisioning,
      hello: () => this.#hello(),
      welcomed: (welcome, counts) => this.#welcomed(welcome, counts),
      repeated: (welcome) => {
        if (welcome.wantCaps) this.#sendCaps();
      },
      void: () => this.#quiet(),
      message: (message) => this.#dispatch(message),
      error: (message) => this.#error(message),
      refused: (error) => this.#complaints.refused(error),
      count: (what) => this.#count(what),
    });
    const send = (message: Message): void => this.#greeting.send(message);
    const maxOut = (): number => this.#greeting.welcome?.maxMessage ?? GATEWAY_MAX;
    this.calls = new CallMemory({ bootId, clock, maxCalls, send, maxOut, prepare });
    this.outbox = new Outbox({ clock, bootId, capacity: options.outbox ?? 64, send, maxOut });
    this.blobs = new BlobOutbox({ clock, send, maxOut });
    this.asks = new Inquiries({ clock, send, maxOut });
    this.mails = new Inquiries({ clock, send, maxOut });
  }

  /** True from a WELCOME until the connection ends. */
  get online(): boolean {
    return this.#live;
  }

  get connection(): number {
    return this.#connection;
  }

  /** The gateway's time, carried on by the board's clock; kept when the gateway is gone. */
  gatewayTime(): GatewayTime | undefined {
    if (!this.#time) return undefined;
    const passed = Math.round(this.#options.clock.now() - this.#time.at);
    return { unixMs: this.#time.unixMs + passed, utcOffsetMin: this.#time.utcOffsetMin };
  }

  /** A connection stands: the board greets. An earlier connection is over by that. */
  connected(wire: Wire, connection = this.#connection + 1): void {
    this.disconnected();
    this.#connection = connection;
    this.#wire = wire;
    this.#greetedAt = this.#options.clock.now();
    this.#greeting.connected(wire);
  }

  disconnected(): void {
    this.#wire = undefined;
    this.#greeting.disconnected();
    this.#quiet();
  }

  /** The boot is over: running verbs are told, and everything is forgotten. */
  stop(): void {
    this.disconnected();
    this.calls.stop();
    this.blobs.stop();
    this.asks.stop();
    this.mails.stop();
  }

  /** One frame from the gateway. Never throws. */
  received(frame: Uint8Array): void {
    this.#greeting.received(frame);
  }

  /** Keeps a message until it is stored. False if an older one had to go for it. */
  keep(item: OutboxItem): boolean {
    return this.outbox.add(item);
  }

  /** All readings now; shed and counted while there is no gateway. */
  sendReadings(): boolean {
    if (!this.#live) {
      this.#count('shed.readings');
      return false;
    }
    this.#greeting.send({ type: 'readings', values: this.#options.readings() });
    return true;
  }

  /** Keeps all readings as they are now until the gateway has stored them. */
  storeReadings(): boolean {
    return this.keep({ type: 'storedReadings', values: this.#options.readings() });
  }

  putBlob(blob: OutgoingBlob, callId?: number, signal?: AbortSignal): Promise<number> {
    return this.blobs.put(blob, callId, signal);
  }

  progress(callId: number, progress: { percent?: number; note?: string }): void {
    if (!this.#live) return;
    const { percent, note } = progress;
    const message: MessageOf<'progress'> = { type: 'progress', callId };
    if (percent !== undefined) message.percent = Math.max(0, Math.min(100, Math.round(percent)));
    if (note !== undefined) message.note = note.slice(0, 256).toWellFormed();
    this.#greeting.send(message);
  }

  /** Says that the board leaves; the connection is the caller's to close. */
  saySleep(seconds: number): void {
    this.#greeting.send({ type: 'sleep', seconds });
  }

  #hello(): MessageOf<'hello'> {
    const { boardId, bootId, capsHash, maxMessage, maxCalls } = this.#options;
    const battery = this.#options.battery();
    const unsettled = this.calls.unsettled();
    return {
      type: 'hello',
      version: PROTOCOL_VERSION,
      boardId,
      bootId,
      nonce: this.#options.nonce?.(this.#connection) ?? null,
      capsHash,
      maxMessage,
      maxCalls,
      ...this.#wire?.packets,
      ...(unsettled.length > 0 ? { unsettled } : {}),
      ...(battery === undefined ? {} : { battery }),
    };
  }

  #welcomed(welcome: MessageOf<'welcome'>, counts: boolean): void {
    const { journalId, nextCallId } = welcome;
    if (counts) {
      if (welcome.rxWindow !== undefined) this.#wire?.peerWindow?.(welcome.rxWindow);
      const at = this.#options.clock.now();
      this.#time = { unixMs: welcome.unixMs, utcOffsetMin: welcome.utcOffsetMin ?? 0, at };
      if (this.#live && this.#options.secure) {
        // It was answered when it came; only what had to wait for its proof is left.
        if (!this.calls.live) this.calls.opened(journalId, nextCallId);
        return;
      }
    }
    this.#quiet();
    this.#live = true;
    this.#armBeat(welcome);
    // On a sealing board a first sealed frame of ours is what lets the gateway verify.
    if (!counts) this.#sayBeat();
    if (welcome.wantCaps) this.#sendCaps();
    if (counts || this.calls.knows(journalId)) this.calls.opened(journalId, nextCallId);
    this.outbox.opened();
    this.blobs.opened();
    this.asks.opened();
    this.mails.opened();
  }

  #quiet(): void {
    this.#live = false;
    this.#beat?.cancel();
    this.calls.closed();
    this.outbox.closed();
    this.blobs.closed();
    this.asks.closed();
    this.mails.closed();
  }

  #armBeat(welcome: MessageOf<'welcome'>): void {
    const seconds = Math.max(1, welcome.beatS ?? BEAT_S);
    this.#beat = this.#options.clock.after(seconds * 1000, () => {
      this.#sayBeat();
      this.#armBeat(welcome);
    });
  }

  #sayBeat(): void {
    const uptimeS = Math.floor((this.#options.clock.now() - this.#startedAt) / 1000);
    const battery = this.#options.battery();
    this.#greeting.send({ type: 'beat', uptimeS, ...(battery === undefined ? {} : { battery }) });
    this.asks.beat();
    this.mails.beat();
  }

  #sendCaps(): void {
    for (const page of this.#options.caps()) this.#greeting.send(page);
  }

  #dispatch(message: Message): void {
    if (this.#leaving) return;
    switch (message.type) {
      case 'call':
      case 'envelope':
        this.calls.take(message);
        break;
      case 'settled':
        this.calls.settled(message.callId);
        break;
      case 'cancel':
        this.calls.cancel(message.callId);
        break;
      case 'stored':
        this.outbox.stored(message.bootId, message.seq);
        break;
      case 'answer':
        this.#answered(message);
        break;
      case 'mailReply': {
        const { mailId, ok, value } = message;
        const known = ok
          ? this.mails.answered(mailId, value)
          : this.mails.refused(mailId, typeof value === 'string' ? value : 'It was refused.');
        if (!known) this.#count('ignored.mailReply');
        break;
      }
      case 'provision':
      case 'unpair':
        this.#keys(message);
        break;
      case 'blobAck':
      case 'blobDone':
        if (!this.blobs.take(message)) this.#count('ignored.blob');
        break;
      case 'blobOpen':
        this.#count('refused.blob');
        this.#greeting.send({
          type: 'blobDone',
          blobId: message.blobId,
          status: BLOB_STATUS.refused,
        });
        break;
      default:
        this.#unsupported(message);
    }
  }

  #unsupported({ type }: Message): void {
    this.#count('ignored.unsupported');
    this.#complaints.say('unsupported', `this board takes no ${type}`, MESSAGES[type].id);
  }

  /** Stored first, said then: what a board has confirmed must be so. */
  #keys(message: MessageOf<'provision'> | MessageOf<'unpair'>): void {
    const { provisioning, boardId, clock, unpaired } = this.#options;
    if (!provisioning) {
      this.#unsupported(message);
      return;
    }
    if (boardIdText(message.boardId) !== boardIdText(boardId)) {
      const about = MESSAGES[message.type].id;
      this.#complaints.say('wrong_board', `this board is ${boardIdText(boardId)}`, about);
      return;
    }
    try {
      if (message.type === 'provision') provisioning.handOver(message.key);
      else provisioning.forget();
    } catch (error) {
      this.#complaints.refused(error);
      return;
    }
    if (message.type === 'provision') {
      this.#greeting.send({ type: 'provisioned', boardId });
      return;
    }
    this.#leaving = true;
    this.#greeting.send({ type: 'unpaired', boardId });
    clock.after(LINGER_MS, () => unpaired?.());
  }

  #answered(message: MessageOf<'answer'>): void {
    const { askId, error } = message;
    if (!this.asks.waits(askId)) this.#count('ignored.answer');
    else if (error !== undefined) this.asks.refused(askId, error);
    else {
      const answer = this.#answer.add(message);
      if (answer) this.asks.answered(askId, answer);
    }
  }

  #error(message: MessageOf<'error'>): void {
    this.#count('gateway_error');
    if (message.code !== 'hello_first') return;
    const now = this.#options.clock.now();
    if (now - this.#greetedAt < REGREET_MS) return;
    this.#greetedAt = now;
    this.#greeting.greet();
  }

  #count(what: string): void {
    this.counters[what] = (this.counters[what] ?? 0) + 1;
  }
}
