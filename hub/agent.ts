/**
 * Who answers what devices ask (`POST /api/devices/ask`): the hub has no agent of its own, it is
 * handed one as `HubOptions.agent`.
 */
import type { Owner } from './owner.js';

export interface Question {
  text: string;
  owner: Owner;
  /** The device that asks. */
  device: { id: string; name: string };
  /** Aborted when nobody waits for the answer any more, or it took too long. */
  signal: AbortSignal;
}

export interface Recording {
  bytes: Uint8Array;
  /** A media type without parameters: `audio/wav`. */
  type: string;
  signal: AbortSignal;
}

/**
 * What an agent rejects with where asking again would not help: its key, its model or its address
 * is wrong. The message is for the hub's log.
 */
export class AgentUnusable extends Error {
  override readonly name = 'AgentUnusable';
}

export interface Agent {
  /**
   * The answer's text in pieces, as they come. One fenced block `card` in it, a JSON object, is
   * taken out and shown by the device as a card.
   */
  answer(question: Question): AsyncIterable<string>;
  /** What was said in a recording. Without it spoken questions are refused. */
  transcribe?(recording: Recording): Promise<string>;
}
