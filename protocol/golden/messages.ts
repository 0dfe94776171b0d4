/** Every message, the frames around them, and messages that are wrong in one place. */
import { decodeMessage, encodeMessage, FrameError } from '../codec.js';
import { plainFrame, readFrame, SEAL } from '../frame.js';
import { fromHex, toHex } from '../identity.js';
import { messageToJson } from '../json-form.js';
import { codeOf, hexOf, prefixErrors, vectorFile } from './form.js';
import { EXAMPLES } from './message-examples.js';

/** Messages that a newer peer may send, and what this version reads. */
const NEWER: [string, string][] = [
  ['an ACK with more items', '84060102f6'],
  ['a BEAT with an unknown key', '83040ca2011832182805'],
  ['a BEAT with an item after the map', '84040ca101183263616263'],
  ['a BEAT with an empty map', '83040ca0'],
  ['a reading definition with more items', '850380818661746143000163666f6fa00001'],
];

const BAD: [string, string][] = [
  ['no list', '04'],
  ['an empty list', '80'],
  ['a map', 'a10401'],
  ['a negative id', '8120'],
  ['an id that is text', '816462656174'],
  ['an unknown id', '8118c8'],
  ['id 0', '8100'],
  ['an id of 64 bits', '811b0000000100000000'],
  ['a BEAT without its field', '8104'],
  ['a BEAT with null', '8204f6'],
  ['a BEAT with text', '82046161'],
  ['a BEAT with a half float', '8204f93e00'],
  ['a BEAT with a negative number', '820420'],
  ['a BEAT beyond 32 bits', '82041b0000000100000000'],
  ['a battery of 101 percent', '83040ca1011865'],
  ['a list where the map should stand', '83040c80'],
  ['text keys where integer keys should stand', '83040ca1616101'],
  ['a call id of 0', '820600'],
  ['a RESULT with status 2', '8408010200'],
  ['a RESULT without value', '83080100'],
  ['a board id of 7 bytes', '82181f4700112233445566'],
  ['a CALL whose arguments have text keys', '8605010100a161610100'],
  ['a code of 65 bytes', `850801017841${'61'.repeat(65)}60`],
  ['a code of 33 characters that are 66 bytes', `850801017842${'c3a4'.repeat(33)}60`],
  ['257 readings', `820b990101${'00'.repeat(257)}`],
  ['a catalog with a signature that is a number', '850381846161010060800001'],
];

function bad(): unknown[] {
  return BAD.map(([meaning, hex]) => {
    try {
      decodeMessage(fromHex(hex));
    } catch (error) {
      if (error instanceof FrameError) return { meaning, hex, error: error.code, id: error.id };
      throw error;
    }
    throw new Error(`${meaning} was taken`);
  });
}

/** Frames at their limit, and those with a seal byte that is none. */
function frames(): unknown[] {
  const out: unknown[] = [];
  for (const limit of [60, 1024]) {
    for (const length of [limit - 1, limit, limit + 1]) {
      const head = plainFrame({ type: 'mailReply', mailId: 1, ok: true, value: '' }).length;
      const text = 'a'.repeat(length - head - (length - head - 1 < 256 ? 1 : 2));
      const bytes = plainFrame({ type: 'mailReply', mailId: 1, ok: true, value: text });
      const error = codeOf(() => readFrame(bytes, limit));
      const meaning = `a frame of ${bytes.length} bytes where ${limit} are taken`;
      out.push({ meaning, hex: hexOf(bytes, bytes.length - text.length), limit, seal: 0, error });
    }
  }
  for (const hex of ['', '00', '01', '0304', 'ff00', '8204']) {
    const error = codeOf(() => readFrame(fromHex(hex)));
    out.push({ meaning: 'no frame', hex, error });
  }
  for (const [name, seal] of Object.entries(SEAL)) {
    out.push({ meaning: `seal byte of ${name}`, hex: `0${seal}820600`, seal });
  }
  return out;
}

export function messageVectors(): string {
  return vectorFile(
    [
      'Messages (frame.cddl), without the seal byte. Decode hex: it gives json; encode json: it gives hex. json as in values.json.',
      'prefixes: what every proper prefix fails with, as runs of lengths from 0.',
      'newer: taken; unknown items and keys are passed over and json is what this version reads. bad: never taken; id is the message id where it was read.',
      'frames: a seal byte and a message, read with a limit in bytes; without error, seal is what the first byte says.',
    ],
    {
      messages: EXAMPLES.map(([meaning, message]) => {
        const bytes = encodeMessage(message);
        return {
          meaning,
          hex: toHex(bytes),
          json: messageToJson(message),
          prefixes: prefixErrors(bytes, decodeMessage),
        };
      }),
      newer: NEWER.map(([meaning, hex]) => ({
        meaning,
        hex,
        json: messageToJson(decodeMessage(fromHex(hex))),
      })),
      bad: bad(),
      frames: frames(),
    },
  );
}
