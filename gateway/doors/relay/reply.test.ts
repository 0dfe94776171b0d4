import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Value } from '../../../protocol/kinds.js';
import { PAYLOAD_UNITS, replyPayload } from '../../../protocol/relay.js';
import type { Outcome } from '../../core/types.js';
import { base64Of, plainJson } from '../prompt/plain.js';
import { cutJson, replyText } from './reply.js';

const ok = (value: Value): Outcome => ({ kind: 'ok', value, blobs: [] });
const said = (outcome: Outcome, pictures?: { urls: string[]; notes: string[] }) => {
  const text = replyText(outcome, pictures);
  expect(text.length).toBeLessThanOrEqual(PAYLOAD_UNITS);
  const payload = replyPayload.parse(JSON.parse(text));
  return payload as Record<string, unknown> & { ok: boolean };
};

describe('a good reply', () => {
  it('carries the value as it is', () => {
    const value = { t: 21.37, list: [1, 'x', null, true] };
    expect(said(ok(value))).toEqual({ ok: true, outcome: 'ok', result: value });
    expect(said(ok(null))).toEqual({ ok: true, outcome: 'ok', result: null });
  });

  it('lists its pictures, and says so where there is no other result', () => {
    const urls = ['/media/a.png', '/media/b.png', '/media/c.png'];
    const reply = said(ok(null), { urls, notes: ['A blob stays.'] });
    expect(reply).toMatchObject({ images: urls, note: 'A blob stays.' });
    expect(reply.result).toBe(`3 pictures: ${urls.join(' ')}`);
    expect(said(ok('seen'), { urls, notes: [] }).result).toBe('seen');
  });

  it('turns bytes into base64 or a description, and integer keys into text', () => {
    const bytes = new Uint8Array([1, 2, 255]);
    expect(said(ok({ raw: bytes })).result).toEqual({ raw: { base64: 'AQL/', bytes: 3 } });
    expect(said(ok(new Uint8Array(50_000))).result).toBe('50000 bytes');
    expect(said(ok(new Map<number, Value>([[7, 'x']]))).result).toEqual({ 7: 'x' });
    expect(plainJson({ a: Number.NaN, b: undefined as unknown as Value })).toEqual({
      a: null,
      b: null,
    });
  });

  it('is cut at a code point and says how much is missing', () => {
    const text = '😀'.repeat(8000);
    const reply = said(ok(text));
    expect(reply.truncated).toBe(true);
    const result = String(reply.result);
    const told = /\n\(cut here: (\d+) of 16000 characters are missing\)$/.exec(result);
    const kept = result.slice(0, told?.index);
    expect(Number(told?.[1])).toBe(text.length - kept.length);
    expect(text.startsWith(kept)).toBe(true);
    expect(kept.isWellFormed()).toBe(true);
    expect(kept.length).toBeGreaterThan(7900);
  });

  it('fits whatever the value, its escapes and its pictures are', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.constantFrom('\u0000', '"', '\\', '\n', 'é', '😀', '\ud800').map((c) => c.repeat(9000)),
    );
    const value = fc.oneof(
      text,
      fc.array(text, { maxLength: 5 }),
      fc.dictionary(fc.string({ maxLength: 10 }), text, { maxKeys: 5 }),
      fc.uint8Array({ maxLength: 5000 }),
    );
    const pictures = fc.record({
      urls: fc.array(
        fc.nat(4000).map((n) => `/media/${'a'.repeat(n)}.png`),
        { maxLength: 30 },
      ),
      notes: fc.array(text, { maxLength: 3 }),
    });
    fc.assert(
      fc.property(value, pictures, (one, shown) => {
        const reply = said(ok(one as Value), shown);
        const whole = JSON.stringify(plainJson(one as Value)).length < 4000;
        if (whole && shown.urls.length === 0) expect(reply.truncated).toBeUndefined();
      }),
      { numRuns: 150 },
    );
  });

  it('uses the room to the last unit: what fits exactly is not cut', () => {
    const around = replyText(ok('')).length;
    const fits = 'x'.repeat(PAYLOAD_UNITS - around);
    expect(said(ok(fits)).truncated).toBeUndefined();
    expect(said(ok(`${fits}x`)).truncated).toBe(true);
  });
});

describe('a bad reply', () => {
  it('says the kind, the code and the sentence twice, for stock clients too', () => {
    expect(said({ kind: 'failed', code: 'jammed', message: 'The paper is jammed.' })).toEqual({
      ok: false,
      outcome: 'failed',
      error: { code: 'jammed', message: 'The paper is jammed.' },
      result: 'The paper is jammed.',
    });
    for (const kind of ['unreachable', 'expired', 'cancelled', 'outcome_unknown'] as const) {
      expect(said({ kind, message: 'm' })).toMatchObject({ outcome: kind, error: { code: kind } });
    }
  });

  it('fits with any message and code', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.constantFrom('\u0001', '"', '😀', 'help ').map((c) => c.repeat(6000)),
    );
    fc.assert(
      fc.property(text, text, (code, message) => {
        const reply = said({ kind: 'failed', code, message });
        if (message.length > PAYLOAD_UNITS) expect(reply.truncated).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});

describe('cutting', () => {
  it('keeps the longest start that fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.nat(120), (text, units) => {
        const kept = cutJson(text, units);
        expect(text.startsWith(kept)).toBe(true);
        expect(JSON.stringify(kept).length - 2).toBeLessThanOrEqual(units);
        const next = [...text.slice(kept.length)][0];
        if (next) expect(JSON.stringify(kept + next).length - 2).toBeGreaterThan(units);
      }),
    );
  });

  it('encodes base64 of any length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(base64Of(bytes)).toBe(Buffer.from(bytes).toString('base64'));
      }),
    );
    const big = new Uint8Array(100_000).fill(7);
    expect(base64Of(big)).toBe(Buffer.from(big).toString('base64'));
  });
});
