import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEnvelope, replyPayload } from './relay.js';

describe('reading an envelope', () => {
  it('takes an invoke with and without its type', () => {
    expect(readEnvelope('{"type":"invoke","prompt":"status"}')).toEqual({
      kind: 'invoke',
      prompt: 'status',
    });
    expect(readEnvelope('{"prompt":"status"}')).toEqual({ kind: 'invoke', prompt: 'status' });
    expect(readEnvelope('{"type":"invoke"}')).toEqual({ kind: 'invoke', prompt: '' });
  });

  it('takes a notify with what it has, and a title where it has none', () => {
    expect(readEnvelope('{"type":"notify","title":"T","body":"B","url":"/","tag":7}')).toEqual({
      kind: 'notify',
      title: 'T',
      body: 'B',
      url: '/',
    });
    expect(readEnvelope('{"type":"notify"}')).toEqual({ kind: 'notify', title: 'tiny' });
  });

  it('passes other types on as they are', () => {
    const text = '{"type":"record","seconds":5}';
    expect(readEnvelope(text)).toEqual({ kind: 'other', type: 'record', text });
  });

  it('judges by the parsed type, not by text that looks like one (statement 60)', () => {
    const text = JSON.stringify({ prompt: 'say {"type":"notify"}' });
    expect(readEnvelope(text).kind).toBe('invoke');
    expect(readEnvelope('{"__proto__":{"type":"notify"},"prompt":"x"}')).toEqual({
      kind: 'invoke',
      prompt: 'x',
    });
  });

  it.each([
    '',
    'status',
    'null',
    '[]',
    '7',
    '"status"',
    '{"type":7}',
    '{"type":""}',
    '{"prompt":{"a":1}}',
    `{"prompt":"${'x'.repeat(9000)}"}`,
  ])('says why it is unreadable: %.40s', (text) => {
    const read = readEnvelope(text);
    expect(read.kind).toBe('unreadable');
    if (read.kind === 'unreadable') expect(read.why).toMatch(/can't be read: .+\. Send /);
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(readEnvelope(text).kind).toBeTypeOf('string');
      }),
    );
  });
});

describe('reply payloads', () => {
  it('have two shapes and no third', () => {
    const good = { ok: true, outcome: 'ok', result: { a: 1 } };
    const bad = { ok: false, outcome: 'failed', error: { code: 'x', message: 'y' }, result: 'y' };
    expect(replyPayload.safeParse(good).success).toBe(true);
    expect(replyPayload.safeParse(bad).success).toBe(true);
    expect(replyPayload.safeParse({ ...bad, outcome: 'ok' }).success).toBe(false);
    expect(replyPayload.safeParse({ ...good, outcome: 'failed' }).success).toBe(false);
  });
});
