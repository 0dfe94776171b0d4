/** What a simulated board is made of: its clock, its memory, its verbs and its readings. */
import type { Opened } from '../protocol/channel.js';
import type { Value } from '../protocol/kinds.js';

/** Milliseconds since the board woke; a board has no other clock. */
export interface BoardClock {
  now(): number;
  after(ms: number, run: () => void): { cancel(): void };
}

/** The few bytes that survive a reboot. */
export interface BoardFlash {
  bootId: number;
  /** Of a board that is paired by its set-up code: that code's secret, 16 bytes. */
  secret?: Uint8Array;
  /** The key of its own that such a board was given, 16 bytes. */
  key?: Uint8Array;
  /** A frame under `key` has verified: the secret opens nothing. */
  burnt?: boolean;
  /** The key for another gateway, from the present one; the first frame under it makes it `key`. */
  next?: Uint8Array;
}

/** `save` must be durable, and all or nothing, when it returns. */
export interface BoardStore {
  load(): BoardFlash;
  save(state: BoardFlash): void;
}

/** A sealed session of one HELLO and WELCOME; `SecureChannel` is one. */
export interface BoardSeal {
  /** A whole frame, seal byte included. Rejects when the session has sealed all that it may. */
  seal(message: Uint8Array): Promise<Uint8Array>;
  /** The message inside, or why there is none. */
  open(frame: Uint8Array): Promise<Opened>;
}

/** Time as the gateway told it in WELCOME, carried on by the board's own clock. */
export interface GatewayTime {
  unixMs: number;
  utcOffsetMin: number;
}

export interface OutgoingBlob {
  bytes: Uint8Array;
  mediaType: string;
  purpose: string;
}

/** A verb's failure with a code that callers can tell apart. */
export class VerbError extends Error {
  override readonly name = 'VerbError';
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** What a running verb can do besides returning its value or throwing. */
export interface VerbContext {
  readonly callId: number;
  readonly bootId: number;
  /** Milliseconds that the caller waits, as the CALL said. */
  readonly ttlMs: number;
  /** Fires when the call is cancelled or the board goes down. */
  readonly signal: AbortSignal;
  progress(progress: { percent?: number; note?: string }): void;
  /** Sends a blob that belongs to this call; resolves when the gateway has stored it. */
  blob(blob: OutgoingBlob): Promise<void>;
  /** Waits on the board's clock; rejects when `signal` fires. */
  sleep(ms: number): Promise<void>;
}

export interface VerbSpec {
  name: string;
  /** `text:s200 size?:i1..4` (frame.md, "Messages"). */
  signature: string;
  description: string;
  flags?: { protected?: boolean; idempotent?: boolean; readOnly?: boolean };
  /** Throws VerbError for a failure with a code; anything else thrown is code `failed`. */
  run(args: Record<string, Value>, ctx: VerbContext): Value | Promise<Value>;
}

export interface ReadingSpec {
  name: string;
  unit: string;
  /** Power of ten: at −2 a value of 21.37 travels as 2137. Default 0. */
  scale?: number;
  /** The value in its unit; null when the sensor has none. */
  read(): number | boolean | string | null;
}

/** One boot of one kind of board. */
export interface BoardSpec {
  name: string;
  platform: string;
  firmware: string;
  verbs: VerbSpec[];
  readings?: ReadingSpec[];
  /** Largest message it takes, in bytes; default 1,024. */
  maxMessage?: number;
  /** Calls at once; default 4. */
  maxCalls?: number;
  /** Percent. */
  battery?(): number | undefined;
  /** Answers ENVELOPE messages; without it they fail as `unsupported`. */
  envelope?(kind: string, bytes: Uint8Array, ctx: VerbContext): Value | Promise<Value>;
  /** Runs when the board's set-up code begins to open it, or ceases to: look at `setupCode`. */
  pairingChanged?(): void;
  /** Runs when this boot ends. */
  ended?(): void;
}

/** What the owner's agent said; `card` is a card's arguments where it made one. */
export interface AgentAnswer {
  text: string;
  card?: Value;
}

/** What the board gives its firmware. */
export interface BoardHost {
  readonly boardId: string;
  readonly bootId: number;
  readonly clock: BoardClock;
  /** From 0 up to, but not including, 1. */
  readonly random: () => number;
  /** What opens the board to whoever reads it; undefined once it is paired. */
  readonly setupCode: string | undefined;
  gatewayTime(): GatewayTime | undefined;
  /** Kept until the gateway has stored it; false if the queue had to drop an older one for it. */
  event(kind: string, detail: Value): boolean;
  /**
   * Sends a blob that belongs to no call; resolves to its id, by which this boot may name it, when
   * the gateway has stored it. Rejects with VerbError.
   */
  blob(blob: OutgoingBlob): Promise<number>;
  transcript(
    text: string,
    about?: { label?: string; durationS?: number; blobId?: number },
  ): boolean;
  taskResult(taskId: string, summary: string, result: Value): boolean;
  /** Sends all readings now; lost if there is no gateway. */
  sendReadings(): void;
  /** Keeps all readings as they are now until the gateway has stored them. */
  storeReadings(): boolean;
  /** Sends live readings each `seconds` from now on; 0 stops them. */
  setReadingsInterval(seconds: number): void;
  /** Asks the owner's agent. Rejects with VerbError: `refused` holds a sentence for people. */
  ask(text: string): Promise<AgentAnswer>;
  /** The owner's messages: what the mail route said. Rejects as `ask` does. */
  mail(op: string, args: Record<string, Value>): Promise<Value>;
  /** Says SLEEP, leaves, and comes back after that many seconds. */
  sleep(seconds: number): void;
}

/** The firmware: what runs from one boot to the next. */
export type Model = (host: BoardHost) => BoardSpec;
