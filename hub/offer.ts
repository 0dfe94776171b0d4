/** Telling a gateway of an envelope for one of its boards. */
import { TINY_LIMITS } from '../protocol/tiny.js';
import type { HubContext } from './context.js';
import type { EnvelopeRow } from './mailbox-queries.js';

/** An envelope that nobody fetched is offered so long. */
export const OFFERED_MS = TINY_LIMITS.undeliveredS * 1000;

/** `id` only where offers go out in the order of their numbers. */
export function offer(
  ctx: HubContext,
  gatewayId: string | null,
  row: EnvelopeRow,
  id?: number,
): void {
  ctx.streams.of(gatewayId)?.send(
    'offer',
    {
      envelope_id: row.id,
      device_id: row.device_id,
      payload: row.payload,
      created_at: Math.floor(row.created_ms / 1000),
      expires_at: Math.floor((row.created_ms + OFFERED_MS) / 1000),
    },
    id,
  );
}
