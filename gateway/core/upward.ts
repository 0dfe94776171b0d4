/**
 * What a board sends for the world above: kept in the journal first, then acknowledged
 * (house.md "Delivery" 5 and 6). The same item again is acknowledged and dropped.
 */
import type { BoardCatalog } from '../../protocol/catalog.js';
import type { Value } from '../../protocol/kinds.js';
import type { Message, MessageOf } from '../../protocol/messages.js';
import type { Journal } from './journal.js';
import { namedReadings } from './readings.js';
import type { BoardId, Clock, UpItem } from './types.js';

export type UpMessage =
  | MessageOf<'event'>
  | MessageOf<'transcript'>
  | MessageOf<'taskResult'>
  | MessageOf<'storedReadings'>
  | MessageOf<'ask'>
  | MessageOf<'mail'>;

/** The item that a message becomes. `bootId` 0 in a message means the present boot. */
export function upItem(
  message: UpMessage,
  board: { id: BoardId; bootId: number; catalog: BoardCatalog | undefined },
  clock: Clock,
): UpItem {
  const bootId = message.bootId || board.bootId;
  const ageMs = 'ageMs' in message ? (message.ageMs ?? 0) : 0;
  const base = { boardId: board.id, bootId, at: Math.max(0, Math.round(clock.wall() - ageMs)) };
  switch (message.type) {
    case 'event':
      return {
        ...base,
        kind: 'event',
        seq: message.seq,
        body: { kind: message.kind, detail: message.detail },
      };
    case 'transcript': {
      const { text, label, durationS, blobId } = message;
      return {
        ...base,
        kind: 'transcript',
        seq: message.seq,
        body: {
          text,
          ...(label === undefined ? {} : { label }),
          ...(durationS === undefined ? {} : { durationS }),
          ...(blobId === undefined ? {} : { blobId }),
        },
      };
    }
    case 'taskResult': {
      const { taskId, summary, result } = message;
      return { ...base, kind: 'task_result', seq: message.seq, body: { taskId, summary, result } };
    }
    case 'storedReadings': {
      const values = board.catalog ? namedReadings(message.values, board.catalog) : {};
      return { ...base, kind: 'readings', seq: message.seq, body: { values } };
    }
    case 'ask': {
      const question: Record<string, Value> = Array.isArray(message.question)
        ? { blobId: message.question[0] ?? 0 }
        : { text: message.question };
      return {
        ...base,
        kind: 'ask',
        seq: message.askId,
        body: { askId: message.askId, ...question },
      };
    }
    case 'mail': {
      const { mailId, op, args } = message;
      return { ...base, kind: 'mail', seq: mailId, body: { mailId, op, args } };
    }
  }
}

/** Keeps the item; answers STORED when it is durable. Resolves to whether it was new. */
export async function keepUp(
  journal: Journal,
  item: UpItem,
  message: UpMessage,
  send: (message: Message) => void,
): Promise<boolean> {
  const isNew = await journal.keep(item);
  if ('seq' in message) send({ type: 'stored', bootId: message.bootId, seq: message.seq });
  return isNew;
}
