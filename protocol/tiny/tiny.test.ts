import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as tiny from '../tiny.js';

const { TINY_LIMITS } = tiny;
const cred = { deviceId: 'd', token: 't' };
const said = (schema: z.ZodType, body: unknown): string => {
  const read = schema.safeParse(body);
  expect(read.success).toBe(false);
  return read.success ? '' : tiny.sentenceOf(read.error);
};

describe('request bodies', () => {
  const requests: [name: string, schema: z.ZodType, sentence: string][] = [
    ['enrol', tiny.enrolRequest, 'name required'],
    ['revoke', tiny.revokeRequest, 'deviceId required'],
    ['adopt', tiny.adoptRequest, 'deviceId required'],
    ['heartbeat', tiny.heartbeatRequest, 'deviceId and token required'],
    ['relay send', tiny.relaySendRequest, 'toDevice required'],
    ['relay read', tiny.relayReadQuery, 'inReplyTo required'],
    ['relay poll', tiny.relayPollRequest, 'deviceId and token required'],
    ['relay reply', tiny.relayReplyRequest, 'deviceId, token, inReplyTo required'],
    ['task result', tiny.taskResultRequest, 'deviceId, token, taskId and result required'],
    ['event', tiny.eventRequest, 'deviceId, token and kind required'],
    ['transcript', tiny.transcriptRequest, 'deviceId, token and text required'],
    ['media', tiny.mediaRequest, 'data and contentType required'],
    ['ask', tiny.askRequest, 'deviceId, token and text or audioUrl required'],
    ['messages', tiny.messagesRequest, 'deviceId, token and op required'],
    ['endpoint', tiny.endpointQuery, 'deviceId required'],
    ['endpoint chat', tiny.endpointChatRequest, 'deviceId and prompt required'],
    ['use device', tiny.useDeviceRequest, 'action must be list | invoke | result'],
    ['cli token', tiny.authTokenRequest, 'code and state required'],
    ['firmware', tiny.firmwareRequest, 'deviceId, token and channel required'],
  ];

  it.each(requests)(
    '%s: a body that is no object is a missing field',
    (_name, schema, sentence) => {
      for (const body of [undefined, null, 'junk', 7, [], {}, [cred]]) {
        expect(said(schema, body)).toBe(sentence);
      }
    },
  );

  it('never throws and always has a sentence, whatever is sent', () => {
    fc.assert(
      fc.property(fc.anything(), fc.constantFrom(...requests), (body, [, schema]) => {
        const read = schema.safeParse(body);
        if (!read.success) expect(tiny.sentenceOf(read.error)).not.toBe('');
      }),
      { numRuns: 300 },
    );
  });

  it('can all be shown as JSON Schema', () => {
    for (const [, schema] of requests) {
      const shown = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
      expect(shown.type).toBe('object');
    }
  });
});

describe('enrolment', () => {
  it('cuts and normalises as it is stored (statements 6, 7, 8)', () => {
    const read = tiny.enrolRequest.parse({
      name: `  ${'n'.repeat(70)} `,
      platform: 'p'.repeat(40),
      kind: 'Endpoint',
      capabilities: 'nope',
      userId: 'someone else',
    });
    expect(read).toEqual({
      name: 'n'.repeat(64),
      platform: 'p'.repeat(32),
      kind: 'cli',
      capabilities: [],
    });
  });

  it.each([undefined, '', '   ', 5, null])('refuses the name %j (statement 4)', (name) => {
    expect(said(tiny.enrolRequest, { name })).toBe('name required');
  });

  it('never leaves half a character at the cut', () => {
    const read = tiny.enrolRequest.parse({ name: `${'n'.repeat(63)}😀` });
    expect(read.name).toBe('n'.repeat(63));
  });
});

describe('capabilities', () => {
  it('reads lists and texts of lists', () => {
    expect(tiny.cutCapabilities(['a', 'b'])).toEqual(['a', 'b']);
    expect(tiny.cutCapabilities('["a","b"]')).toEqual(['a', 'b']);
    for (const junk of [undefined, null, {}, 5, '{}', '[', 'a,b']) {
      expect(tiny.cutCapabilities(junk)).toEqual([]);
    }
  });

  it('keeps 32 entries of 32, and JSON text that fits and parses', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ maxLength: 60, unit: 'binary' }), { maxLength: 50 }),
        (list) => {
          const kept = tiny.cutCapabilities(list);
          expect(kept.length).toBeLessThanOrEqual(32);
          for (const entry of kept) expect(entry.length).toBeLessThanOrEqual(32);
          const text = JSON.stringify(kept);
          expect(text.length).toBeLessThanOrEqual(2048);
          expect(JSON.parse(text)).toEqual(kept);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('drops entries, not characters, where escapes make the text too long', () => {
    const kept = tiny.cutCapabilities(Array.from({ length: 32 }, () => '\u0001'.repeat(32)));
    expect(kept.length).toBe(10);
    expect(kept.every((entry) => entry.length === 32)).toBe(true);
  });
});

describe('heartbeats', () => {
  it('tells keeping from clearing and replacing (statement 29)', () => {
    const read = (capabilities: unknown): unknown =>
      tiny.heartbeatRequest.parse({ ...cred, capabilities }).capabilities;
    expect(tiny.heartbeatRequest.parse(cred).capabilities).toBeUndefined();
    expect(read(null)).toBeUndefined();
    expect(read('junk')).toEqual([]);
    expect(read(7)).toEqual([]);
    expect(read(['x'])).toEqual(['x']);
  });

  it('wants the unread count unless told off (statement 34)', () => {
    const wants = (wantUnread: unknown): boolean =>
      tiny.heartbeatRequest.parse({ ...cred, wantUnread }).wantUnread;
    expect([true, 1, '1', 'yes'].map(wants)).toEqual([true, true, true, true]);
    expect([undefined, false, 0, '', '0', 'false'].map(wants)).toEqual(Array(6).fill(false));
  });

  it.each([
    ['http://192.168.1.7:8080/x?y=1', 'http://192.168.1.7:8080'],
    ['  http://10.0.0.1  ', 'http://10.0.0.1'],
    ['http://172.16.0.1', 'http://172.16.0.1'],
    ['http://172.31.255.255', 'http://172.31.255.255'],
    ['http://169.254.3.4', 'http://169.254.3.4'],
    ['http://0300.0250.0.1', 'http://192.168.0.1'],
    ['http://3232235777', 'http://192.168.1.1'],
    ['http://user:pw@10.1.1.1/', 'http://10.1.1.1'],
  ])('takes the lan url %s (statements 31 to 33)', (given, kept) => {
    expect(tiny.lanUrlOf(given)).toBe(kept);
  });

  it.each([
    'https://192.168.1.7',
    'ftp://192.168.1.7',
    'http://8.8.8.8',
    'http://127.0.0.1',
    'http://172.15.0.1',
    'http://172.32.0.1',
    'http://192.169.0.1',
    'http://192.168.1.256',
    'http://printer.local',
    'http://[fe80::1]',
    'http://[::ffff:10.0.0.1]',
    'http://2130706433',
    '',
    '   ',
    '192.168.1.7',
    7,
    null,
    {},
  ])('refuses the lan url %j', (given) => {
    expect(tiny.lanUrlOf(given)).toBeUndefined();
  });
});

describe('the mailbox', () => {
  it.each([
    [undefined, 10],
    ['junk', 10],
    [Number.NaN, 10],
    ['', 10],
    [{}, 10],
    [0, 1],
    [-3, 1],
    [1, 1],
    [50, 50],
    [51, 50],
    [500, 50],
    ['7', 7],
    [3.9, 3],
  ])('max %j polls %d (statement 43)', (max, polled) => {
    expect(tiny.relayPollRequest.parse({ ...cred, max }).max).toBe(polled);
  });

  it('measures a payload in UTF-16 units of its text (statements 35, 36, 50)', () => {
    const quoted = (units: number, unit = 'x'): string =>
      JSON.stringify(unit.repeat((units - 2) / unit.length));
    expect(tiny.payloadText(quoted(8192))).toHaveLength(8192);
    expect(tiny.payloadText(quoted(8192, '😀'))).toHaveLength(8192);
    expect(tiny.payloadText(quoted(8193))).toBeUndefined();
    expect(tiny.payloadText({ a: 'x'.repeat(8184) })).toHaveLength(8192);
    expect(tiny.payloadText({ a: 'x'.repeat(8185) })).toBeUndefined();
    expect(tiny.payloadText('')).toBeUndefined();
    expect(tiny.payloadText('not json')).toBeUndefined();
    expect(tiny.payloadText(undefined)).toBe('null');
    expect(tiny.payloadText({ prompt: 'x' })).toBe('{"prompt":"x"}');
    expect(tiny.payloadText(() => 1)).toBeUndefined();
  });

  it('has the seven refusals as the wire tables them (statements 39 to 41)', () => {
    const rows = Object.entries(tiny.RELAY_OUTCOMES).map(
      ([code, o]) => `${code} ${o.status} ${o.delivered} ${o.retryable}`,
    );
    expect(rows).toEqual([
      'no_such_device 404 no false',
      'too_big 413 no false',
      'bad_request 400 no false',
      'server_key 424 no false',
      'relay_fault 424 unknown true',
      'unreachable 424 unknown true',
      'no_envelope 424 unknown false',
    ]);
  });
});

describe('uploads', () => {
  it('trims a task result until its payload fits (statement 75)', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ minLength: 0, maxLength: 9000, unit: 'binary' }),
          fc.constantFrom('\n', '"', '\u0001', '😀', '\ud800').map((c) => c.repeat(7000)),
        ),
        (result) => {
          const payload = tiny.taskPayload(result);
          expect(payload.length).toBeLessThanOrEqual(TINY_LIMITS.payload);
          const kept = (JSON.parse(payload) as { result: string }).result;
          expect(result.startsWith(kept)).toBe(true);
          if (JSON.stringify({ result }).length <= 7000) expect(kept).toBe(result);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('binds a ticket to its device (statements 72, 73)', () => {
    const ticket = tiny.taskTicket('0123abcd-aaaa-4aaa-8aaa-aaaaaaaaaaaa', 'run_1');
    expect(ticket).toBe('task_0123abcd_run_1');
    expect(tiny.TASK_TICKET.test(ticket)).toBe(true);
    expect([tiny.isTaskId('a'.repeat(48)), tiny.isTaskId('a'.repeat(49))]).toEqual([true, false]);
    expect(tiny.isTaskId('a b')).toBe(false);
  });

  it('prefixes and cuts an event (statement 77)', () => {
    expect(tiny.eventDetail('n'.repeat(50), 'd'.repeat(300))).toBe(
      `${'n'.repeat(40)}: ${'d'.repeat(240)}`,
    );
  });

  it('floors durations and cuts transcripts (statement 79)', () => {
    const read = tiny.transcriptRequest.parse({
      ...cred,
      text: 't'.repeat(20_000),
      label: 'l'.repeat(90),
      durationS: -2.5,
    });
    expect([read.text.length, read.label?.length, read.durationS]).toEqual([16_384, 80, 0]);
    expect(tiny.transcriptRequest.parse({ ...cred, text: 'x', durationS: '7.9' }).durationS).toBe(
      7,
    );
    expect(said(tiny.transcriptRequest, { ...cred, text: '  ' })).toContain('text required');
    expect(tiny.audioUrlOf('https://a.example/x')).toBe('https://a.example/x');
    expect(tiny.audioUrlOf('http://a.example/x')).toBeUndefined();
    expect(tiny.audioUrlOf(`https://a.example/${'x'.repeat(300)}`)).toBeUndefined();
  });

  it('takes the listed media types only (statement 84)', () => {
    expect(tiny.mediaTypeOf('Image/PNG; charset=x')).toBe('image/png');
    for (const type of ['image/svg+xml', 'text/html', '', 'constructor', '__proto__', 7, null]) {
      expect(tiny.mediaTypeOf(type)).toBeUndefined();
    }
    expect(tiny.MEDIA_KEY.test('0123abcd-aaaa-4aaa-8aaa-aaaaaaaaaaaa.png')).toBe(true);
    expect(tiny.MEDIA_KEY.test('../0123abcd-aaaa-4aaa-8aaa-aaaaaaaaaaaa.png')).toBe(false);
  });
});

describe('asks, messages, login', () => {
  it('limits an ask before any stream (statement 117)', () => {
    expect(tiny.askRequest.safeParse({ ...cred, text: 'x'.repeat(4000) }).success).toBe(true);
    expect(said(tiny.askRequest, { ...cred, text: 'x'.repeat(4001) })).toContain('4000');
    expect(said(tiny.askRequest, { ...cred, audioUrl: 'http://x.example' })).toContain('https');
    expect(tiny.askRequest.parse({ ...cred, text: 'q', stream: '1' }).stream).toBe(true);
  });

  it('refuses operations it does not know and long bodies (statement 119)', () => {
    expect(said(tiny.messagesRequest, { ...cred, op: 'drop' })).toBe(tiny.MESSAGES_SAID.op);
    expect(said(tiny.messagesRequest, { ...cred, op: 'send' })).toBe(tiny.MESSAGES_SAID.to);
    expect(said(tiny.messagesRequest, { ...cred, op: 'thread' })).toBe(tiny.MESSAGES_SAID.with);
    const send = { ...cred, op: 'send', to: 'ann' };
    expect(tiny.messagesRequest.safeParse({ ...send, body: '😀'.repeat(2000) }).success).toBe(true);
    expect(said(tiny.messagesRequest, { ...send, body: '😀'.repeat(2001) })).toContain('2000');
    expect(tiny.messagesRequest.parse({ ...cred, op: 'thread', with: 'a', limit: 999 }).limit).toBe(
      200,
    );
  });

  it('checks port and state of a login (statement 114)', () => {
    const state = 'a'.repeat(16);
    for (const port of [1024, 65_535, '5000']) {
      expect(tiny.authCliRequest.safeParse({ port, state }).success).toBe(true);
    }
    for (const port of [1023, 65_536, 1.5, 'x', undefined]) {
      expect(said(tiny.authCliRequest, { port, state })).toBe('invalid port');
    }
    expect(said(tiny.authCliRequest, { port: 2000, state: 'short' })).toBe('invalid state');
    expect(tiny.authCliRequest.safeParse({ scheme: 'tinyapp', state }).success).toBe(true);
  });

  it('reads a health answer of a hub with and without our gateway routes (statement 116)', () => {
    const health = { ok: true, service: 'web', sseTerminator: '[DONE]', siteName: 'x' };
    expect(tiny.healthReply.parse(health).gateway).toBeUndefined();
    const ours = { ...health, gateway: { version: 1, stream: '/api/gateway/v1/stream' } };
    expect(tiny.healthReply.parse(ours).gateway?.version).toBe(1);
    expect(tiny.healthReply.safeParse({ ...health, service: 'cat' }).success).toBe(false);
  });
});
