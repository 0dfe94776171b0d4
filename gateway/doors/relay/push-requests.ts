/** The gateway routes that answer in order for a list of envelopes, and the media route. */
import type { z } from 'zod';
import { claimReply, mediaReply, replyReply } from '../../../protocol/gateway-api.js';
import type { HubClient } from './client.js';

export type Claim =
  | { held: true }
  | { held: false; why: z.infer<typeof claimReply>['lost'][number]['why'] };
export type ReplyStatus = z.infer<typeof replyReply>['results'][number]['status'];
export interface Reply {
  envelope_id: string;
  payload: string;
}

export class PushRequests {
  readonly #client: HubClient;
  readonly #token: string;

  constructor(client: HubClient, token: string) {
    this.#client = client;
    this.#token = token;
  }

  async claim(ids: string[]): Promise<Claim[]> {
    const { claimed, lost } = await this.#client.ask({
      method: 'POST',
      path: '/api/gateway/v1/claim',
      token: this.#token,
      body: { envelope_ids: ids },
      answer: claimReply,
    });
    const ours = new Set(claimed);
    const why = new Map(lost.map((one) => [one.envelope_id, one.why]));
    return ids.map((id) =>
      ours.has(id) ? { held: true } : { held: false, why: why.get(id) ?? 'unknown' },
    );
  }

  async reply(replies: Reply[]): Promise<ReplyStatus[]> {
    const { results } = await this.#client.ask({
      method: 'POST',
      path: '/api/gateway/v1/reply',
      token: this.#token,
      body: { replies },
      answer: replyReply,
    });
    const status = new Map(results.map((one) => [one.envelope_id, one.status]));
    return replies.map(({ envelope_id }) => status.get(envelope_id) ?? 'unknown');
  }

  upload(bytes: Uint8Array, contentType: string): Promise<{ url: string }> {
    return this.#client.ask({
      method: 'POST',
      path: '/api/gateway/v1/media',
      token: this.#token,
      raw: { bytes, contentType },
      answer: mediaReply,
      deadlineMs: 30_000,
    });
  }
}
