/** What a board can do, made once from its CAPS pages and never changed. */
import type { Signature } from './signature.js';

export interface Verb {
  readonly index: number;
  readonly name: string;
  readonly signature: Signature;
  readonly description: string;
  readonly protected: boolean;
  readonly idempotent: boolean;
  readonly readOnly: boolean;
}

export interface ReadingDef {
  readonly index: number;
  readonly name: string;
  readonly unit: string;
  /** Power of ten that turns the integer on the wire into the value: 2137 at −2 is 21.37. */
  readonly scale: number;
}

export interface BoardCatalog {
  readonly name: string;
  readonly platform: string;
  readonly firmware: string;
  /** Whether the board takes ENVELOPE messages. */
  readonly envelopes: boolean;
  readonly verbs: readonly Verb[];
  readonly readings: readonly ReadingDef[];
  /** First 8 bytes of SHA-256 over the CAPS messages in page order, as hex. */
  readonly hash: string;
}
