/** Items of the journal as the own hub's gateway routes take them. */
import type { z } from 'zod';
import type { upItem } from '../../../protocol/gateway-api.js';
import type { Value } from '../../../protocol/kinds.js';
import type { Presence, UpItem } from '../../core/types.js';
import { plainJson } from '../prompt/plain.js';

type UpBody = z.infer<typeof upItem>;
/** An item before it gets its number, which happens when it is sent. */
export type Unnumbered = UpBody extends infer U
  ? U extends UpBody
    ? Omit<U, 'seq'>
    : never
  : never;

/**
 * `ask` and `mail` have their own routes; here they would be an event. `audioUrl` is where the
 * recording of a transcript is hosted.
 */
export function upBody(item: UpItem, device_id: string, audioUrl?: string): Unnumbered {
  const base = { device_id, at: Math.max(0, Math.round(item.at)) };
  const numbers = { boot: item.bootId, board_seq: item.seq };
  const { body } = item;
  switch (item.kind) {
    case 'transcript': {
      const { label, durationS } = body;
      return {
        ...base,
        ...numbers,
        kind: 'transcript',
        text: textOf(body.text),
        ...(typeof label === 'string' ? { label } : {}),
        ...(typeof durationS === 'number' ? { durationS } : {}),
        ...(audioUrl === undefined ? {} : { audioUrl }),
      };
    }
    case 'task_result': {
      const result = plainJson(body.result);
      const summary = textOf(body.summary);
      return {
        ...base,
        ...numbers,
        kind: 'task_result',
        taskId: textOf(body.taskId),
        summary,
        result,
      };
    }
    case 'readings':
      return { ...base, kind: 'readings', values: objectOf(body.values), stored: true };
    default: {
      const detail = plainJson(body.detail);
      return { ...base, ...numbers, kind: 'event', event: textOf(body.kind) || item.kind, detail };
    }
  }
}

/** Whole milliseconds, as the schema wants them. */
export function presenceOf(presence: Presence): Presence {
  const since = Math.max(0, Math.round(presence.since));
  return presence.state === 'asleep'
    ? { state: 'asleep', since, until: Math.max(0, Math.round(presence.until)) }
    : { state: presence.state, since };
}

export function textOf(value: Value | undefined): string {
  return typeof value === 'string' ? value : '';
}

function objectOf(value: Value | undefined): Record<string, unknown> {
  const plain = plainJson(value);
  return typeof plain === 'object' && plain !== null && !Array.isArray(plain)
    ? (plain as Record<string, unknown>)
    : {};
}
