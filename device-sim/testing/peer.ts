/** The gateway's end of a wire, written by hand for tests: it says what a test tells it to. */
import { decodeMessage } from '../../protocol/codec.js';
import { plainFrame, readFrame, SEAL } from '../../protocol/frame.js';
import type { Value } from '../../protocol/kinds.js';
import type { Message, MessageName, MessageOf } from '../../protocol/messages.js';
import { SimBoard, type SimBoardOptions, type Transport, type TransportOwner } from '../board.js';
import { memoryStore } from '../stores.js';
import type { BoardSpec, Model } from '../types.js';
import { seededRandom, settle, VirtualClock } from './virtual-clock.js';

export const BOARD_ID = '00112233445566ff';
export const JOURNAL = Uint8Array.of(1, 2, 3, 4);

export class Peer implements Transport {
  /** Everything that the board sent and `take` has not taken. */
  sent: Message[] = [];
  /** Frames as they came, sealed ones too; `sent` has the plain ones only. */
  frames: Uint8Array[] = [];
  closed: string[] = [];
  #owner: TransportOwner | undefined;
  #up = false;
  #connection = 0;
  start(owner: TransportOwner): void {
    this.#owner = owner;
    this.connect();
  }

  connect(): void {
    this.#up = true;
    const here = ++this.#connection;
    this.#owner?.opened(
      {
        send: (frame) => {
          if (!this.#up || here !== this.#connection) return;
          this.frames.push(frame);
          const { seal, body } = readFrame(frame);
          if (seal === SEAL.plain) this.sent.push(decodeMessage(body));
        },
        close: (reason) => {
          this.closed.push(reason);
          this.cut();
        },
      },
      here,
    );
  }

  cut(): void {
    if (!this.#up) return;
    this.#up = false;
    this.#owner?.closed('cut');
  }

  restart(): void {
    this.cut();
    this.#connection = 0;
    this.connect();
  }

  pause(): void {
    this.cut();
  }

  async stop(): Promise<void> {
    this.cut();
  }

  say(message: Message): void {
    this.raw(plainFrame(message));
  }

  raw(frame: Uint8Array): void {
    if (this.#up) this.#owner?.received(frame);
  }

  welcome(more: Partial<MessageOf<'welcome'>> = {}): void {
    this.say({
      type: 'welcome',
      session: 7,
      unixMs: Date.UTC(2026, 2, 1, 13, 32),
      journalId: JOURNAL,
      nextCallId: 100,
      nonce: null,
      beatS: 30,
      maxMessage: 16_384,
      ...more,
    });
  }

  call(
    callId: number,
    verb: number,
    args: Value[] = [],
    more: Partial<MessageOf<'call'>> = {},
  ): void {
    this.say({
      type: 'call',
      callId,
      bootId: this.#owner?.bootId ?? 0,
      verb,
      args: new Map(args.map((value, i) => [i, value])),
      ttlMs: 30_000,
      ...more,
    });
  }

  /** Takes out all messages of a kind. */
  take<N extends MessageName>(type: N): MessageOf<N>[] {
    const found = this.sent.filter((message) => message.type === type) as unknown as MessageOf<N>[];
    this.sent = this.sent.filter((message) => message.type !== type);
    return found;
  }
}

/** A board with verbs that a test holds in its hands. */
export function bench(spec: Partial<BoardSpec> | Model = {}, more: Partial<SimBoardOptions> = {}) {
  const clock = new VirtualClock();
  const peer = new Peer();
  const held = new Map<number, { resolve(value: Value): void; reject(error: unknown): void }>();
  const store = memoryStore();
  const model: Model =
    typeof spec === 'function'
      ? spec
      : () => ({
          name: 'Bench',
          platform: 'test',
          firmware: '1',
          verbs: [
            {
              name: 'hold',
              signature: 'n?:i0..9',
              description: 'runs until the test ends it',
              run: (_, ctx) =>
                new Promise((resolve, reject) => {
                  held.set(ctx.callId, { resolve, reject });
                  ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason));
                }),
            },
            {
              name: 'echo',
              signature: 'text:s20 *',
              description: 'answers what it got',
              run: (args) => args,
            },
          ],
          ...spec,
        });
  const board = new SimBoard({
    boardId: BOARD_ID,
    model,
    transport: peer,
    clock,
    store,
    random: seededRandom(1),
    ...more,
  });
  return { board, peer, clock, held, store, settle };
}

export { settle };
