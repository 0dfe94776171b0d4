import { createRequire } from 'node:module';
import { createCanvas } from '@napi-rs/canvas';
import { describe, expect, it } from 'vitest';
import { count, draw, shown } from '../testing/cards.js';
import { CARD_TYPES, CardError, parseCard } from './cards.js';
import { renderError, renderIdle } from './render.js';

// Its types describe a default export that its CommonJS file doesn't have.
const jsQR = createRequire(import.meta.url)('jsqr') as (
  rgba: Uint8ClampedArray,
  width: number,
  height: number,
) => { data: string } | null;

const CONTENT = { x: 0, y: 40, w: 800, h: 440 };

function photo(width = 240, height = 160, type: 'png' | 'jpeg' = 'png'): string {
  const canvas = createCanvas(width, height);
  const ctx = canvas.getContext('2d');
  const gradient = ctx.createLinearGradient(0, 0, width, 0);
  gradient.addColorStop(0, '#000');
  gradient.addColorStop(1, '#fff');
  ctx.fillStyle = gradient;
  ctx.fillRect(0, 0, width, height);
  const bytes = type === 'png' ? canvas.toBuffer('image/png') : canvas.toBuffer('image/jpeg', 80);
  return bytes.toString('base64');
}

async function refusal(card: Record<string, unknown>): Promise<CardError> {
  try {
    await draw(card);
  } catch (error) {
    if (error instanceof CardError) return error;
    throw error;
  }
  throw new Error('the card was drawn');
}

describe('every card', () => {
  const examples: Record<(typeof CARD_TYPES)[number], Record<string, unknown>> = {
    text: { body: 'Hello' },
    list: { items: ['a', 'b'] },
    kv: { rows: { a: 1 } },
    composite: { parts: [{ type: 'text', body: 'x' }] },
    qr: { text: 'hello' },
    chart: { data: [1, 2, 3] },
    chat: { messages: [{ from: 'user', text: 'hi' }] },
    image: { data: photo() },
    menu: { items: ['one'] },
  };

  it.each(CARD_TYPES)('%s has its status line, title, footer and buttons', async (type) => {
    const drawn = await draw({
      ...examples[type],
      type,
      title: 'A title',
      footer: 'A footer',
      card_id: 'c1',
      buttons: [{ id: 'yes', label: 'Yes' }, 'No'],
    });
    for (const words of [
      'Kitchen display',
      'updated 14:32',
      '87%',
      'A title',
      'A footer',
      'Yes',
      'No',
    ]) {
      expect(drawn.words.split('\n')).toContain(words);
    }
    expect(drawn.cardId).toBe('c1');
    expect(drawn.targets.map((t) => t.id).slice(0, 2)).toEqual(['yes', 'No']);
    expect(count(drawn.framebuffer, 0, CONTENT)).toBeGreaterThan(500);
  });

  it('has an id of its content when it brings none', async () => {
    const [a, b, c] = await Promise.all([
      draw({ type: 'text', body: 'a' }),
      draw({ type: 'text', body: 'a' }),
      draw({ type: 'text', body: 'b' }),
    ]);
    expect(a.cardId).toBe(b.cardId);
    expect(a.cardId).not.toBe(c.cardId);
  });

  it('with priority alert has a black band with its title in white', async () => {
    const drawn = await draw({ type: 'text', title: 'Leak', body: 'x', priority: 'alert' });
    const band = { x: 300, y: 42, w: 480, h: 68 };
    expect(count(drawn.framebuffer, 0, band)).toBe(band.w * band.h);
    expect(drawn.words).toContain('Leak');
  });
});

describe('qr', () => {
  const codes: [string, Record<string, unknown>, string][] = [
    ['alone', { type: 'qr' }, 'https://example.org/käse?x=1'],
    ['with words', { type: 'qr', title: 'Wi-Fi', caption: 'Join' }, 'WIFI:S:Mote;T:WPA;P:x;;'],
    ['long', { type: 'qr' }, `https://example.org/${'a'.repeat(600)}`],
  ];

  it.each(codes)('%s can be read from the framebuffer', async (_, card, text) => {
    const { framebuffer } = await draw({ ...card, text });
    expect(jsQR(framebuffer.toRgba(), 800, 480)?.data).toBe(text);
  });

  it('in a part of a composite can be read too', async () => {
    const parts = [
      { type: 'text', body: 'x' },
      { type: 'qr', text: 'MOTE-1234' },
    ];
    const { framebuffer } = await draw({ type: 'composite', parts });
    expect(jsQR(framebuffer.toRgba(), 800, 480)?.data).toBe('MOTE-1234');
  });

  it('too fine for the panel is refused with the way out', async () => {
    const error = await refusal({ type: 'qr', text: 'x'.repeat(2_500) });
    expect(error.code).toBe('too_dense');
    expect(error.message).toContain('2500 bytes');
  });
});

describe('text that does not fit', () => {
  it('ends in a mark, and the card says so', async () => {
    const long = await draw({ type: 'text', title: 'T', body: 'many words '.repeat(600) });
    expect(long.cut).toBe(true);
    expect(long.texts.at(-1)?.text).toMatch(/\[cut\]$/);
    const short = await draw({ type: 'text', title: 'T', body: 'few words' });
    expect(short.cut).toBe(false);
    expect(short.words).not.toContain('[cut]');
  });

  it('in lists, tables and chats says how much is missing', async () => {
    const items = Array.from({ length: 40 }, (_, i) => `Thing ${i}`);
    expect((await draw({ type: 'list', items })).words).toMatch(/\[cut\] \d+ more/);
    const rows = items.slice(0, 40).map((key, i) => [key, i]);
    expect((await draw({ type: 'kv', rows })).words).toMatch(/\[cut\] \d+ more/);
    const messages = items.map((text) => ({ from: 'user', text }));
    expect((await draw({ type: 'chat', messages })).words).toMatch(/\[cut\] \d+ earlier/);
  });

  it('never leaves ink beside the margins', async () => {
    const wide = 'W'.repeat(300);
    for (const card of [
      {
        type: 'text',
        title: wide,
        body: wide,
        footer: wide,
        buttons: [wide.slice(0, 90), wide.slice(0, 90)],
      },
      { type: 'list', title: wide, items: [wide, { text: wide, detail: wide, done: true }] },
      { type: 'kv', rows: { [wide]: wide, b: wide } },
      { type: 'menu', items: Array.from({ length: 24 }, () => wide.slice(0, 150)) },
      { type: 'chat', messages: [{ from: wide, text: wide }] },
    ]) {
      const { framebuffer } = await draw(card);
      expect(count(framebuffer, 3, { x: 0, y: 0, w: 24, h: 480 })).toBe(24 * 480);
      expect(count(framebuffer, 3, { x: 776, y: 0, w: 24, h: 480 })).toBe(24 * 480);
    }
  });
});

describe('kv', () => {
  it('takes an object, pairs, or named rows, and shows numbers as they are', async () => {
    for (const rows of [
      { in: '19:30', out: 4 },
      [
        ['in', '19:30'],
        ['out', 4],
      ],
      [
        { key: 'in', value: '19:30' },
        { label: 'out', value: 4 },
      ],
    ]) {
      const { words } = await draw({ type: 'kv', title: 'Status', rows });
      expect(words.split('\n')).toEqual(
        expect.arrayContaining(['Status', 'in', '19:30', 'out', '4']),
      );
    }
  });
});

describe('chart', () => {
  it('has round numbers on its axis, and covers the data', async () => {
    const { words } = await draw({ type: 'chart', data: [0.3, 9.7, 4], style: 'line', unit: 'W' });
    expect(words.split('\n')).toEqual(
      expect.arrayContaining(['0', '2', '4', '6', '8', '10', '4 W']),
    );
  });

  it('draws bars up and down from zero', async () => {
    const { framebuffer } = await draw({ type: 'chart', style: 'bar', data: [10, -10] });
    const half = (x: number, y: number) => count(framebuffer, 1, { x, y, w: 300, h: 170 });
    expect(half(90, 60)).toBeGreaterThan(4_000);
    expect(half(90, 290)).toBeLessThan(1_500);
  });

  it('takes the range it is given, and flat or huge data', async () => {
    const ranged = await draw({ type: 'chart', data: [5, 6], y_min: 0, y_max: 20 });
    expect(ranged.words.split('\n')).toEqual(expect.arrayContaining(['0', '20']));
    for (const data of [
      [7, 7, 7],
      [0, 0],
      [1e300, -1e300],
      [1e-9, 2e-9],
      [-3, -3],
    ]) {
      for (const style of ['line', 'bar']) {
        const { words } = await draw({ type: 'chart', data, style });
        expect(words).not.toMatch(/NaN|Infinity/);
      }
    }
  });
});

describe('image', () => {
  it('is dithered into the four grays', async () => {
    const { framebuffer } = await draw({ type: 'image', data: photo() });
    for (const gray of [0, 1, 2, 3])
      expect(count(framebuffer, gray, CONTENT)).toBeGreaterThan(5_000);
  });

  it('may be a JPEG, or a data URL', async () => {
    const jpeg = photo(60, 40, 'jpeg');
    for (const data of [jpeg, `data:image/jpeg;base64,${jpeg}`]) {
      const { framebuffer } = await draw({ type: 'image', data });
      expect(count(framebuffer, 1, CONTENT)).toBeGreaterThan(5_000);
    }
  });

  it('by url is refused: this board has no web', async () => {
    const error = await refusal({ type: 'image', url: 'https://example.org/a.png' });
    expect(error.code).toBe('no_web');
    expect(error.message).toContain('image.data');
  });

  it('that is damaged, no picture, or claims to be enormous is refused before it is decoded', async () => {
    const bomb = Buffer.from(photo(), 'base64');
    bomb.writeUInt32BE(60_000, 16);
    bomb.writeUInt32BE(60_000, 20);
    const cases: [string, RegExp][] = [
      [bomb.toString('base64'), /60000×60000/],
      ['!!!', /not base64/],
      [Buffer.from('hello there, I am text').toString('base64'), /neither a PNG nor a JPEG/],
      [photo().slice(0, 60), /damaged|neither/],
      ['/9j/', /neither/],
    ];
    for (const [data, why] of cases) {
      const error = await refusal({ type: 'image', data });
      expect(error.code).toBe('bad_picture');
      expect(error.message).toMatch(why);
    }
  });
});

describe('menu', () => {
  it('makes each of 24 items a place to touch that overlaps no other', async () => {
    const items = Array.from({ length: 24 }, (_, i) => ({ id: `i${i}`, label: `Item ${i}` }));
    const { targets } = await draw({ type: 'menu', title: 'M', items });
    expect(targets.map((t) => t.id)).toEqual(items.map((i) => i.id));
    for (const a of targets) {
      expect(a.x >= 0 && a.y >= 0 && a.x + a.w <= 800 && a.y + a.h <= 480).toBe(true);
      for (const b of targets) {
        if (a === b) continue;
        const apart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
        expect(apart).toBe(true);
      }
    }
  });
});

describe('a card that can’t be shown', () => {
  it.each([
    [{ type: 'hologram', title: 'x' }, 'unknown_type', /"hologram"; this display draws text, list/],
    [{ title: 'no type' }, 'unknown_type', /no type/],
    [{ type: '__proto__' }, 'unknown_type', /__proto__/],
    [{ type: 'constructor' }, 'unknown_type', /constructor/],
    [{ type: 'text' }, 'invalid_card', /title or a body/],
    [{ type: 'list', items: [] }, 'invalid_card', /items/],
    [{ type: 'menu', items: Array(25).fill('x') }, 'invalid_card', /items/],
    [{ type: 'chart', data: [1] }, 'invalid_card', /data/],
    [{ type: 'chart', data: ['1', '2'] }, 'invalid_card', /data/],
    [{ type: 'chart', data: [1, 2], y_min: 3, y_max: 3 }, 'invalid_card', /y_min below y_max/],
    [{ type: 'kv', rows: {} }, 'invalid_card', /1 to 60 rows/],
    [
      { type: 'composite', parts: Array(5).fill({ type: 'text', body: 'x' }) },
      'invalid_card',
      /parts/,
    ],
    [{ type: 'composite', parts: [{ type: 'composite', parts: [] }] }, 'unknown_type', /part 1/],
    [
      { type: 'composite', parts: [{ type: 'text', body: 'x' }, { type: 'qr' }] },
      'invalid_card',
      /part 2/,
    ],
    [{ type: 'text', body: 'x', buttons: Array(5).fill('b') }, 'invalid_card', /buttons/],
  ])('%j is refused as %s', (card, code, why) => {
    const error = (() => {
      try {
        parseCard(card);
      } catch (thrown) {
        return thrown;
      }
      return undefined;
    })();
    expect(error).toBeInstanceOf(CardError);
    expect((error as CardError).code).toBe(code);
    expect((error as CardError).message).toMatch(why);
  });

  it('is named on the error card, however it is called', () => {
    const drawn = shown(
      renderError({ asked: 'holo\u202egram', code: 'unknown_type', message: 'why' }, { name: 'D' }),
    );
    expect(drawn.words).toContain('“hologram”');
    expect(drawn.words).toContain('unknown_type');
    const long = shown(
      renderError(
        { asked: 'x'.repeat(5000), code: 'c', message: 'm '.repeat(5000) },
        { name: 'D' },
      ),
    );
    expect(long.cut).toBe(true);
  });
});

it('shows its name and id until its first card', () => {
  const { words } = shown(renderIdle('00112233445566ff', { name: 'Kitchen display' }));
  expect(words).toContain('00112233445566ff');
  expect(words).toContain('no gateway yet');
});
