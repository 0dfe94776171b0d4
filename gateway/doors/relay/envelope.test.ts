import { describe, expect, it } from 'vitest';
import { catalogOf, EINK, TALKER, verb } from '../prompt/boards.fixture.js';
import { asked } from './envelope.js';

describe('what an envelope asks', () => {
  it('is a verb for a prompt', () => {
    expect(asked('{"type":"invoke","prompt":"tap 1 2"}', EINK)).toEqual({
      verb: 'tap',
      args: { x: 1, y: 2 },
    });
  });

  it('is the notify verb for a notification, cut to what the verb takes', () => {
    const payload = JSON.stringify({
      type: 'notify',
      title: 'é'.repeat(20),
      body: 'b',
      tag: 't',
      url: '/',
    });
    expect(asked(payload, TALKER)).toEqual({
      verb: 'notify',
      args: { title: 'é'.repeat(5), body: 'b' },
    });
    const open = catalogOf([verb('notify', '*')]);
    expect(asked('{"type":"notify","title":"T","tag":"t"}', open).args).toEqual({
      title: 'T',
      tag: 't',
    });
  });

  it('is refused where a board shows no notifications', () => {
    expect(asked('{"type":"notify","title":"T"}', EINK).outcome).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('no notifications'),
    });
  });

  it('passes another type through to a board that takes envelopes', () => {
    const payload = '{"type":"record","seconds":5}';
    const taken = asked(payload, catalogOf([], { envelopes: true }));
    expect(taken).toEqual({
      verb: 'record',
      args: {},
      envelope: { kind: 'record', bytes: new TextEncoder().encode(payload) },
    });
    expect(asked(payload, EINK).outcome).toMatchObject({
      kind: 'refused',
      code: 'unknown_verb',
      message: expect.stringContaining('“record”'),
    });
  });

  it.each(['', '[]', 'null', '"status"', '{"prompt":7}', '{"type":7}'])(
    'answers the unreadable %j in words',
    (payload) => {
      expect(asked(payload, EINK).outcome).toMatchObject({
        kind: 'refused',
        code: 'bad_arguments',
        message: expect.stringMatching(/can't be read: .*- status/s),
      });
    },
  );

  it('answers an invoke without a prompt', () => {
    expect(asked('{"type":"invoke"}', TALKER).outcome).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('empty'),
    });
  });
});
