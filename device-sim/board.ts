/** A simulated board: firmware, a session for each boot, and a transport to the gateway. */
import { boardIdBytes } from '../protocol/identity.js';
import type { Value } from '../protocol/kinds.js';
import type { CallMessage } from './call-memory.js';
import { defineBoard, type Firmware, prepareCall } from './firmware.js';
import type { EinkModel } from './models/eink.js';
import type { PairingState, Provisioning } from './provisioning.js';
import { BoardSession, type Secure, type Wire } from './session.js';
import {
  type BoardClock,
  type BoardHost,
  type BoardStore,
  type Model,
  VerbError,
} from './types.js';
import { verbContext } from './verb-context.js';

export { defineBoard } from './firmware.js';

/** What a transport tells its board. */
export interface TransportOwner {
  readonly boardId: string;
  /** The present boot; read at each connect. */
  readonly bootId: number;
  /** False while the set-up code opens the board. */
  readonly paired?: boolean;
  /** Bytes of the longest message that the present boot takes. */
  readonly maxMessage: number;
  /** A connection stands; `connection` grows by one with each of a boot. */
  opened(wire: Wire, connection: number): void;
  received(frame: Uint8Array): void;
  closed(reason: string): void;
}

/** A way to the gateway. It connects again by itself, with pauses that grow and jitter. */
export interface Transport {
  start(owner: TransportOwner): void;
  /** Cuts the connection as a power failure would, and connects again at once. */
  restart(): void;
  /** Leaves cleanly and comes back after that time. */
  pause(ms: number): void;
  stop(): Promise<void>;
  /** `TransportOwner.paired` has changed, for those that show it. */
  pairingChanged?(): void;
}

/** Sealing for a board that has a key: one nonce for each HELLO, one session for each WELCOME. */
export interface BoardSealing {
  nonce(bootId: number, connection: number): Uint8Array;
  secure: Secure;
  /** Where the key is not the caller's but given by whoever has the board's set-up code. */
  provisioning?: Provisioning;
}

/** What became of a board's pairing. */
export interface PairingEvent {
  boardId: string;
  state: PairingState;
  /** What the board shows; undefined once it is paired. Secret. */
  code: string | undefined;
}

export interface SimBoardOptions {
  boardId: string;
  model: Model;
  transport: Transport;
  clock: BoardClock;
  store: BoardStore;
  /** From 0 up to, but not including, 1. */
  random: () => number;
  sealing?: BoardSealing;
  /** The panel of a board that has one, for those who look at it and touch it. */
  display?: EinkModel;
  /** Seconds between live readings; 0 for none. Default 30. */
  readingsS?: number;
  /** Called for each handler that begins, before it runs: where tests count executions. */
  onExecution?(execution: Execution): void;
  /** Called when a board that is paired by code starts, and whenever its pairing changes. */
  onPairing?(event: PairingEvent): void;
}

/** One run of a handler. At most one may exist for a callId and a boot. */
export interface Execution {
  callId: number;
  bootId: number;
  verb: string;
  /** The board's clock. */
  at: number;
}

/** What a board takes that doesn't say, in bytes. */
const MAX_MESSAGE = 1_024;
/** The log keeps the last ones; the counter counts all. */
const LOG = 10_000;

export class SimBoard {
  readonly boardId: string;
  /** The last executions, oldest first. */
  readonly log: Execution[] = [];
  executions = 0;
  readonly #options: SimBoardOptions;
  #bootId = 0;
  #firmware: Firmware | undefined;
  #session: BoardSession | undefined;
  #running = false;
  #readingsEveryS = 0;
  #readingsTimer: { cancel(): void } | undefined;

  constructor(options: SimBoardOptions) {
    boardIdBytes(options.boardId);
    this.boardId = options.boardId;
    this.#options = options;
  }

  get bootId(): number {
    return this.#bootId;
  }

  get display(): EinkModel | undefined {
    return this.#options.display;
  }

  /** The present boot's session, for what it counts and keeps. */
  get session(): BoardSession | undefined {
    return this.#session;
  }

  /** The present boot's specification. */
  get firmware(): Firmware | undefined {
    return this.#firmware;
  }

  get online(): boolean {
    return this.#session?.online ?? false;
  }

  /** A board with a key from the beginning is paired. */
  get pairing(): PairingState {
    return this.#options.sealing?.provisioning?.state ?? 'paired';
  }

  /** What it shows while it can be paired; undefined where it can't. Secret. */
  get setupCode(): string | undefined {
    return this.#options.sealing?.provisioning?.code;
  }

  /** The button on the board: ends a lock-out after wrong codes. */
  pressButton(): void {
    this.#options.sealing?.provisioning?.button();
  }

  /** The button held down: the key is forgotten and the set-up code opens again; a new boot. */
  factoryReset(): void {
    const provisioning = this.#options.sealing?.provisioning;
    if (!provisioning) throw new Error('this board’s key was given to it: there is none to forget');
    provisioning.forget();
    provisioning.button();
    this.reboot();
  }

  /** Boots and connects. Throws if the new boot id can't be saved: a board must not greet then. */
  start(): void {
    if (this.#running) return;
    this.#boot();
    this.#running = true;
    const provisioning = this.#options.sealing?.provisioning;
    if (provisioning) {
      provisioning.changed = () => this.#pairingChanged();
      this.#sayPairing();
    }
    const board = this;
    this.#options.transport.start({
      boardId: this.boardId,
      get bootId() {
        return board.#bootId;
      },
      get paired() {
        return board.pairing === 'paired';
      },
      get maxMessage() {
        return board.#firmware?.maxMessage ?? MAX_MESSAGE;
      },
      opened: (wire, connection) => this.#session?.connected(wire, connection),
      received: (frame) => this.#session?.received(frame),
      closed: () => this.#session?.disconnected(),
    });
  }

  /** Power off. The board can be started again; that is a new boot. */
  async stop(): Promise<void> {
    if (!this.#running) return;
    this.#running = false;
    this.#halt();
    await this.#options.transport.stop();
  }

  /** Power fails and returns: memory is lost, what ran is lost, the boot id grows. */
  reboot(): void {
    if (!this.#running) return;
    this.#halt();
    this.#boot();
    this.#options.transport.restart();
  }

  #boot(): void {
    const { store, model, clock, random, sealing, boardId } = this.#options;
    const bootId = (store.load().bootId + 1) >>> 0 || 1;
    store.save({ ...store.load(), bootId });
    this.#bootId = bootId;
    const firmware = defineBoard(model(this.#host(bootId)));
    this.#firmware = firmware;
    this.#session = new BoardSession({
      boardId: boardIdBytes(boardId),
      bootId,
      clock,
      random,
      maxMessage: firmware.maxMessage ?? MAX_MESSAGE,
      maxCalls: firmware.maxCalls ?? 4,
      capsHash: firmware.capsHash,
      caps: () => firmware.caps(),
      battery: () => firmware.battery?.(),
      prepare: (call) => this.#prepare(firmware, bootId, call),
      readings: () => firmware.readValues(),
      ...(sealing
        ? {
            nonce: (connection) => sealing.nonce(bootId, connection),
            secure: sealing.secure,
            provisioning: sealing.provisioning,
            unpaired: () => this.reboot(),
          }
        : {}),
    });
    const seconds = this.#options.readingsS ?? 30;
    if (!firmware.readings?.length || seconds <= 0) return;
    // The first soon, so that a new board shows something; a fleet's not all at once.
    const first = Math.min(seconds, 4) * 1000 * (0.5 + 0.5 * random());
    this.#readingsEveryS = seconds;
    this.#readingsTimer = clock.after(Math.round(first), () => this.#tick());
  }

  #tick(): void {
    this.#session?.sendReadings();
    this.setReadingsInterval(this.#readingsEveryS);
  }

  #pairingChanged(): void {
    this.#firmware?.pairingChanged?.();
    this.#options.transport.pairingChanged?.();
    this.#sayPairing();
  }

  #sayPairing(): void {
    const { boardId, pairing: state, setupCode: code } = this;
    this.#options.onPairing?.({ boardId, state, code });
  }

  #halt(): void {
    this.#readingsTimer?.cancel();
    this.#session?.stop();
    this.#session = undefined;
    this.#firmware?.ended?.();
    this.#firmware = undefined;
  }

  /** Sends live readings each `seconds` from now on; 0 stops them. */
  setReadingsInterval(seconds: number): void {
    this.#readingsTimer?.cancel();
    this.#readingsEveryS = seconds;
    if (seconds <= 0) return;
    this.#readingsTimer = this.#options.clock.after(seconds * 1000, () => this.#tick());
  }

  #host(bootId: number): BoardHost {
    const { clock, random } = this.#options;
    const session = (): BoardSession | undefined =>
      this.#bootId === bootId ? this.#session : undefined;
    const board = this;
    return {
      boardId: this.boardId,
      bootId,
      clock,
      random,
      get setupCode() {
        return board.setupCode;
      },
      gatewayTime: () => session()?.gatewayTime(),
      event: (kind, detail) => session()?.keep({ type: 'event', kind, detail }) ?? false,
      blob: (blob) =>
        session()?.putBlob(blob) ??
        Promise.reject(new VerbError('rebooted', 'the board went down')),
      transcript: (text, about = {}) =>
        session()?.keep({ type: 'transcript', text, ...about }) ?? false,
      taskResult: (taskId, summary, result) =>
        session()?.keep({ type: 'taskResult', taskId, summary, result }) ?? false,
      sendReadings: () => void session()?.sendReadings(),
      storeReadings: () => session()?.storeReadings() ?? false,
      setReadingsInterval: (seconds) => {
        if (session()) this.setReadingsInterval(seconds);
      },
      ask: (text) => {
        const asked = session()?.asks.put({ type: 'ask', bootId: 0, question: text });
        return asked ?? Promise.reject(new VerbError('rebooted', 'the board went down'));
      },
      mail: (op, args) => {
        const sent = session()?.mails.put({ type: 'mail', bootId: 0, op, args });
        return sent ?? Promise.reject(new VerbError('rebooted', 'the board went down'));
      },
      sleep: (seconds) => {
        session()?.saySleep(seconds);
        if (session()) this.#options.transport.pause(seconds * 1000);
      },
    };
  }

  #prepare(firmware: Firmware, bootId: number, call: CallMessage) {
    const { verb, run } = prepareCall(firmware, call);
    return (signal: AbortSignal): Value | Promise<Value> => {
      const execution = { callId: call.callId, bootId, verb, at: this.#options.clock.now() };
      this.executions++;
      this.log.push(execution);
      if (this.log.length > LOG) this.log.shift();
      this.#options.onExecution?.(execution);
      const { clock } = this.#options;
      return run(verbContext(call, { bootId, clock, session: this.#session, signal }));
    };
  }
}
