/** Results that a device deposits unasked, redeemed by their ticket (wire document, part A3). */
import { BATCH_TICKET, cutText, TINY_LIMITS, taskPayload, taskTicket } from '../protocol/tiny.js';
import type { Sync } from '../store/index.js';
import type { HubContext } from './context.js';
import type { DeviceRow } from './devices.js';
import { keepEvent, type StoredEvent } from './events.js';
import { deposit } from './mailbox.js';
import { type Notice, redeemUrl } from './notices.js';
import { ownerById } from './owners.js';
import { Refusal } from './refusal.js';

export interface NewResult {
  taskId: string;
  summary?: string | undefined;
  result: unknown;
}

/**
 * Part of a write. The same task again changes nothing and is announced once: the earliest
 * result is the one that is read.
 */
export function keepResult(
  w: Sync,
  device: DeviceRow,
  said: NewResult,
  ms: number,
): { ticket: string; told: { event: StoredEvent; notice: Notice } | undefined } {
  const ticket = taskTicket(device.id, said.taskId);
  const by = { ownerId: device.owner_id, deviceId: device.id, gatewayId: device.gateway_id };
  if (!deposit(w, by, ticket, taskPayload(said.result), ms)) {
    return { ticket, told: undefined };
  }
  const name = cutText(device.name, TINY_LIMITS.eventName);
  const summary = cutText(said.summary ?? `task ${said.taskId} is done`, TINY_LIMITS.taskSummary);
  const event = keepEvent(w, {
    ownerId: device.owner_id,
    device,
    kind: 'device_task_result',
    detail: `${name}: ${summary} (ticket ${ticket})`,
    at: ms,
  });
  const notice = {
    title: `💻 ${name} finished`,
    body: summary,
    tag: `task-result-${ticket}`,
    url: redeemUrl(ticket),
  };
  return { ticket, told: { event, notice } };
}

/**
 * For what runs in the hub's own process alone (statement 76): no route leads here, and a device's
 * tickets all begin with `task_`. False where the ticket had its result already.
 */
export function depositBatch(
  ctx: HubContext,
  ownerId: string,
  ticket: string,
  result: unknown,
): Promise<boolean> {
  const ms = ctx.time.ms();
  return ctx.db.write((w) => {
    if (!BATCH_TICKET.test(ticket) || !ownerById.get(w, { id: ownerId })) {
      throw new Refusal(400, 'userId and a batch_* ticket required');
    }
    const by = { ownerId, deviceId: null, gatewayId: null };
    return deposit(w, by, ticket, taskPayload(result), ms);
  });
}
