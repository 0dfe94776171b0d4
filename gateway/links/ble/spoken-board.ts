/**
 * Speaks the frame protocol in the place of a board of another maker. To the gateway it is a
 * `Path` like any other: HELLO, CAPS, BEAT, READINGS, EVENT and RESULT come from it; the profile
 * above says when the board can be reached and what it said. It needs no seal: its frames never
 * leave this process, and what the air may be trusted for is the profile's business.
 *
 * One of these lives as long as its profile knows the board, over any number of connections; that
 * is its boot. The boot id is 32 random bits and not the time: the journal tells items apart by
 * (board, boot, number) and would drop those of a new run under an old boot as repeats, and a
 * machine without a clock of its own starts twice in one second of its calendar.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { capsHash, capsPages } from '../../../protocol/catalog.js';
import { decodeMessage, encodeMessage } from '../../../protocol/codec.js';
import { readFrame, SEAL } from '../../../protocol/frame.js';
import { boardIdBytes, boardIdText } from '../../../protocol/identity.js';
import type { Value } from '../../../protocol/kinds.js';
import { type Message, type MessageOf, PROTOCOL_VERSION } from '../../../protocol/messages.js';
import type { BoardId, PathListener, Timer } from '../../core/types.js';
import type { ProfileContext } from './profile.js';
import { MAX_CALLS, SpokenCalls, type SpokenVerb } from './spoken-calls.js';
import { SpokenEvents } from './spoken-events.js';
import { SpokenPath } from './spoken-path.js';
import { type SpokenReading, SpokenReadings } from './spoken-readings.js';

/** The first 8 bytes of SHA-256 over `profile:address`: one board is one id on every gateway. */
export function spokenBoardId(profile: string, address: string): BoardId {
  const text = `${profile}:${plainAddress(address)}`;
  return boardIdText(sha256(new TextEncoder().encode(text)).slice(0, 8));
}

/** As libraries write addresses: with colons or hyphens, either case. */
export function plainAddress(address: string): string {
  return address.toLowerCase().replaceAll(/[:-]/g, '');
}

export interface SpokenOptions {
  readonly boardId: BoardId;
  /** What it is called where the owner gave it no name. */
  readonly name: string;
  readonly platform: string;
  readonly firmware?: string;
  readonly verbs: readonly SpokenVerb[];
  /** Readings that are known from the start; more may come. */
  readonly readings?: readonly SpokenReading[];
  readonly context: ProfileContext;
  /** The gateway ended the path. */
  ended?(reason: string): void;
}

/** CAPS pages are cut for the smallest gateway, so that one catalog has one hash. */
const PAGE_BYTES = 1_024;
const MAX_MESSAGE = 16_384;
const BEAT_S = 30;
/** A HELLO without answer is said again, ever less often. */
const HELLO_MS = 5_000;
const HELLO_MAX_MS = 60_000;
/** New readings are told together: when none was added for a while, at the latest … */
export const SETTLE_MS = 5_000;
/** … this long after the first. */
export const SETTLE_MAX_MS = 30_000;

export class SpokenBoard {
  readonly readings: SpokenReadings;
  readonly #options: SpokenOptions;
  readonly #context: ProfileContext;
  readonly #bootId: number;
  readonly #calls: SpokenCalls;
  readonly #events: SpokenEvents;
  readonly #startedAt: number;
  #firmware: string;
  #battery: number | undefined;
  #path: SpokenPath | undefined;
  /** Of the WELCOME that counts; undefined until there is one. */
  #session: number | undefined;
  /** The catalog of the last HELLO. */
  #pages: readonly Uint8Array[] = [];
  #maxOut = 1_024;
  #helloMs = HELLO_MS;
  #hello: Timer | undefined;
  #beat: Timer | undefined;
  #settle: { readonly timer: Timer; readonly since: number } | undefined;

  constructor(options: SpokenOptions) {
    const { context, verbs, readings = [], firmware = '' } = options;
    this.#options = options;
    this.#firmware = firmware;
    this.#context = context;
    const { clock } = context;
    this.#startedAt = clock.now();
    this.#bootId = bootIdOf(context.random(4));
    const send = (message: Message): void => {
      if (this.#session !== undefined) this.#send(message);
    };
    this.#calls = new SpokenCalls({
      bootId: this.#bootId,
      verbs,
      send,
      maxOut: () => this.#maxOut,
    });
    this.#events = new SpokenEvents({ clock, bootId: this.#bootId, send, count: context.count });
    this.readings = new SpokenReadings({
      clock,
      count: context.count,
      send,
      grown: () => this.#grown(),
    });
    this.readings.declare(readings, false);
  }

  get boardId(): BoardId {
    return this.#options.boardId;
  }

  get isOpen(): boolean {
    return this.#path !== undefined;
  }

  /**
   * The board can be reached: it greets, at once or when new readings have settled. The path is
   * told to `listener`; one that is open is left as it is.
   */
  open(listener: PathListener = this.#context.listener): void {
    if (this.#path) return;
    const { clock, count } = this.#context;
    const path = new SpokenPath({
      boardId: this.#options.boardId,
      clock,
      listener,
      count,
      received: (frame) => {
        if (this.#path === path) this.#received(frame);
      },
      ended: (reason) => {
        if (this.#path !== path) return;
        this.#quiet();
        this.#options.ended?.(reason);
      },
    });
    this.#path = path;
    path.open();
    if (!this.#settle) this.#greet();
  }

  /** The board can't be reached: what it must not lose is kept. */
  close(reason: string): void {
    const path = this.#path;
    this.#quiet();
    path?.close(reason);
  }

  /** Closes and ends every timer; events that were not stored go, and are counted. */
  stop(reason: string): void {
    this.close(reason);
    this.#settle?.timer.cancel();
    this.#settle = undefined;
    for (let i = this.#events.size; i > 0; i--) this.#context.count('shed.events');
  }

  set firmware(text: string) {
    if (text === this.#firmware) return;
    this.#firmware = text;
    this.#grown();
  }

  /** Percent. */
  set battery(percent: number | undefined) {
    this.#battery = percent;
  }

  /** Kept until the gateway has stored it. Throws `FrameError` for what can't travel. */
  event(kind: string, detail: Value): void {
    this.#events.add(kind, detail);
  }

  #quiet(): void {
    this.#path = undefined;
    this.#session = undefined;
    this.#hello?.cancel();
    this.#beat?.cancel();
    this.#helloMs = HELLO_MS;
    this.#events.closed();
    this.readings.closed();
  }

  /** The catalog changed: it is told when nothing more was added for a while. */
  #grown(): void {
    const now = this.#context.clock.now();
    const since = this.#settle?.since ?? now;
    this.#settle?.timer.cancel();
    const wait = Math.max(0, Math.min(SETTLE_MS, since + SETTLE_MAX_MS - now));
    const timer = this.#context.clock.after(wait, () => {
      this.#settle = undefined;
      if (this.#path) this.#greet();
    });
    this.#settle = { timer, since };
  }

  #caps(): Uint8Array[] {
    const { name, platform, verbs } = this.#options;
    const readings = this.readings.defs;
    return capsPages({ name, platform, firmware: this.#firmware, verbs, readings }, PAGE_BYTES);
  }

  #greet(): void {
    this.#hello?.cancel();
    this.#session = undefined;
    this.#pages = this.#caps();
    this.readings.greeting();
    const unsettled = this.#calls.unsettled();
    this.#send({
      type: 'hello',
      version: PROTOCOL_VERSION,
      boardId: boardIdBytes(this.#options.boardId),
      bootId: this.#bootId,
      nonce: null,
      capsHash: capsHash(this.#pages),
      maxMessage: MAX_MESSAGE,
      maxCalls: MAX_CALLS,
      ...(unsettled.length > 0 ? { unsettled } : {}),
      ...(this.#battery === undefined ? {} : { battery: this.#battery }),
    });
    this.#hello = this.#context.clock.after(this.#helloMs, () => this.#greet());
    this.#helloMs = Math.min(HELLO_MAX_MS, this.#helloMs * 2);
  }

  #received(frame: Uint8Array): void {
    let message: Message;
    try {
      const { seal, body } = readFrame(frame, MAX_MESSAGE);
      if (seal !== SEAL.plain) {
        this.#context.count('ignored.sealed');
        return;
      }
      message = decodeMessage(body, MAX_MESSAGE);
    } catch {
      this.#context.count('bad.down');
      return;
    }
    switch (message.type) {
      case 'welcome':
        this.#welcomed(message);
        break;
      case 'call':
      case 'envelope':
        this.#calls.take(message);
        break;
      case 'settled':
        this.#calls.settled(message.callId);
        break;
      case 'cancel':
        this.#calls.cancel(message.callId);
        break;
      case 'stored':
        this.#events.stored(message);
        break;
      default:
        this.#context.count(`ignored.${message.type}`);
    }
  }

  #welcomed(welcome: MessageOf<'welcome'>): void {
    if (welcome.wantCaps) for (const page of this.#pages) this.#put(page);
    if (welcome.session === this.#session) return;
    this.#session = welcome.session;
    this.#maxOut = welcome.maxMessage ?? this.#maxOut;
    this.#hello?.cancel();
    this.#helloMs = HELLO_MS;
    this.#armBeat(Math.max(1, welcome.beatS ?? BEAT_S) * 1_000);
    this.#calls.opened(welcome.journalId, welcome.nextCallId);
    this.#events.opened();
    this.readings.opened();
  }

  /** While the path is open the profile vouches that the board can be reached. */
  #armBeat(ms: number): void {
    this.#beat?.cancel();
    this.#beat = this.#context.clock.after(ms, () => {
      const uptimeS = Math.floor((this.#context.clock.now() - this.#startedAt) / 1_000);
      const battery = this.#battery;
      this.#send({ type: 'beat', uptimeS, ...(battery === undefined ? {} : { battery }) });
      this.#armBeat(ms);
    });
  }

  #send(message: Message): void {
    this.#put(encodeMessage(message));
  }

  #put(message: Uint8Array): void {
    const frame = new Uint8Array(message.length + 1);
    frame[0] = SEAL.plain;
    frame.set(message, 1);
    this.#path?.say(frame);
  }
}

function bootIdOf(random: Uint8Array): number {
  return new DataView(random.slice().buffer).getUint32(0) || 1;
}
