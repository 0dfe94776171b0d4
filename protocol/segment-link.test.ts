import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../test/support/clock.js';
import { fromHex, toHex } from './identity.js';
import { SegmentLink, type SegmentLinkOptions } from './segment-link.js';

const content = (length: number, seed = 1): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => i * 31 + seed);

function end(more: Partial<SegmentLinkOptions> = {}) {
  const clock = new FakeClock();
  const sent: string[] = [];
  const messages: string[] = [];
  const broken: string[] = [];
  const link = new SegmentLink({
    clock,
    limit: 2_000,
    sendPacket: (packet) => void sent.push(toHex(packet)),
    message: (bytes) => void messages.push(toHex(bytes)),
    broken: (reason) => void broken.push(reason),
    ...more,
  });
  const taken = (): string[] => sent.splice(0);
  return { clock, link, sent, messages, broken, taken };
}

describe('a segment link', () => {
  it('hands over whole messages and credits them after a pause, once for a burst', async () => {
    const { link, clock, messages, taken } = end();
    link.packet(fromHex('c0aa'));
    await clock.advance(60);
    link.packet(fromHex('c1bb'));
    expect(messages).toEqual(['aa', 'bb']);
    await clock.advance(90);
    expect(taken()).toEqual([]);
    await clock.advance(10);
    expect(taken()).toEqual(['42']);
    await clock.advance(10_000);
    expect(taken()).toEqual([]);
    expect(clock.waiting).toBe(0);
  });

  it('credits at half of its window without a pause', async () => {
    const { link, clock, taken } = end({ rxWindow: 40 });
    link.packet(Uint8Array.of(0xc0, ...content(18)));
    expect(taken()).toEqual([]);
    link.packet(Uint8Array.of(0xc1, 1));
    expect(taken()).toEqual(['42']);
    await clock.advance(1_000);
    expect(taken()).toEqual([]);
  });

  it('repeats what gets no credit with growing pauses, then gives the link up', async () => {
    const { link, clock, taken, broken } = end();
    expect(link.send(fromHex('aa'))).toBe(true);
    expect(taken()).toEqual(['c0aa']);
    for (const pause of [1_500, 3_000, 6_000]) {
      await clock.advance(pause - 1);
      expect(taken()).toEqual([]);
      await clock.advance(1);
      expect(taken()).toEqual(['c0aa']);
    }
    await clock.advance(12_000);
    expect(broken).toEqual(['the peer stopped acknowledging segments']);
    expect(clock.waiting).toBe(0);
    expect(link.send(fromHex('bb'))).toBe(false);
    expect(link.counters).toMatchObject({ repeats: 3, shed: 1, messagesOut: 1 });
  });

  it('counts patience anew after each credit that frees something, and no other', async () => {
    const { link, clock, broken } = end({ repeats: 0 });
    link.send(fromHex('aa'));
    link.send(fromHex('bb'));
    await clock.advance(1_000);
    link.packet(fromHex('41'));
    await clock.advance(1_000);
    expect(broken).toEqual([]);
    link.packet(fromHex('41'));
    await clock.advance(500);
    expect(broken).toHaveLength(1);
  });

  it('is idle when all is credited, and sets no timer then', async () => {
    const { link, clock } = end();
    link.send(content(100));
    expect(link.idle).toBe(false);
    link.packet(fromHex('46'));
    expect(link.idle).toBe(true);
    expect(clock.waiting).toBe(0);
  });

  it('says NAK, says it again when nothing follows, and gives up', async () => {
    const { link, clock, taken, broken } = end();
    link.packet(fromHex('c1aa'));
    expect(taken()).toEqual(['00']);
    await clock.advance(1_500);
    expect(taken()).toEqual(['00']);
    link.packet(fromHex('c0bb'));
    await clock.advance(1_500);
    expect(taken()).toEqual(['41']);
    link.packet(fromHex('c3aa'));
    await clock.advance(22_500);
    expect(taken()).toHaveLength(4);
    expect(broken).toEqual(['the peer does not send again what was lost']);
    expect(link.counters).toMatchObject({ naksOut: 6, dropped: 2, messagesIn: 1 });
  });

  it('gives up when the peer refuses one message three times', () => {
    const { link, broken, taken } = end();
    link.send(content(50));
    for (let i = 0; i < 3; i++) link.packet(fromHex('01'));
    expect(broken).toEqual(['the peer refused one message three times']);
    expect(link.counters.naksIn).toBe(3);
    taken();
    link.packet(fromHex('c0aa'));
    expect(taken()).toEqual([]);
  });

  it('sends more as window and payload grow', () => {
    const { link, taken } = end();
    link.send(content(1_000));
    expect(taken()).toHaveLength(12);
    link.setWindow(300);
    expect(taken()).toHaveLength(3);
    link.setPayload(244);
    link.setWindow(1_000);
    expect(taken().map((hex) => hex.length / 2)).toEqual([244, 244]);
    link.setPayload(5);
    link.packet(fromHex('4c'));
    expect(taken()[0]).toHaveLength(40);
  });

  it('sheds and counts what finds too much waiting', () => {
    const { link, taken } = end({ maxWaiting: 1_000 });
    expect(link.send(content(1_200))).toBe(true);
    expect(link.send(content(100))).toBe(false);
    expect(link.counters.shed).toBe(1);
    expect(() => link.send(new Uint8Array())).toThrow('never empty');
    expect(taken()).toHaveLength(12);
  });

  it('gives up when a packet cannot be sent', () => {
    const { link, broken } = end({
      sendPacket: () => {
        throw new Error('no radio');
      },
    });
    link.send(fromHex('aa'));
    expect(broken).toEqual(['sending failed: no radio']);
  });

  it('takes an answer that comes while it sends', () => {
    const sent: number[] = [];
    const link: SegmentLink = new SegmentLink({
      clock: new FakeClock(),
      limit: 100,
      message: () => undefined,
      broken: (reason) => expect.fail(reason),
      sendPacket: (packet) => {
        sent.push((packet[0] ?? 0) & 63);
        link.packet(Uint8Array.of(0x40 | (((packet[0] ?? 0) + 1) & 63)));
      },
    });
    link.send(content(65_535));
    expect(sent).toHaveLength(Math.ceil((65_535 + 2) / 19));
    expect(sent).toEqual(sent.map((_, i) => i & 63));
    expect(link.idle).toBe(true);
  });

  it('says and calls nothing after it was closed', async () => {
    const { link, clock, sent, messages } = end();
    link.send(fromHex('aa'));
    link.packet(fromHex('c0bb'));
    link.close();
    link.packet(fromHex('c1bb'));
    await clock.advance(60_000);
    expect(sent).toEqual(['c0aa']);
    expect(messages).toEqual(['bb']);
  });

  it('delivers all messages in order and whole over a pipe that loses, cuts and delays', async () => {
    let closed = 0;
    let repeats = 0;
    let naks = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 20, max: 512 }),
        fc.integer({ min: 1, max: 2_000 }),
        fc.integer({ min: 0, max: 25 }),
        fc.infiniteStream(fc.nat({ max: 9_999 })),
        async (sizes, payload, rxWindow, lossPercent, dice) => {
          const clock = new FakeClock();
          const random = (): number => (dice.next().value as number) / 10_000;
          const got: [string[], string[]] = [[], []];
          const reasons: string[] = [];
          const free = [0, 0];
          const make = (me: 0 | 1): SegmentLink =>
            new SegmentLink({
              clock,
              payload,
              rxWindow,
              limit: 1_000,
              message: (bytes) => void got[me].push(toHex(bytes)),
              broken: (reason) => void reasons.push(reason),
              sendPacket: (packet) => {
                expect(packet.length).toBeLessThanOrEqual(payload);
                // Nothing is lost after a minute, so that all may end.
                const bad = clock.now() < 60_000 && random() * 100 < lossPercent;
                if (bad && random() < 0.7) return;
                // A cut message of one segment is whole again: that is for the seal to tell.
                const cut = bad && packet.length > 2 && (packet[0] ?? 0) < 0xc0;
                const arrives = cut ? packet.slice(0, -1) : packet.slice();
                // As the radio does: later or sooner, never out of order.
                const at = Math.max(free[me] ?? 0, clock.now() + random() * 80);
                free[me] = at;
                clock.after(at - clock.now(), () => both[me === 0 ? 1 : 0].packet(arrives));
              },
            });
          const both: [SegmentLink, SegmentLink] = [make(0), make(1)];
          const all = sizes.map((size, i) => content(size, i));
          for (const link of both) {
            link.setWindow(rxWindow);
            for (const message of all) link.send(message);
          }
          await clock.advance(300_000);
          const want = all.map(toHex);
          for (const side of got) {
            expect(side).toEqual(reasons.length > 0 ? want.slice(0, side.length) : want);
          }
          if (reasons.length === 0) expect(both.every((link) => link.idle)).toBe(true);
          closed += reasons.length > 0 ? 1 : 0;
          repeats += both[0].counters.repeats;
          naks += both[1].counters.naksOut;
          for (const link of both) link.close();
          expect(clock.waiting).toBe(0);
        },
      ),
      { numRuns: 150 },
    );
    // Both ends of it were seen: links that were given up, and losses that were mended.
    expect(closed).toBeGreaterThan(0);
    expect(closed).toBeLessThan(140);
    expect(repeats).toBeGreaterThan(0);
    expect(naks).toBeGreaterThan(0);
  });
});
