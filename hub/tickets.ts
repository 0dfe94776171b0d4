/** Results that a device deposits unasked, redeemed by their ticket (wire document, part A3). */
import { cutText, TINY_LIMITS, taskPayload, taskTicket } from '../protocol/tiny.js';
import type { Sync } from '../store/index.js';
import type { DeviceRow } from './devices.js';
import { keepEvent, type StoredEvent } from './events.js';
import { deposit } from './mailbox.js';

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
): { ticket: string; event: StoredEvent | undefined } {
  const ticket = taskTicket(device.id, said.taskId);
  if (!deposit(w, device, ticket, taskPayload(said.result), ms)) {
    return { ticket, event: undefined };
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
  return { ticket, event };
}
