/** Sealing: NIST's examples, keys, nonces, counters that wrap, and a board that starts again. */
import { SecureChannel } from '../channel.js';
import { encodeMessage } from '../codec.js';
import { SEAL } from '../frame.js';
import { fromHex, mqttPassword, toHex } from '../identity.js';
import type { Message } from '../messages.js';
import {
  boardNonce,
  COUNTER_END,
  type Direction,
  fullCounter,
  join,
  sealNonce,
  sessionKey,
  setupKey,
} from '../sealing.js';
import { formatSetupCode } from '../setup-code.js';
import { webCcm } from '../web-ccm.js';
import { count, vectorFile } from './form.js';

const KEY = fromHex('000102030405060708090a0b0c0d0e0f');
const RANDOM = count(0xe0, 8);

/** NIST SP 800-38C, appendix C, examples 1 to 3 (4 has 65,536 bytes of associated data). */
const NIST: [number, Uint8Array, Uint8Array, Uint8Array][] = [
  [4, count(0x10, 7), count(0, 8), count(0x20, 4)],
  [6, count(0x10, 8), count(0, 16), count(0x20, 16)],
  [8, count(0x10, 12), count(0, 20), count(0x20, 24)],
];

function greeting(bootId: number, connection: number): { hello: Uint8Array; welcome: Uint8Array } {
  const hello: Message = {
    type: 'hello',
    version: 1,
    boardId: fromHex('0011223344556677'),
    bootId,
    nonce: boardNonce(KEY, bootId, connection, RANDOM),
  };
  const welcome: Message = {
    type: 'welcome',
    session: 0x0102_0304,
    unixMs: 1_785_000_000_123,
    journalId: count(1, 4),
    nextCallId: 1,
    nonce: count(0xb0, 8),
  };
  return { hello: encodeMessage(hello), welcome: encodeMessage(welcome) };
}

const GREETINGS: [string, number, number][] = [
  ['the first boot and connection', 1, 1],
  ['the next connection of the same boot', 1, 2],
  ['after a reboot, with the same connection number and the same poor randomness', 2, 1],
];

const COUNTERS: [last: number, low: number][] = [
  [0, 1],
  [0, 0],
  [1, 1],
  [5, 4],
  [65_534, 65_535],
  [65_535, 0],
  [65_535, 65_535],
  [65_536, 0],
  [131_070, 65_535],
  [COUNTER_END - 2, 0xffff],
  [COUNTER_END - 1, 0],
];

/** A receiver that has accepted `last` gets a frame sealed with `counter`. */
const FRAMES: [string, Direction, number, number][] = [
  ['the first frame of the board', 'up', 0, 1],
  ['the first frame of the gateway', 'down', 0, 1],
  ['one frame was lost', 'up', 1, 3],
  ['before the low bits wrap', 'up', 65_533, 65_534],
  ['the last low bits', 'up', 65_534, 65_535],
  ['the low bits wrap', 'up', 65_535, 65_536],
  ['after the wrap, over a loss', 'up', 65_534, 65_540],
  ['the last frame of a session', 'up', COUNTER_END - 2, COUNTER_END - 1],
];

const SETUP_CODES: [boardId: string, secret: Uint8Array][] = [
  ['0011223344556677', KEY],
  ['a1b2c3d4e5f60718', count(0xf0, 16)],
  ['ffffffffffffffff', new Uint8Array(16).fill(0xff)],
];

async function sealed(direction: Direction, counter: number, message: Uint8Array): Promise<string> {
  const { hello, welcome } = greeting(1, 1);
  const ccm = await webCcm(sessionKey(KEY, direction, hello, welcome));
  const head = Uint8Array.of(SEAL.board);
  const nonce = sealNonce(direction, 0x0102_0304, counter);
  const bytes = await ccm.seal(nonce, head, message);
  return toHex(join(head, Uint8Array.of(counter >> 8, counter), bytes));
}

async function frames(): Promise<unknown[]> {
  const message = encodeMessage({ type: 'beat', uptimeS: 12 });
  const good = FRAMES.map(async ([meaning, direction, last, counter]) => ({
    meaning,
    direction,
    last,
    counter,
    hex: await sealed(direction, counter, message),
    body: toHex(message),
  }));
  const first = await sealed('up', 5, message);
  const changed = fromHex(first);
  changed[4] = (changed[4] ?? 0) ^ 1;
  const flipped = fromHex(first);
  flipped[0] = SEAL.setup;
  const bad = [
    { meaning: 'the frame that was accepted last', direction: 'up', last: 5, hex: first },
    { meaning: 'an older frame', direction: 'up', last: 70_000, hex: first },
    { meaning: 'one bit changed', direction: 'up', last: 4, hex: toHex(changed) },
    { meaning: 'sent back to its sender', direction: 'down', last: 4, hex: first },
    { meaning: 'another seal byte', direction: 'up', last: 4, hex: toHex(flipped) },
    { meaning: 'without its last byte', direction: 'up', last: 4, hex: first.slice(0, -2) },
    {
      meaning: 'no message inside',
      direction: 'up',
      last: 0,
      hex: await sealed('up', 1, new Uint8Array()),
    },
    {
      meaning: 'a counter beyond its end',
      direction: 'up',
      last: COUNTER_END - 1,
      hex: await sealed('up', COUNTER_END, message),
    },
  ];
  return [...(await Promise.all(good)), ...bad.map((v) => ({ ...v, dropped: true }))];
}

/** What the product's own channel seals, as a check of the vectors above. */
export async function firstChannelFrame(): Promise<string> {
  const channel = await SecureChannel.create({
    role: 'board',
    seal: SEAL.board,
    key: KEY,
    ...greeting(1, 1),
    ccm: webCcm,
  });
  return toHex(await channel.seal(encodeMessage({ type: 'beat', uptimeS: 12 })));
}

export async function sealingVectors(): Promise<string> {
  const nist = NIST.map(async ([tagBytes, nonce, associated, plain]) => ({
    tagBytes,
    key: toHex(count(0x40, 16)),
    nonce: toHex(nonce),
    associated: toHex(associated),
    plain: toHex(plain),
    sealed: toHex(await (await webCcm(count(0x40, 16), tagBytes)).seal(nonce, associated, plain)),
  }));
  return vectorFile(
    [
      'Sealing (frame.cddl, head). ccm: AES-128-CCM, the examples of NIST SP 800-38C; this protocol uses 13-byte nonces and 8-byte tags.',
      'counters: full is the smallest 32-bit value above last with these low 16 bits; from 2147483648 on the session is over.',
      'greetings: the board key is key; the nonce in HELLO is made of bootId, connection and random; hello and welcome are messages without the seal byte; up and down are the session keys.',
      'frames: under the keys of the first greeting. A receiver of that direction that has accepted counter last gets hex: it opens to body, or it is dropped and last stays.',
      'derived: other keys made of a 16-byte key.',
      'setupCodes: what a board shows to be paired; boardId and secret are hex.',
    ],
    {
      ccm: await Promise.all(nist),
      counters: COUNTERS.map(([last, low]) => ({ last, low, full: fullCounter(last, low) })),
      nonces: (['up', 'down'] as const).map((direction) => ({
        direction,
        session: 0x0102_0304,
        counter: 0x0506_0708,
        hex: toHex(sealNonce(direction, 0x0102_0304, 0x0506_0708)),
      })),
      greetings: GREETINGS.map(([meaning, bootId, connection]) => {
        const { hello, welcome } = greeting(bootId, connection);
        return {
          meaning,
          key: toHex(KEY),
          bootId,
          connection,
          random: toHex(RANDOM),
          nonce: toHex(boardNonce(KEY, bootId, connection, RANDOM)),
          hello: toHex(hello),
          welcome: toHex(welcome),
          up: toHex(sessionKey(KEY, 'up', hello, welcome)),
          down: toHex(sessionKey(KEY, 'down', hello, welcome)),
        };
      }),
      frames: await frames(),
      derived: [
        {
          meaning: 'the key that seals PROVISION, of the set-up secret',
          key: toHex(KEY),
          hex: toHex(setupKey(KEY)),
        },
        {
          meaning: 'the password at a broker, of the board key',
          key: toHex(KEY),
          text: mqttPassword(KEY),
        },
      ],
      setupCodes: SETUP_CODES.map(([boardId, secret]) => ({
        boardId,
        secret: toHex(secret),
        text: formatSetupCode({ boardId, secret }),
      })),
    },
  );
}
