/** Every message, in its least and its fullest form. */
import { fromHex } from '../identity.js';
import type { Value } from '../kinds.js';
import type { Message } from '../messages.js';
import { count } from './form.js';

const BOARD = fromHex('0011223344556677');
const U32 = 0xffff_ffff;

/** What it shows, and the message. */
export const EXAMPLES: [string, Message][] = [
  [
    'the least HELLO, on a link that does not seal',
    { type: 'hello', version: 1, boardId: BOARD, bootId: 1, nonce: null },
  ],
  [
    'HELLO of a known board that wakes, with nothing unsettled',
    {
      type: 'hello',
      version: 1,
      boardId: BOARD,
      bootId: 65_536,
      nonce: count(0xa0, 8),
      maxMessage: 1024,
      capsHash: count(0xc0, 8),
      sleepS: 600,
      battery: 77,
      maxCalls: 4,
      rxWindow: 2048,
      att: 244,
    },
  ],
  [
    'HELLO with two calls that it remembers',
    {
      type: 'hello',
      version: 1,
      boardId: BOARD,
      bootId: 2,
      nonce: count(0, 8),
      unsettled: [
        [7, 0],
        [U32, 1],
      ],
    },
  ],
  [
    'the least WELCOME',
    {
      type: 'welcome',
      session: 1,
      unixMs: 1_785_000_000_123,
      journalId: count(1, 4),
      nextCallId: 1,
      nonce: null,
    },
  ],
  [
    'WELCOME with every field',
    {
      type: 'welcome',
      session: U32,
      unixMs: 1_785_000_000_123,
      journalId: count(1, 4),
      nextCallId: U32,
      nonce: count(0xb0, 8),
      beatS: 30,
      utcOffsetMin: -210,
      wantCaps: true,
      maxMessage: 65_536,
      rxWindow: 4096,
    },
  ],
  [
    'CAPS of a board that can nothing',
    { type: 'caps', verbs: [], readings: [], page: 0, pages: 1 },
  ],
  [
    'CAPS, the first page of two',
    {
      type: 'caps',
      verbs: [
        ['say', 'text:s200 size?:i1..4 color?:e(black,red)', 2, 'Shows a text'],
        ['status', '', 6, ''],
      ],
      readings: [
        ['temperature', '°C', 0, -2],
        ['door', '', 0],
      ],
      page: 0,
      pages: 2,
      name: 'Küche',
      platform: 'esp32',
      firmware: '1.4.2',
      envelopes: true,
    },
  ],
  ['BEAT', { type: 'beat', uptimeS: 123_456 }],
  ['BEAT with battery, at its largest', { type: 'beat', uptimeS: U32, battery: 100 }],
  [
    'BEAT with every field',
    { type: 'beat', uptimeS: 0, battery: 0, rssi: -63, freeHeap: 180_224, flags: 1 },
  ],
  [
    'CALL without arguments',
    { type: 'call', callId: 1, bootId: 1, verb: 0, args: new Map(), ttlMs: 30_000 },
  ],
  [
    'CALL with a text, a number and an open map',
    {
      type: 'call',
      callId: 70_000,
      bootId: 9,
      verb: 3,
      args: new Map<number, Value>([
        [0, 'grüß dich'],
        [1, 3],
        [2, { title: 'x', rows: { in: '19:30' } }],
      ]),
      ttlMs: 60_000,
    },
  ],
  ['ACK, at its largest', { type: 'ack', callId: U32 }],
  ['PROGRESS', { type: 'progress', callId: 5 }],
  ['PROGRESS with percent and note', { type: 'progress', callId: 5, percent: 40, note: 'drawing' }],
  ['RESULT null', { type: 'result', callId: 5, status: 0, value: null }],
  [
    'RESULT with an object',
    { type: 'result', callId: U32, status: 0, value: { ok: true, temperature: 21.37 } },
  ],
  [
    'RESULT that failed',
    {
      type: 'failure',
      callId: 5,
      status: 1,
      code: 'stale_boot',
      message: 'this board has started again',
    },
  ],
  ['SETTLED', { type: 'settled', callId: 5 }],
  ['CANCEL', { type: 'cancel', callId: 256 }],
  [
    'READINGS by index',
    {
      type: 'readings',
      values: new Map<number, Value>([
        [0, 2137],
        [3, true],
      ]),
    },
  ],
  [
    'READINGS of 12 scaled numbers, in catalog order',
    {
      type: 'readings',
      values: [2137, 4550, 101_325, -512, 0, 1, 400, 65_535, 70_000, -2000, 12, 999],
      ageMs: 1500,
    },
  ],
  ['EVENT', { type: 'event', bootId: 0, seq: 1, kind: 'button', detail: null }],
  [
    'EVENT with detail and age',
    {
      type: 'event',
      bootId: 3,
      seq: 65_536,
      kind: 'tap',
      detail: { x: 10, y: 700, on: 'ok' },
      ageMs: 4_294_967_296,
    },
  ],
  ['STORED', { type: 'stored', bootId: 3, seq: 65_536 }],
  [
    'BLOB_OPEN with call and hash',
    {
      type: 'blobOpen',
      blobId: 7,
      size: 70_000,
      mediaType: 'image/png',
      purpose: 'snapshot',
      callId: 5,
      sha256: count(0, 32),
    },
  ],
  [
    'BLOB_OPEN of nothing',
    { type: 'blobOpen', blobId: 8, size: 0, mediaType: 'text/plain', purpose: 'audio' },
  ],
  ['BLOB_DATA', { type: 'blobData', blobId: 7, offset: 65_536, bytes: count(0xf0, 16) }],
  ['BLOB_ACK', { type: 'blobAck', blobId: 7, nextOffset: 65_536, windowEnd: 70_000 }],
  ['BLOB_CLOSE', { type: 'blobClose', blobId: 7, sha256: count(0, 32) }],
  ['BLOB_DONE: stored', { type: 'blobDone', blobId: 7, status: 0 }],
  ['BLOB_DONE: too large', { type: 'blobDone', blobId: 7, status: 4 }],
  ['ASK in text', { type: 'ask', bootId: 1, askId: 1, question: 'How warm is it? 😀' }],
  ['ASK in sound, as a blob', { type: 'ask', bootId: 1, askId: 2, question: [7] }],
  ['ANSWER, the first part', { type: 'answer', askId: 1, part: 0, last: false, text: 'It is ' }],
  [
    'ANSWER, the last part, with a card',
    {
      type: 'answer',
      askId: 1,
      part: 1,
      last: true,
      text: '21 °C',
      card: { type: 'text', text: '21 °C' },
    },
  ],
  [
    'ANSWER that failed',
    { type: 'answer', askId: 1, part: 0, last: true, text: '', error: 'no agent is there' },
  ],
  [
    'ENVELOPE',
    { type: 'envelope', callId: 6, bootId: 1, kind: 'sky', bytes: fromHex('7b7d'), ttlMs: 1000 },
  ],
  ['MAIL', { type: 'mail', bootId: 1, mailId: 4, op: 'send', args: { to: 'ann', text: 'hi' } }],
  ['MAIL_REPLY', { type: 'mailReply', mailId: 4, ok: false, value: 'no such owner' }],
  ['TRANSCRIPT', { type: 'transcript', bootId: 1, seq: 2, text: 'hello there' }],
  [
    'TRANSCRIPT with every field',
    {
      type: 'transcript',
      bootId: 1,
      seq: 2,
      text: 'hello',
      label: 'desk',
      blobId: 7,
      durationS: 12,
      ageMs: 5,
    },
  ],
  [
    'TASK_RESULT',
    { type: 'taskResult', bootId: 1, seq: 3, taskId: 'scan-1', summary: 'done', result: [1, 2] },
  ],
  ['SLEEP', { type: 'sleep', seconds: 600 }],
  ['stored READINGS', { type: 'storedReadings', bootId: 1, seq: 4, values: [1, 2], ageMs: 60_000 }],
  [
    'PROVISION',
    {
      type: 'provision',
      boardId: BOARD,
      key: count(0x40, 16),
      name: 'kitchen',
      wifi: { ssid: 'home' },
      mqtt: { host: 'pi' },
    },
  ],
  ['PROVISIONED', { type: 'provisioned', boardId: BOARD }],
  ['UNPAIR', { type: 'unpair', boardId: BOARD }],
  ['UNPAIRED', { type: 'unpaired', boardId: BOARD }],
  ['ERROR', { type: 'error', code: 'unsupported', message: 'unknown message', about: 200 }],
];
