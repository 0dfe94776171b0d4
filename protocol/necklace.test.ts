import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodeNecklaceBeacon,
  encodeNecklaceBeacon,
  NECKLACE_CONFIG,
  NECKLACE_SERVICE,
  NECKLACE_STATUS,
  NECKLACE_WAKE,
  NecklaceLines,
  necklaceIdentityBytes,
  readStatus,
  readVerdict,
  readWake,
} from './necklace.js';

const utf8 = new TextEncoder();

function reader() {
  const objects: unknown[] = [];
  const bad: string[] = [];
  const lines = new NecklaceLines(
    (object) => objects.push(object),
    (why) => bad.push(why),
  );
  let now = 0;
  return {
    objects,
    bad,
    lines,
    say: (text: string | Uint8Array, afterMs = 10) => {
      now += afterMs;
      lines.push(typeof text === 'string' ? utf8.encode(text) : text, now);
    },
  };
}

test('the UUIDs spell their names', () => {
  const letters = (uuid: string) =>
    Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('latin1').replaceAll('\xff', '');
  expect([NECKLACE_SERVICE, NECKLACE_CONFIG, NECKLACE_WAKE, NECKLACE_STATUS].map(letters)).toEqual([
    'tiny_ble_provis1',
    'tiny_cfg_write01',
    'tiny_wake_evnt01',
    'tiny_stat_rd01',
  ]);
});

test('manufacturer data says which kind it is and whether it has an identity', () => {
  expect([...encodeNecklaceBeacon('vision', false)]).toEqual([0xff, 0xff, 0x54, 0x4e, 1, 0]);
  for (const kind of ['vision', 'voice'] as const) {
    const beacon = decodeNecklaceBeacon(encodeNecklaceBeacon(kind, true));
    expect(beacon).toEqual({ kind, provisioned: true });
  }
  expect(decodeNecklaceBeacon(Uint8Array.of(0xff, 0xff, 0x54, 0x4e, 9, 0))).toEqual({
    kind: undefined,
    provisioned: false,
  });
  expect(decodeNecklaceBeacon(Uint8Array.of(0xff, 0xff, 0x54, 0x4e, 1))).toBeUndefined();
  expect(decodeNecklaceBeacon(Uint8Array.of(0xff, 0xff, 1, 0, 1, 2, 3, 4))).toBeUndefined();
});

describe('objects out of notifications', () => {
  test('one object in seven notifications, three in one, and one without a newline', () => {
    const { objects, bad, say } = reader();
    const bytes = utf8.encode('{"wake":1,"label":"ålexa"}\n');
    const step = Math.ceil(bytes.length / 7);
    for (let i = 0; i < 7; i++) say(bytes.slice(i * step, (i + 1) * step));
    say('{"wake":2}\n{"wake":3}\r\n\n{"wake":4}');
    say('{"wake":5}');
    expect(objects).toEqual([
      { wake: 1, label: 'ålexa' },
      { wake: 2 },
      { wake: 3 },
      { wake: 4 },
      { wake: 5 },
    ]);
    expect(bad).toEqual([]);
  });

  test('after a lost end the next object is read all the same', () => {
    const { objects, bad, say } = reader();
    say('{"wake":1,"la');
    say('{"wake":2,"label":"b"}\n');
    expect(objects).toEqual([{ wake: 2, label: 'b' }]);
    expect(bad).toEqual(['bad_json']);
    say('{"wake":3,"la');
    say('{"wake":4}', 2_000);
    expect(objects.at(-1)).toEqual({ wake: 4 });
    expect(bad).toEqual(['bad_json', 'lost_part']);
  });

  test('a line that is too long is left out whole, and the next one is read', () => {
    const { objects, bad, say } = reader();
    say('{"wake":1,"label":"');
    for (let i = 0; i < 100; i++) say('x'.repeat(500));
    say('"}\n{"wake":2}\n');
    expect(objects).toEqual([{ wake: 2 }]);
    expect(bad).toEqual(['too_long']);
  });

  test.each([
    ['[1]\n', 'bad_json'],
    ['null\n', 'bad_json'],
    ['7\n', 'bad_json'],
    ['{"a":}\n', 'bad_json'],
    [Uint8Array.of(0x7b, 0xff, 0x7d, 0x0a), 'bad_utf8'],
  ])('%j is told as %s', (line, why) => {
    const { objects, bad, say } = reader();
    say(line);
    expect([objects, bad]).toEqual([[], [why]]);
  });

  test('however objects are cut into notifications, the same ones come out', () => {
    const labels = fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 5 });
    fc.assert(
      fc.property(
        labels,
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
        (all, cuts) => {
          const { objects, bad, say } = reader();
          const sent = all.map((label, wake) => ({ wake, label: label.toWellFormed() }));
          const bytes = utf8.encode(sent.map((each) => `${JSON.stringify(each)}\n`).join(''));
          for (let at = 0, i = 0; at < bytes.length; i++) {
            const size = cuts[i % cuts.length] as number;
            say(bytes.slice(at, at + size));
            at += size;
          }
          expect(objects).toEqual(sent);
          expect(bad).toEqual([]);
        },
      ),
    );
  });

  test('no bytes make it throw', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 600 }), { maxLength: 10 }), (all) => {
        const { say, objects } = reader();
        for (const bytes of all) say(bytes);
        for (const each of objects as Record<string, unknown>[]) {
          readWake(each);
          readStatus(each);
          readVerdict(each);
        }
      }),
    );
  });
});

test('a wake has a counter and a label; controls in it become spaces, and it is cut', () => {
  expect(readWake({ wake: 3, label: 'alexa' })).toEqual({ wake: 3, label: 'alexa' });
  expect(readWake({ wake: 0, label: `a\n\u001b${'😀'.repeat(99)}` })?.label).toBe(
    `a  ${'😀'.repeat(61)}`,
  );
  for (const bad of [{}, { wake: 1 }, { wake: '1', label: 'a' }, { wake: -1, label: 'a' }]) {
    expect(readWake(bad)).toBeUndefined();
  }
  expect(readWake({ wake: 1e99, label: 'a' })).toBeUndefined();
});

test('of a status what has the right type counts', () => {
  expect(readStatus({ ndp: true, mic: 1, w: 4, l: 'alexa', up: 60 })).toEqual({
    ndp: true,
    mic: true,
    wakes: 4,
    lastLabel: 'alexa',
    uptimeS: 60,
  });
  expect(readStatus({ ndp: 0, mic: 'yes', w: -1, l: 7, up: 1.5 })).toEqual({ ndp: false });
  expect(readStatus({ wake: 1, label: 'x' })).toBeUndefined();
});

test('a verdict has the key ok; what a board echoes has not', () => {
  expect(readVerdict({ ok: true })).toEqual({ ok: true, complete: true, missing: [] });
  expect(readVerdict({ ok: true, complete: false, missing: ['token', 7] })).toEqual({
    ok: true,
    complete: false,
    missing: ['token'],
  });
  expect(readVerdict({ ok: false, error: 'flash' })).toMatchObject({ ok: false, error: 'flash' });
  const echo = JSON.parse(
    new TextDecoder().decode(necklaceIdentityBytes({ device_id: 'a', token: '"ok":true' })),
  );
  expect(readVerdict(echo)).toBeUndefined();
  expect(readVerdict({ ok: 1 })).toBeUndefined();
});
