import { sha256 } from '@noble/hashes/sha2.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlobReceiver, BlobSender } from './blob.js';
import { BLOB_STATUS, type Message, type MessageOf } from './messages.js';

const content = (size: number): Uint8Array => Uint8Array.from({ length: size }, (_, i) => i * 7);

function sender(size: number, chunk: number): BlobSender {
  return new BlobSender({
    id: 3,
    bytes: content(size),
    mediaType: 'image/png',
    purpose: 'snapshot',
    chunk,
  });
}

const opened = (size: number): MessageOf<'blobOpen'> =>
  sender(size, 10).open() as MessageOf<'blobOpen'>;
const data = (offset: number, length: number): Message => ({
  type: 'blobData',
  blobId: 3,
  offset,
  bytes: content(offset + length).subarray(offset),
});
const done = (status: keyof typeof BLOB_STATUS): Message => ({
  type: 'blobDone',
  blobId: 3,
  status: BLOB_STATUS[status],
});

describe('a blob', () => {
  it('arrives whole over a link that loses, repeats and cuts, within its window', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 3000 }),
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: 1, max: 1000 }),
        fc.infiniteStream(fc.nat({ max: 99 })),
        (size, chunk, window, dice) => {
          const from = sender(size, chunk);
          const kept = new Uint8Array(size);
          let to: BlobReceiver | undefined;
          let bad = 30;
          const up: Message[] = [from.open()];
          for (let step = 0; step < 40_000 && !from.ended; step++) {
            const message = up.shift();
            if (!message) {
              // Silence: the sender asks again, as it does on a new connection.
              up.push(from.open());
              continue;
            }
            const roll = bad > 0 ? (dice.next().value as number) : 99;
            if (roll < 15) {
              bad--;
              if (roll < 5) continue;
              if (roll < 10) up.unshift(message);
              else if (to && !to.ended) {
                const at = to.next;
                to = new BlobReceiver(opened(size), { window, maxSize: size, at });
                up.length = 0;
                up.push(from.open());
                continue;
              }
            }
            if (message.type === 'blobOpen' && !to) {
              to = new BlobReceiver(message, { window, maxSize: size });
            }
            const { reply, write, closed } = to?.take(message) ?? { reply: [] };
            if (write) kept.set(write.bytes, write.offset);
            for (const answer of reply) up.push(...from.take(answer));
            if (closed) from.take(done('stored'));
            // BLOB_CLOSE again, after the end: the keeper of finished blobs answers it.
            else if (to?.ended && message.type !== 'blobDone') from.take(done('stored'));
          }
          expect(from.status).toBe('stored');
          expect(kept).toEqual(content(size));
        },
      ),
      { numRuns: 150 },
    );
  });

  it('is sent up to the window and not a byte beyond', () => {
    const from = sender(100, 30);
    from.open();
    const first = from.take({ type: 'blobAck', blobId: 3, nextOffset: 0, windowEnd: 70 });
    expect(first.map((m) => (m.type === 'blobData' ? [m.offset, m.bytes.length] : m.type))).toEqual(
      [
        [0, 30],
        [30, 30],
        [60, 10],
      ],
    );
    const rest = from.take({ type: 'blobAck', blobId: 3, nextOffset: 70, windowEnd: 100 });
    expect(rest.at(-1)).toEqual({ type: 'blobClose', blobId: 3, sha256: sha256(content(100)) });
    expect(from.status).toBe('sent');
  });

  it('goes on at the offset that was kept before a cut', () => {
    const to = new BlobReceiver(opened(100), { window: 50, maxSize: 100, at: 40 });
    expect(to.take(opened(100)).reply).toEqual([
      { type: 'blobAck', blobId: 3, nextOffset: 40, windowEnd: 90 },
    ]);
    expect(to.take(data(40, 10)).write).toEqual({ offset: 40, bytes: content(50).subarray(40) });
  });

  it('is refused when the same id comes with another content', () => {
    const to = new BlobReceiver(opened(100), { window: 50, maxSize: 200, at: 40 });
    expect(to.take(opened(101)).reply).toEqual([done('refused')]);
    expect(to.take(data(40, 10))).toEqual({ reply: [] });
  });

  it('is refused when it is too large, ends when bytes go beyond the window', () => {
    expect(new BlobReceiver(opened(9), { window: 5, maxSize: 8 }).take(opened(9)).reply).toEqual([
      done('tooLarge'),
    ]);
    const to = new BlobReceiver(opened(100), { window: 50, maxSize: 100 });
    to.take(opened(100));
    expect(to.take(data(0, 51)).reply).toEqual([done('aborted')]);
  });

  it('says where to go on, once, when bytes are missing in the middle or at the end', () => {
    const to = new BlobReceiver(opened(100), { window: 100, maxSize: 100 });
    to.take(opened(100));
    to.take(data(0, 10));
    const again = { type: 'blobAck', blobId: 3, nextOffset: 10, windowEnd: 100 };
    expect(to.take(data(20, 10)).reply).toEqual([again, again]);
    expect(to.take(data(30, 10)).reply).toEqual([]);
    to.take(data(10, 10));
    const close: Message = { type: 'blobClose', blobId: 3, sha256: sha256(content(100)) };
    expect(to.take(close).reply[0]).toEqual({ ...again, nextOffset: 20 });
  });

  it('ends with badHash when the content is not what was announced', () => {
    const to = new BlobReceiver(opened(10), { window: 10, maxSize: 10, hash: sha256.create() });
    to.take(opened(10));
    to.take({ type: 'blobData', blobId: 3, offset: 0, bytes: new Uint8Array(10) });
    const close: Message = { type: 'blobClose', blobId: 3, sha256: sha256(content(10)) };
    expect(to.take(close).reply).toEqual([done('badHash')]);
    const other = new BlobReceiver(opened(0), { window: 10, maxSize: 10 });
    other.take(opened(0));
    expect(other.take({ ...close, sha256: sha256(content(1)) }).reply).toEqual([done('badHash')]);
  });

  it('tells the sender how it ended, and is given up on an impossible answer', () => {
    for (const end of Object.keys(BLOB_STATUS) as (keyof typeof BLOB_STATUS)[]) {
      const from = sender(5, 5);
      from.open();
      from.take(done(end));
      expect(from.status).toBe(end);
      expect(from.take({ type: 'blobAck', blobId: 3, nextOffset: 0, windowEnd: 5 })).toEqual([]);
    }
    const from = sender(5, 5);
    from.open();
    expect(from.take({ type: 'blobAck', blobId: 3, nextOffset: 6, windowEnd: 9 })).toEqual([
      done('aborted'),
    ]);
  });
});
