/** What a board says of frames that it can't take: ERROR, and not over and over. */
import { FrameError } from '../protocol/codec.js';
import type { MessageOf } from '../protocol/messages.js';
import type { BoardClock } from './types.js';

/** One ERROR of a kind in this time: two confused peers must not shout at each other for ever. */
const ERROR_MS = 10_000;
const KINDS_OF_ERROR = 32;

export interface ComplaintsDeps {
  readonly clock: BoardClock;
  say(error: MessageOf<'error'>): void;
  count(what: string): void;
}

export class Complaints {
  readonly #deps: ComplaintsDeps;
  readonly #saidAt = new Map<string, number>();

  constructor(deps: ComplaintsDeps) {
    this.#deps = deps;
  }

  refused(error: unknown): void {
    const known = error instanceof FrameError ? error : undefined;
    const code = known?.code ?? 'bad_frame';
    this.#deps.count(`bad.${code}`);
    const said = code === 'unknown_type' ? 'unsupported' : code;
    this.say(said, known?.message ?? 'the frame was not taken', known?.id);
  }

  /** `about` is the id of the message that was not taken. */
  say(code: string, message: string, about: number | undefined): void {
    const kind = `${code} ${about ?? ''}`;
    const now = this.#deps.clock.now();
    if (now - (this.#saidAt.get(kind) ?? Number.NEGATIVE_INFINITY) < ERROR_MS) return;
    if (this.#saidAt.size >= KINDS_OF_ERROR) this.#saidAt.clear();
    this.#saidAt.set(kind, now);
    const error: MessageOf<'error'> = { type: 'error', code, message: message.slice(0, 200) };
    if (about !== undefined && about <= 0xffff) error.about = about;
    this.#deps.say(error);
  }
}
