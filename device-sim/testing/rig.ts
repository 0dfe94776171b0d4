/** A model on a board with a peer: calls by name, answers as they come. */
import type { Value } from '../../protocol/kinds.js';
import type { Message, MessageOf } from '../../protocol/messages.js';
import { packArgs } from '../../protocol/signature.js';
import { createSimBoard, type SimBoardInput } from '../create.js';
import { memoryStore } from '../stores.js';
import { BOARD_ID, Peer } from './peer.js';
import { seededRandom, VirtualClock } from './virtual-clock.js';

export type Answer = MessageOf<'result'> | MessageOf<'failure'>;

export function rig(model: SimBoardInput['model'], more: Partial<SimBoardInput> = {}) {
  const clock = new VirtualClock();
  const peer = new Peer();
  const board = createSimBoard({
    model,
    name: 'Kitchen',
    boardId: BOARD_ID,
    key: new Uint8Array(16).fill(7),
    transport: peer,
    clock,
    store: memoryStore(),
    random: seededRandom(42),
    ...more,
  });
  board.start();
  peer.welcome();
  let callId = 100;
  const made = {
    board,
    peer,
    clock,
    /** Sends a call and answers its id. */
    send(verb: string, args: Record<string, unknown> = {}, ttlMs = 30_000): number {
      const index = board.firmware?.verbs.findIndex((v) => v.name === verb) ?? -1;
      const signature = board.firmware?.signatures[index];
      if (!signature) throw new Error(`no verb ${verb}`);
      const id = callId++;
      const packed = packArgs(signature, args);
      peer.call(id, index, [], { args: packed, ttlMs });
      return id;
    },
    /** What the board answered to a call so far. */
    answer(id: number): Answer | undefined {
      const all = peer.sent.filter(
        (m: Message): m is Answer => m.type === 'result' || m.type === 'failure',
      );
      return all.find((m) => m.callId === id);
    },
    /** A call whose answer comes within a turn of the loop; snapshots are stored as they come. */
    async call(verb: string, args: Record<string, unknown> = {}): Promise<Value> {
      const id = made.send(verb, args);
      for (let i = 0; i < 50 && !made.answer(id); i++) await turn();
      const answer = made.answer(id);
      peer.sent = peer.sent.filter((m) => m !== answer);
      peer.say({ type: 'settled', callId: id });
      if (answer?.type === 'result') return answer.value;
      throw new Error(answer ? `${answer.code}: ${answer.message}` : 'no answer came');
    },
    /** Takes the blob that a call sends, and says that it is stored. */
    async blob(
      verb: string,
    ): Promise<{ bytes: Uint8Array; open: MessageOf<'blobOpen'>; value: Value }> {
      const id = made.send(verb);
      for (let i = 0; i < 50 && !peer.sent.some((m) => m.type === 'blobOpen'); i++) await turn();
      const [open] = peer.take('blobOpen');
      if (!open) throw new Error('no blob came');
      peer.say({ type: 'blobAck', blobId: open.blobId, nextOffset: 0, windowEnd: open.size });
      const bytes = new Uint8Array(open.size);
      for (const part of peer.take('blobData')) bytes.set(part.bytes, part.offset);
      peer.say({ type: 'blobDone', blobId: open.blobId, status: 0 });
      await turn();
      const answer = made.answer(id);
      if (answer?.type !== 'result') throw new Error('the call did not end');
      return { bytes, open, value: answer.value };
    },
  };
  return made;
}

/** One turn of the event loop, for decoders that answer from outside. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
