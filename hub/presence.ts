/** Whether a device can be reached, as far as the hub knows. */
import { presence as presenceSchema } from '../protocol/gateway-api.js';
import { TINY_LIMITS } from '../protocol/tiny.js';
import type { PresenceView } from './bus.js';
import type { HubContext } from './context.js';
import type { DeviceTable } from './db/schema.js';

/** A sleeping board is not missed before it is this late. */
const LATE_MS = 60_000;

export type PresenceFields = Pick<DeviceTable, 'last_seen' | 'gateway_id' | 'presence'>;

/**
 * A device that dials in is online for 60 s after it was seen (statement 12). A board is what
 * its gateway says of it while the gateway's stream is attached, and unreachable without.
 */
export function presenceOf(ctx: HubContext, device: PresenceFields): PresenceView {
  if (device.gateway_id === null || ctx.tinyOnly) {
    const seen = device.last_seen ?? 0;
    const online = ctx.time.seconds() - seen < TINY_LIMITS.presentS;
    return { state: online ? 'online' : 'unreachable', since: seen * 1000 };
  }
  const told = readPresence(device.presence);
  const gone = ctx.streams.goneSince(device.gateway_id);
  if (gone !== undefined) {
    const since = told.state === 'unreachable' ? told.since : Math.max(gone, told.since);
    return { state: 'unreachable', since };
  }
  if (told.until !== undefined && ctx.time.ms() > told.until + LATE_MS) {
    return { state: 'unreachable', since: told.until };
  }
  return told;
}

export function readPresence(text: string | null): PresenceView {
  if (text === null) return { state: 'unreachable', since: 0 };
  return presenceSchema.parse(JSON.parse(text));
}
