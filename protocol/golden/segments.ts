/** Segments: how messages are cut, and what a receiver says to what comes. */
import { fromHex, toHex } from '../identity.js';
import { controlOf, Reassembler, Segmenter } from '../segments.js';
import { count, vectorFile } from './form.js';

const PAYLOADS = [20, 21, 244, 512];

function cuts(): unknown[] {
  const out: unknown[] = [];
  for (const payload of PAYLOADS) {
    for (const size of [1, payload - 2, payload - 1, payload, payload + 1, 2 * payload + 1]) {
      const from = new Segmenter({ payload, window: 1e6 });
      const message = count(size, size);
      out.push({ payload, message: toHex(message), segments: from.add(message).map(toHex) });
    }
  }
  return out;
}

/** Numbers over their wrap: 70 messages of one byte. */
function wrap(): unknown[] {
  const from = new Segmenter({ payload: 20, window: 1e6 });
  const headers: string[] = [];
  for (let i = 0; i < 70; i++) {
    headers.push(...from.add(Uint8Array.of(i)).map((s) => toHex(s.subarray(0, 1))));
    from.take({ kind: 'credit', number: (i + 1) & 63 });
  }
  return [{ meaning: '70 messages of one byte, each credited: the headers', headers }];
}

const SCRIPTS: [string, string[]][] = [
  ['two whole messages', ['c0aa', 'c1bb']],
  ['a message of three segments', ['800005aa', '01bbcc', '42ddee']],
  ['the same segment twice is passed over, with a CREDIT', ['c0aa', 'c0aa', 'c1bb']],
  [
    'the second of three is lost, the next message follows, both come again',
    ['800005aa', '42ddee', 'c3ff', '810005aa', '02bbcc', '43ddee', 'c4ff'],
  ],
  ['the first segment of a connection is lost', ['c1aa', 'c0aa', 'c1bb']],
  ['a first inside an unfinished message', ['800005aa', '810005bb', 'c1cc']],
  ['a length overrun', ['800003aa', '01bbccdd', 'c1ee']],
  ['a last that comes too early', ['800009aa', '41bb', 'c1cc']],
  ['a middle without a beginning', ['00aa', 'c0bb']],
  ['a last without a beginning', ['40aa', 'c0bb']],
  ['a first without content', ['800010', 'c0bb']],
  ['a whole message without content', ['c0', 'c0bb']],
  ['a first that holds all of its message', ['800002aabb', 'c0bb']],
  ['a message above the limit', ['80ffffaa', 'c0bb']],
  [
    'half of the window is used up',
    [`c0${'aa'.repeat(19)}`, `c1${'bb'.repeat(19)}`, `c2${'cc'.repeat(19)}`, `c3${'dd'.repeat(3)}`],
  ],
];

function receives(): unknown[] {
  return SCRIPTS.map(([meaning, segments]) => {
    const to = new Reassembler({ window: 100, limit: 1000 });
    const steps = segments.map((segment) => {
      const { message, reply } = to.take(fromHex(segment));
      return {
        in: segment,
        ...(message ? { message: toHex(message) } : {}),
        ...(reply ? { reply: toHex(reply) } : {}),
      };
    });
    return { meaning, window: 100, limit: 1000, steps };
  });
}

/** A sender of two messages at payload 20 that hears control segments. */
const SENDERS: [string, number, string[]][] = [
  ['NAK of the second segment: the message and the one after it start again there', 1000, ['01']],
  ['NAK of the first', 1000, ['00']],
  ['NAK of the second message', 1000, ['04']],
  ['the same NAK three times closes the link', 1000, ['01', '01', '01']],
  ['a CREDIT opens a small window', 45, ['40', '42', '43']],
  ['a NAK and a CREDIT of numbers that are not under way', 1000, ['3f', '7f']],
];

function sends(): unknown[] {
  return SENDERS.map(([meaning, window, controls]) => {
    const from = new Segmenter({ payload: 20, window });
    const messages = [count(0, 70), count(0x80, 10)];
    const first = messages.flatMap((m) => from.add(m)).map(toHex);
    const steps = controls.map((hex) => {
      const control = controlOf(fromHex(hex));
      if (!control) throw new Error(`${hex} is no control segment`);
      const sent = from.take(control).map(toHex);
      return { in: hex, ...control, sent, closed: from.closed };
    });
    return { meaning, payload: 20, window, messages: messages.map(toHex), first, steps };
  });
}

export function segmentVectors(): string {
  return vectorFile(
    [
      'Segments (segment-form.ts). cuts: a new sender at this payload sends message so. wrap: numbers go from 63 to 0.',
      'receives: a new receiver of this window and limit takes each segment; message is what is then whole, reply the control segment that it sends.',
      'sends: a new sender gets messages and sends first; then it hears each control segment and sends what stands there.',
    ],
    { cuts: cuts(), wrap: wrap(), receives: receives(), sends: sends() },
  );
}
