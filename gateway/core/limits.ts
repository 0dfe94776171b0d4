/** Bounds of the gateway, all in one place; `createGateway` takes any of them. */
export interface Limits {
  /** Largest message that a board may send us, in bytes. */
  maxMessage: number;
  /** What a board takes if its HELLO does not say, in bytes (frame.md "Encoding"). */
  boardMaxMessage: number;
  /** Calls at once on a board that does not say. */
  boardMaxCalls: number;
  /** Calls waiting for one board, running ones included; beyond it a call is refused as busy. */
  queue: number;
  /** Seconds between a board's beats; it is unreachable after 2.5 of them without a frame. */
  beatS: number;
  /** Milliseconds until a CALL without ACK is sent again; doubles. */
  resendMs: number;
  /** Milliseconds until a WELCOME is sent again when the capabilities asked for don't come. */
  capsMs: number;
  /** HELLOs taken in ten seconds; more are ignored and counted (a board in a boot loop). */
  hellos: number;
  /** Bad frames in ten seconds after which the path is closed. */
  badFrames: number;
  /** Largest blob, in bytes, and how many at once from one board. */
  maxBlob: number;
  openBlobs: number;
  /** Bytes a board may send ahead of our BLOB_ACK. */
  blobWindow: number;
}

export const LIMITS: Limits = {
  maxMessage: 16_384,
  boardMaxMessage: 1_024,
  boardMaxCalls: 4,
  queue: 64,
  beatS: 30,
  resendMs: 2_000,
  capsMs: 3_000,
  hellos: 5,
  badFrames: 100,
  maxBlob: 16 * 1024 * 1024,
  openBlobs: 4,
  blobWindow: 16_384,
};

/** Ids that a board remembers above its floor (amendment 5): none is sent beyond it. */
export const CALL_WINDOW = 32;
