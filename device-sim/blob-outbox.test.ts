import { describe, expect, it } from 'vitest';
import { BlobReceiver } from '../protocol/blob.js';
import { BLOB_STATUS, type Message } from '../protocol/messages.js';
import { bench, type Peer } from './testing/peer.js';

const PICTURE = Uint8Array.from({ length: 20_000 }, (_, i) => (i * 7) & 0xff);

function camera() {
  const made = bench(() => ({
    name: 'Eye',
    platform: 'test',
    firmware: '1',
    verbs: [
      {
        name: 'snapshot',
        signature: '',
        description: '',
        run: async (_, ctx) => {
          await ctx.blob({ bytes: PICTURE, mediaType: 'image/png', purpose: 'snapshot' });
          return { bytes: PICTURE.length };
        },
      },
    ],
  }));
  made.board.start();
  made.peer.welcome({ maxMessage: 1_024 });
  made.peer.sent = [];
  return made;
}

/** Receives blobs as a gateway does; stops answering after `limit` bytes, as a cut would. */
class Inbox {
  readonly bytes = new Uint8Array(PICTURE.length);
  received = 0;
  readonly #peer: Peer;
  #receiver: BlobReceiver | undefined;
  #kept = 0;

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  pump(limit = Number.POSITIVE_INFINITY): void {
    for (let next = this.#peer.sent.shift(); next; next = this.#peer.sent.shift()) {
      this.#take(next);
      if (this.received >= limit) return;
    }
  }

  #take(message: Message): void {
    if (message.type === 'blobOpen') {
      this.#receiver = new BlobReceiver(message, { window: 4_096, maxSize: 1e6, at: this.#kept });
    }
    const step = this.#receiver?.take(message);
    if (step?.write) {
      this.bytes.set(step.write.bytes, step.write.offset);
      this.received += step.write.bytes.length;
      this.#kept = step.write.offset + step.write.bytes.length;
    }
    for (const reply of step?.reply ?? []) this.#peer.say(reply);
    if (step?.closed && message.type === 'blobClose') {
      this.#peer.say({ type: 'blobDone', blobId: message.blobId, status: BLOB_STATUS.stored });
    }
  }
}

describe('a snapshot', () => {
  it('travels as a blob that names its call; the result comes after it is stored', async () => {
    const { peer, settle } = camera();
    peer.call(100, 0);
    await settle();
    expect(peer.take('ack')).toHaveLength(1);
    expect(peer.sent).toMatchObject([
      { type: 'blobOpen', callId: 100, size: 20_000, mediaType: 'image/png', purpose: 'snapshot' },
    ]);
    const inbox = new Inbox(peer);
    inbox.pump();
    expect(inbox.bytes).toEqual(PICTURE);
    await settle();
    expect(peer.take('result')).toMatchObject([{ callId: 100, value: { bytes: 20_000 } }]);
  });

  it('goes on after a cut where the gateway left off', async () => {
    const { peer, settle } = camera();
    peer.call(100, 0);
    await settle();
    const inbox = new Inbox(peer);
    inbox.pump(9_000);
    expect(inbox.received).toBeGreaterThanOrEqual(9_000);
    peer.cut();
    peer.sent = [];
    peer.connect();
    peer.welcome({ session: 8, maxMessage: 1_024 });
    inbox.pump();
    await settle();
    expect(inbox.bytes).toEqual(PICTURE);
    expect(inbox.received).toBe(PICTURE.length);
    expect(peer.take('result')).toHaveLength(1);
  });

  it('is offered again when the gateway falls silent', async () => {
    const { peer, clock } = camera();
    peer.call(100, 0);
    await clock.pass(16_000);
    expect(peer.take('blobOpen').length).toBeGreaterThanOrEqual(3);
  });

  it('that arrives damaged is sent again, a few times, and then the call fails', async () => {
    const { peer, clock } = camera();
    peer.call(100, 0);
    await clock.pass(10);
    for (let i = 0; i < 4; i++) {
      expect(peer.take('blobOpen').length).toBe(1);
      peer.say({ type: 'blobDone', blobId: 1, status: BLOB_STATUS.badHash });
      await clock.pass(10);
    }
    expect(peer.take('failure')).toMatchObject([{ callId: 100, code: 'blob_failed' }]);
  });

  it('that is too large fails at once with that reason', async () => {
    const { peer, settle } = camera();
    peer.call(100, 0);
    await settle();
    peer.say({ type: 'blobDone', blobId: 1, status: BLOB_STATUS.tooLarge });
    await settle();
    expect(peer.take('failure')).toMatchObject([{ callId: 100, code: 'blob_too_large' }]);
  });

  it('is dropped when its call is cancelled, and the gateway is told', async () => {
    const { board, peer, settle } = camera();
    peer.call(100, 0);
    await settle();
    peer.say({ type: 'cancel', callId: 100 });
    await settle();
    expect(peer.take('blobDone')).toMatchObject([{ blobId: 1, status: BLOB_STATUS.aborted }]);
    expect(peer.take('failure')).toMatchObject([{ callId: 100, code: 'cancelled' }]);
    expect(board.session?.blobs.size).toBe(0);
  });

  it('is not moved by acknowledgements that make no sense', async () => {
    const { board, peer, clock } = camera();
    peer.call(100, 0);
    await clock.pass(10);
    peer.say({ type: 'blobAck', blobId: 1, nextOffset: 4_000_000, windowEnd: 4_000_001 });
    peer.say({ type: 'blobAck', blobId: 77, nextOffset: 0, windowEnd: 10 });
    await clock.pass(10);
    expect(board.session?.blobs.size).toBe(1);
    expect(peer.take('blobOpen').length).toBeGreaterThanOrEqual(2);
  });
});
