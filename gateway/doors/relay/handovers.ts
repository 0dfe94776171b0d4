/** Boards that change their gateway, by way of the hub (`protocol/gateway-api.ts`, amendment 10). */
import type { z } from 'zod';
import {
  done,
  type handedOverEvent,
  type handoverEvent,
  handoverReply,
} from '../../../protocol/gateway-api.js';
import { base64url, fromBase64url } from '../../../protocol/identity.js';
import type { BoardId } from '../../core/types.js';
import type { RelayDeps } from './deps.js';

/** The host's side, which has the keys. */
export interface HandoverHost {
  /**
   * Gives the board a new key and answers it sealed to `publicKey`. Keeps its own: until `gone`
   * nothing is final. Rejects with a sentence for people where the board stays here.
   */
  give(boardId: BoardId, publicKey: Uint8Array, to: string): Promise<Uint8Array>;
  /** The board is another gateway's: key and entry are forgotten when it resolves. */
  gone(boardId: BoardId): Promise<void>;
}

/** What a hub said to the wish for a board. */
export interface GivenBoard {
  handoverId: string;
  boardId: BoardId;
  name: string;
  sealedKey: Uint8Array;
}

const PATH = '/api/gateway/v1/handover';
/** The hub waits half a minute for the other gateway. */
const ASK_MS = 40_000;

export class Handovers {
  readonly #deps: RelayDeps;
  readonly #token: string;
  /** By handover: the hub may tell of one more than once. */
  readonly #leaving = new Set<string>();

  constructor(deps: RelayDeps, token: string) {
    this.#deps = deps;
    this.#token = token;
  }

  /** Another gateway wants a board of this one. */
  async wanted(event: z.infer<typeof handoverEvent>): Promise<void> {
    const { handover, log, counters } = this.#deps;
    const { handover_id, board_id, to } = event;
    const answer = await this.#give(board_id, event.public_key, to).then(
      (sealed) => ({ sealed_key: base64url(sealed) }),
      (error) => ({ refused: error instanceof Error ? error.message.slice(0, 300) : 'it failed' }),
    );
    counters.count('sealed_key' in answer ? 'handover.given' : 'handover.refused');
    log('another gateway asks for a board', {
      board: board_id,
      to,
      given: handover !== undefined && 'sealed_key' in answer,
    });
    await this.#ask('/answer', { handover_id, ...answer });
  }

  /** The hub says that a board is another's now; it says so until it is told that it is gone. */
  async left(event: z.infer<typeof handedOverEvent>): Promise<void> {
    const { handover, counters, log } = this.#deps;
    const { handover_id, board_id } = event;
    if (!handover || this.#leaving.has(handover_id)) return;
    this.#leaving.add(handover_id);
    try {
      await handover.gone(board_id);
      counters.count('handover.gone');
      log('a board is another gateway’s now', { board: board_id });
      await this.#ask('/gone', { handover_id });
    } finally {
      this.#leaving.delete(handover_id);
    }
  }

  /** @throws HubRefused with the other gateway's reason, Unauthorized, HubUnreachable */
  async ask(deviceId: string, publicKey: Uint8Array): Promise<GivenBoard> {
    const given = await this.#deps.client.ask({
      method: 'POST',
      path: PATH,
      token: this.#token,
      body: { device_id: deviceId, public_key: base64url(publicKey) },
      answer: handoverReply,
      deadlineMs: ASK_MS,
    });
    // What is no base64url gives no bytes, and whoever opens it refuses their length.
    const sealedKey = fromBase64url(given.sealed_key) ?? new Uint8Array();
    const { handover_id, board_id, name } = given;
    return { handoverId: handover_id, boardId: board_id, name, sealedKey };
  }

  /** The key is stored here. @throws HubRefused, Unauthorized, HubUnreachable */
  async stored(handoverId: string): Promise<void> {
    await this.#ask('/done', { handover_id: handoverId });
  }

  async #give(boardId: BoardId, publicKey: string, to: string): Promise<Uint8Array> {
    const { handover } = this.#deps;
    if (!handover) throw new Error('this gateway hands no boards over');
    return handover.give(boardId, fromBase64url(publicKey) ?? new Uint8Array(), to);
  }

  async #ask(step: string, body: Record<string, string>): Promise<void> {
    const { client } = this.#deps;
    await client.ask({ method: 'POST', path: PATH + step, token: this.#token, body, answer: done });
  }
}
