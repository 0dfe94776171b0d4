import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeMessage, decodeValue, encodeMessage, encodeValue } from '../codec.js';
import { readFrame, SEAL } from '../frame.js';
import { bytesOfHex, codeOf, type Hex } from '../golden/form.js';
import { firstChannelFrame } from '../golden/sealing.js';
import { fromHex, toHex } from '../identity.js';
import { fromJsonForm, messageFromJson, messageToJson, toJsonForm } from '../json-form.js';
import type { Value } from '../kinds.js';
import { MESSAGES } from '../messages.js';
import { nodeCcm } from '../node-ccm.js';
import { COUNTER_END, type Direction, fullCounter, sealNonce } from '../sealing.js';
import { vectorFiles } from './generate.js';

const path = (name: string): URL => new URL(name, import.meta.url);
const made = await vectorFiles();
if (process.env.WRITE_VECTORS) {
  for (const [name, text] of Object.entries(made)) writeFileSync(path(name), text);
}

interface Vector {
  meaning: string;
  hex: Hex;
  json?: unknown;
  is?: { text?: string; bytes?: string; list?: number; map?: number; times?: number };
  prefixes?: [number, string][];
  error?: string;
  offset?: number;
  limit?: number;
  seal?: number;
  id?: number;
}

function read<T = Vector>(file: string, section: string): T[] {
  return JSON.parse(readFileSync(path(file), 'utf8'))[section];
}

/** Every proper prefix fails as the vector says. */
function prefixesOf(vector: Vector, take: (bytes: Uint8Array) => unknown): string[] {
  const bytes = bytesOfHex(vector.hex);
  const wrong: string[] = [];
  let length = 0;
  for (const [count, code] of vector.prefixes ?? []) {
    for (let i = 0; i < count; i++, length++) {
      const got = codeOf(() => take(bytes.slice(0, length)));
      if (got !== code) wrong.push(`${vector.meaning}, ${length} bytes: ${got}`);
    }
  }
  if (length !== bytes.length) wrong.push(`${vector.meaning}: prefixes end at ${length}`);
  return wrong;
}

it('the files are what the generator makes, and of reasonable size', () => {
  let size = 0;
  for (const [name, text] of Object.entries(made)) {
    expect(readFileSync(path(name), 'utf8') === text, `${name}: see generate.ts`).toBe(true);
    size += text.length;
  }
  expect(size).toBeLessThan(500_000);
});

describe('golden values', () => {
  it('decode, encode and fail at every prefix as they say', () => {
    for (const vector of read('values.json', 'values')) {
      const bytes = bytesOfHex(vector.hex);
      expect(toJsonForm(decodeValue(bytes))).toEqual(vector.json);
      expect(toHex(encodeValue(fromJsonForm(vector.json)))).toBe(vector.hex);
      expect(prefixesOf(vector, decodeValue)).toEqual([]);
    }
  });

  it('have every boundary of size', () => {
    const contentOf = ({ text, bytes, list, map, times = 0 }: NonNullable<Vector['is']>): Value => {
      if (text !== undefined) return text.repeat(times);
      if (bytes !== undefined) return fromHex(bytes.repeat(times));
      if (list !== undefined) return new Array(times).fill(list);
      return map === 0 ? {} : new Map(Array.from({ length: map ?? 0 }, (_, i) => [i, 0]));
    };
    for (const { hex, is } of read('values.json', 'sized')) {
      const value = contentOf(is ?? {});
      const bytes = bytesOfHex(hex);
      expect(Buffer.compare(encodeValue(value), bytes)).toBe(0);
      expect(Buffer.compare(encodeValue(decodeValue(bytes)), bytes)).toBe(0);
    }
  });

  it('that no encoder writes are taken', () => {
    for (const { hex, json } of read('values.json', 'lenient')) {
      expect(toJsonForm(decodeValue(bytesOfHex(hex)))).toEqual(json);
    }
  });

  it('that are hostile are refused with their error at their place', () => {
    for (const { meaning, hex, error, offset } of read('values.json', 'hostile')) {
      expect(() => decodeValue(bytesOfHex(hex)), meaning).toThrow(
        expect.objectContaining({ code: error, offset }),
      );
    }
  });
});

describe('golden messages', () => {
  it('decode, encode and fail at every prefix as they say', () => {
    for (const vector of read('messages.json', 'messages')) {
      const bytes = bytesOfHex(vector.hex);
      expect(messageToJson(decodeMessage(bytes))).toEqual(vector.json);
      expect(toHex(encodeMessage(messageFromJson(vector.json)))).toBe(vector.hex);
      expect(prefixesOf(vector, decodeMessage)).toEqual([]);
    }
  });

  it('are there for every message', () => {
    const types = read<{ json: { type: string } }>('messages.json', 'messages').map(
      (v) => v.json.type,
    );
    expect(new Set(types)).toEqual(new Set(Object.keys(MESSAGES)));
  });

  it('of a newer peer are read as far as this version goes', () => {
    for (const { hex, json } of read('messages.json', 'newer')) {
      expect(messageToJson(decodeMessage(bytesOfHex(hex)))).toEqual(json);
    }
  });

  it('that are wrong in one place are refused with their error', () => {
    for (const { meaning, hex, error, id } of read('messages.json', 'bad')) {
      expect(() => decodeMessage(bytesOfHex(hex)), meaning).toThrow(
        expect.objectContaining({ code: error, id }),
      );
    }
  });

  it('stand in frames that are read up to the limit', () => {
    for (const { meaning, hex, limit, seal, error } of read('messages.json', 'frames')) {
      const take = (): number => readFrame(bytesOfHex(hex), limit).seal;
      if (error) expect(take, meaning).toThrow(expect.objectContaining({ code: error }));
      else expect(take(), meaning).toBe(seal);
    }
  });
});

describe('golden seals', () => {
  interface Greeting {
    up: string;
    down: string;
    nonce: string;
  }
  interface Frame {
    meaning: string;
    direction: Direction;
    last: number;
    counter?: number;
    hex: string;
    body?: string;
    dropped?: true;
  }

  it('of NIST open with the other implementation', async () => {
    type Ccm = Record<'key' | 'nonce' | 'associated' | 'plain' | 'sealed', string> & {
      tagBytes: number;
    };
    for (const v of read<Ccm>('sealing.json', 'ccm')) {
      const ccm = await nodeCcm(fromHex(v.key), v.tagBytes);
      const opened = await ccm.open(fromHex(v.nonce), fromHex(v.associated), fromHex(v.sealed));
      expect(toHex(opened ?? new Uint8Array())).toBe(v.plain);
    }
  });

  it('open under the keys of their greeting, with Node too, or are dropped', async () => {
    const [keys] = read<Greeting>('sealing.json', 'greetings');
    for (const v of read<Frame>('sealing.json', 'frames')) {
      const frame = fromHex(v.hex);
      const counter = fullCounter(v.last, ((frame[1] ?? 0) << 8) | (frame[2] ?? 0));
      const ccm = await nodeCcm(fromHex(keys?.[v.direction] ?? ''));
      const nonce = sealNonce(v.direction, 0x0102_0304, counter);
      const opened = await ccm.open(nonce, frame.subarray(0, 1), frame.subarray(3));
      if (v.dropped) {
        // No tag that verifies, another seal than the session's, nothing inside, or the end.
        const empty = opened?.length === 0;
        const dropped = !opened || empty || frame[0] !== SEAL.board || counter >= COUNTER_END;
        expect(dropped, v.meaning).toBe(true);
      } else {
        expect(counter, v.meaning).toBe(v.counter);
        expect(toHex(opened ?? new Uint8Array()), v.meaning).toBe(v.body);
      }
    }
  });

  it('are what a channel sends', async () => {
    expect(await firstChannelFrame()).toBe(read<Frame>('sealing.json', 'frames')[0]?.hex);
  });

  it('never share a nonce or a key between connections and boots', () => {
    const all = read<Greeting>('sealing.json', 'greetings').flatMap((g) => [g.up, g.down, g.nonce]);
    expect(new Set(all).size).toBe(all.length);
  });
});
