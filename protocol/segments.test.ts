import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameError } from './codec.js';
import { fromHex, toHex } from './identity.js';
import { controlOf, MAX_IN_FLIGHT, Reassembler, Segmenter } from './segments.js';

const content = (length: number, seed = 1): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => i * 31 + seed);

const open = { window: 1e6, limit: 65_535 };

function deliver(to: Reassembler, segments: Uint8Array[]): string[] {
  return segments.flatMap((s) => to.take(s).message ?? []).map(toHex);
}

describe('segments', () => {
  it.each([20, 21, 244, 512])('carry any size at a payload of %i', (payload) => {
    const sizes = [1, payload - 2, payload - 1, payload, payload + 1, 2 * payload, 3 * payload + 7];
    for (const size of sizes) {
      const from = new Segmenter({ payload, window: 1e6 });
      const segments = from.add(content(size));
      for (const s of segments) expect(s.length).toBeLessThanOrEqual(payload);
      expect(deliver(new Reassembler(open), segments)).toEqual([toHex(content(size))]);
      // One header byte each, and two of length where there are several.
      const sent = segments.reduce((n, s) => n + s.length, 0);
      expect(sent).toBe(size + segments.length + (segments.length > 1 ? 2 : 0));
    }
  });

  it('have the header of their place', () => {
    const from = new Segmenter({ payload: 20, window: 1e6 });
    expect(from.add(fromHex('aa')).map(toHex)).toEqual(['c0aa']);
    const three = from.add(content(40));
    expect(three.map((s) => toHex(s.subarray(0, 3)).slice(0, s[0] === 0x81 ? 6 : 2))).toEqual([
      '810028',
      '02',
      '43',
    ]);
  });

  it('arrive in order, each whole or not at all, whatever the link loses, repeats or cuts', () => {
    let restarts = 0;
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 20, max: 512 }),
        fc.integer({ min: 1, max: 2000 }),
        fc.infiniteStream(fc.nat({ max: 99 })),
        (sizes, payload, window, dice) => {
          const sent = sizes.map((size, i) => content(size, i));
          const from = new Segmenter({ payload, window });
          const to = new Reassembler({ window, limit: 65_535 });
          const got: string[] = [];
          const down: Uint8Array[] = [];
          const up: Uint8Array[] = sent.flatMap((m) => from.add(m));
          let faults = 8;
          for (let idle = 0; idle < 60 && from.unsettled > 0 && !from.closed; ) {
            const segment = up.shift();
            if (!segment) {
              // Silence: both callers' timers.
              idle++;
              const nak = to.nakAgain();
              down.push(nak ?? to.credit());
              if (idle % 2 === 0) up.push(...from.again());
            } else {
              const roll = faults > 0 ? (dice.next().value as number) : 99;
              if (roll < 15) faults--;
              if (roll < 6) continue;
              if (roll < 10) up.unshift(segment);
              // A packet of many bytes that was cut; whole messages are the codec's to check.
              const cut = roll >= 10 && roll < 15 && segment.length > 2 && (segment[0] ?? 0) < 0xc0;
              const { message, reply } = to.take(cut ? segment.subarray(0, -1) : segment);
              if (message) got.push(toHex(message));
              if (reply) down.push(reply);
            }
            for (const bytes of down.splice(0)) {
              if (faults > 0 && (dice.next().value as number) < 5) continue;
              const control = controlOf(bytes);
              if (!control) throw new Error('the receiver sends control only');
              if (control.kind === 'nak') restarts++;
              up.push(...from.take(control));
              expect(from.inFlight <= window || from.inFlight <= payload).toBe(true);
            }
          }
          const all = sent.map(toHex);
          // A link that was closed has delivered a start of them; an open one has delivered all.
          expect(got).toEqual(from.closed ? all.slice(0, got.length) : all);
        },
      ),
      { numRuns: 400 },
    );
    expect(restarts).toBeGreaterThan(50);
  });

  it('never splice: a second segment of four is lost and the next message follows', () => {
    const from = new Segmenter({ payload: 20, window: 1e6 });
    const four = from.add(content(70));
    const next = from.add(content(10, 9));
    expect(four).toHaveLength(4);
    const to = new Reassembler(open);
    const replies = [four[0], four[2], four[3], ...next].flatMap(
      (s) => to.take(s ?? new Uint8Array()).reply ?? [],
    );
    expect(replies.map(toHex)).toEqual(['01']);
    const nak = controlOf(replies[0] ?? new Uint8Array());
    expect(nak).toEqual({ kind: 'nak', number: 1 });
    const again = nak ? from.take(nak) : [];
    expect(deliver(to, again)).toEqual([toHex(content(70)), toHex(content(10, 9))]);
    expect(to.dropped).toBe(1);
  });

  it('close the link at the third NAK of one message', () => {
    const from = new Segmenter({ payload: 20, window: 1e6 });
    from.add(content(50));
    expect(from.take({ kind: 'nak', number: 1 })).not.toEqual([]);
    expect(from.take({ kind: 'nak', number: 1 })).not.toEqual([]);
    expect(from.take({ kind: 'nak', number: 1 })).toEqual([]);
    expect(from.closed).toBe(true);
    expect(from.add(content(5))).toEqual([]);
  });

  it('wait for credit, in bytes and in segments', () => {
    const from = new Segmenter({ payload: 20, window: 45 });
    expect(from.add(content(200)).map((s) => s.length)).toEqual([20, 20]);
    expect(from.take({ kind: 'credit', number: 0 })).toEqual([]);
    expect(from.take({ kind: 'credit', number: 1 })).toHaveLength(1);
    expect(from.take({ kind: 'credit', number: 40 })).toEqual([]);
    from.window = 1e6;
    expect(from.pump().length).toBeGreaterThan(5);
    const many = new Segmenter({ payload: 20, window: 1e6 });
    expect(many.add(content(2000))).toHaveLength(MAX_IN_FLIGHT);
  });

  it('go on with a new payload in the middle of a message', () => {
    const from = new Segmenter({ payload: 20, window: 60 });
    const to = new Reassembler(open);
    const got = deliver(to, from.add(content(300)));
    from.payload = 244;
    from.window = 1e6;
    got.push(...deliver(to, from.pump()));
    expect(got).toEqual([toHex(content(300))]);
  });

  it.each([
    ['a middle segment outside a message', ['00aa']],
    ['a last segment outside a message', ['40aa']],
    ['a lone first', ['80']],
    ['a lone whole', ['c0']],
    ['a first without content', ['800010']],
    ['a first that holds all of its message', ['800002aabb']],
    ['a message above the limit', ['80ffffaa']],
    ['a first inside a message', ['800010aa', '81000aaa']],
    ['a length overrun', ['800003aa', '01bbccdd']],
    ['a last segment that comes too early', ['800009aa', '41bb']],
    ['a gap', ['c1aa']],
  ])('answer a fault with one NAK: %s', (_, hex) => {
    const to = new Reassembler({ window: 1e6, limit: 100 });
    const steps = hex.map((h) => to.take(fromHex(h)));
    const expected = hex.length - 1;
    expect(steps.at(-1)).toEqual({ reply: Uint8Array.of(expected) });
    expect(to.dropped).toBe(1);
    // Nothing but that number, as a first segment, is taken afterwards.
    expect(to.take(Uint8Array.of(expected + 1, 1, 1))).toEqual({});
    expect(to.take(Uint8Array.of(0xc0 | expected, 7)).message).toEqual(Uint8Array.of(7));
  });

  it('tell control by its length', () => {
    expect(controlOf(fromHex('05'))).toEqual({ kind: 'nak', number: 5 });
    expect(controlOf(fromHex('7f'))).toEqual({ kind: 'credit', number: 63 });
    for (const hex of ['', '0501', '80', 'c0', 'ff'])
      expect(controlOf(fromHex(hex))).toBeUndefined();
  });

  it('refuse messages that are empty or longer than 65,535 bytes', () => {
    const from = new Segmenter({ payload: 512 });
    expect(() => from.add(new Uint8Array(65_536))).toThrow(FrameError);
    expect(() => from.add(new Uint8Array(0))).toThrow(FrameError);
    expect(() => new Segmenter({ payload: 19 })).toThrow(FrameError);
  });

  it('take any bytes without an exception', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 24 }), { maxLength: 40 }), (segments) => {
        const to = new Reassembler({ limit: 200 });
        for (const s of segments) {
          const { message } = to.take(s);
          if (message) expect(message.length).toBeLessThanOrEqual(200);
        }
      }),
    );
  });
});
