/** A frame is what a link carries: one seal byte and then a message, plain or sealed. */
import { encodeMessage } from './codec.js';
import { FrameError } from './frame-error.js';
import type { Message } from './messages.js';
import { DEFAULT_LIMIT } from './profile.js';

/** The first byte of every frame on every link (amendment 1). */
export const SEAL = {
  plain: 0,
  /** Sealed with a session key made of the board's key. */
  board: 1,
  /** Sealed with a key made of the setup secret. */
  setup: 2,
} as const;
export type Seal = (typeof SEAL)[keyof typeof SEAL];

/** An unsealed frame. @throws FrameError as `encodeMessage` does */
export function plainFrame(message: Message): Uint8Array {
  const body = encodeMessage(message);
  const frame = new Uint8Array(body.length + 1);
  frame.set(body, 1);
  return frame;
}

/**
 * Splits a frame of at most `limit` bytes; `body` is a view of the same memory. Whether the
 * link accepts that seal is the session's business.
 * @throws FrameError `truncated`, `too_large` or `bad_seal`
 */
export function readFrame(
  bytes: Uint8Array,
  limit = DEFAULT_LIMIT,
): { seal: Seal; body: Uint8Array } {
  if (bytes.length > limit) {
    throw new FrameError('too_large', `${bytes.length} bytes came and at most ${limit} are taken`);
  }
  const seal = bytes[0];
  if (seal === undefined || bytes.length < 2) {
    throw new FrameError('truncated', 'a frame has a seal byte and at least one byte more', {
      offset: bytes.length,
    });
  }
  if (seal !== SEAL.plain && seal !== SEAL.board && seal !== SEAL.setup) {
    throw new FrameError('bad_seal', `a frame begins with 0, 1 or 2, not ${seal}`, { offset: 0 });
  }
  return { seal, body: bytes.subarray(1) };
}
