import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeMessage, decodeValue, encodeValue, FrameError } from './codec.js';
import { explainFrame, frameFromJson } from './explain.js';
import { readFrame } from './frame.js';
import { fromHex, toHex } from './identity.js';
import { fromJsonForm, messageToJson, toJsonForm } from './json-form.js';
import type { Value } from './kinds.js';

describe('an explanation', () => {
  it('names every item of a good frame, with its place and unit', () => {
    expect(explainFrame(fromHex('0083041a0001e240a201184d0238 3e'))).toEqual([
      '    0  00                                     a plain frame',
      '    1  83                                     a message: a list of 3',
      '    2  04                                       beat (4), board to gateway: still here',
      '    3  1a 00 01 e2 40                           uptimeS = 123456 s',
      '    8  a2                                       optional fields: 2',
      '    9  01                                         battery (1):',
      '   10  18 4d                                        battery = 77 %',
      '   12  02                                         rssi (2):',
      '   13  38 3e                                        rssi = -63 dBm',
      'good: 14 bytes',
    ]);
  });

  it('takes a bare message, tells the failing RESULT from the good one, marks what is unknown', () => {
    expect(explainFrame(fromHex('8408010063796573')).join('\n')).toMatch(/result \(8\)/);
    expect(explainFrame(fromHex('85080101646275737960')).join('\n')).toMatch(
      /failure \(8\)[\s\S]*code = "busy"/,
    );
    expect(explainFrame(fromHex('8118c8')).at(-1)).toMatch(/bad: unknown_type/);
    expect(explainFrame(fromHex('8306010a')).join('\n')).toMatch(/more than this version knows/);
  });

  it('says where a bad frame breaks and why', () => {
    const lines = explainFrame(fromHex('00820418'));
    expect(lines.at(-2)).toMatch(/^ {4}3 {2}18 .*<- here$/);
    expect(lines.at(-1)).toMatch(/^bad: truncated: /);
    expect(explainFrame(fromHex('0082046161')).at(-1)).toMatch(/bad: bad_field/);
  });

  it('shows of a sealed frame what can be seen without the key', () => {
    const lines = explainFrame(fromHex('01ffff0102030405060708090a'));
    expect(lines.join('\n')).toMatch(/low 16 bits: 65535/);
    expect(lines).toHaveLength(4);
    expect(explainFrame(fromHex('0100')).at(-1)).toMatch(/bad: truncated/);
  });

  it('keeps control characters away from the terminal', () => {
    const bytes = encodeValue([12, 0, 1, '\u001b[2J\u009b', 'x']);
    expect(explainFrame(bytes).join('')).not.toMatch(/\p{Cc}/u);
  });

  it('comes for any bytes whatever', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        expect(explainFrame(bytes).at(-1)).toMatch(/^(good|bad)|tag$/);
      }),
      { numRuns: 2000 },
    );
    expect(explainFrame(new Uint8Array(200_000).fill(0x80)).length).toBeLessThan(1100);
  });
});

describe('frames from JSON', () => {
  it('take hex for bytes and digits for integer keys', () => {
    const frame = frameFromJson({
      type: 'call',
      callId: 3,
      bootId: 1,
      verb: 0,
      args: { 0: 'hi', 1: { $hex: '0a' } },
      ttlMs: 5,
    });
    expect(decodeMessage(readFrame(frame).body)).toMatchObject({
      args: new Map<number, Value>([
        [0, 'hi'],
        [1, Uint8Array.of(10)],
      ]),
    });
    const id = '0011223344556677';
    expect(toHex(frameFromJson({ type: 'provisioned', boardId: id }))).toBe(`0082181f48${id}`);
  });

  it('are refused with the field at fault', () => {
    expect(() => frameFromJson({ type: 'bet' })).toThrow(/"type" must be one of hello/);
    expect(() => frameFromJson({ type: 'beat', uptime: 1 })).toThrow(/no field uptime; it has/);
    expect(() => frameFromJson({ type: 'beat' })).toThrow(/lacks uptimeS/);
    expect(() => frameFromJson([])).toThrow(FrameError);
    expect(() =>
      frameFromJson({ type: 'mail', bootId: 0, mailId: 1, op: 'x', args: { $map: [1] } }),
    ).toThrow(/pairs/);
    expect(() => fromJsonForm({ $hex: 'abc' })).toThrow(FrameError);
  });

  it('keep every value, also those that look like the form itself', () => {
    const value: Value = [
      Number.NaN,
      -0,
      -Infinity,
      { $hex: 'no' },
      { $map: null },
      { $other: [{ $object: 1 }] },
      new Map<number, Value>([[3, new Uint8Array(2)]]),
      { a: new Uint8Array(0), $b: 1 },
    ];
    const json: unknown = JSON.parse(JSON.stringify(toJsonForm(value)));
    expect(fromJsonForm(json)).toStrictEqual(value);
    expect(decodeValue(encodeValue(fromJsonForm(json)))).toStrictEqual(value);
    expect(messageToJson({ type: 'readings', values: [1.5] })).toEqual({
      type: 'readings',
      values: [1.5],
    });
  });
});
