import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AnswerReader } from './answer.js';

function read(...pieces: string[]) {
  const reader = new AnswerReader();
  const batches = [...pieces.flatMap((piece) => reader.feed(piece)), ...reader.end()];
  return { batches, text: reader.text, card: reader.card };
}

const block = (json: string) => `\`\`\`card\n${json}\n\`\`\`\n`;
const card = { type: 'kv', rows: { a: 1 } };

describe('the card in an answer', () => {
  test('D118 is taken out and the prose around it joined', () => {
    expect(read(`Before.\n${block(JSON.stringify(card))}After.`)).toMatchObject({
      text: 'Before.\nAfter.',
      card,
    });
    expect(read(block(JSON.stringify(card)).trimEnd())).toMatchObject({ text: '', card });
  });

  test('D118 over 4 KB, no object, of an unknown type, or broken: dropped, the text kept', () => {
    const fits = { type: 'text', body: 'x'.repeat(4096 - '{"type":"text","body":""}'.length) };
    expect(read(`a\n${block(JSON.stringify(fits))}b`).card).toEqual(fits);
    const over = { ...fits, body: `${fits.body}x` };
    for (const json of [
      JSON.stringify(over),
      JSON.stringify({ ...fits, body: 'x'.repeat(20_000) }),
      JSON.stringify([card]),
      '"text"',
      'null',
      '{"type":"keyboard"}',
      '{"type":7}',
      '{}',
      '{"type":"text"',
      '['.repeat(2000),
    ]) {
      expect(read(`a\n${block(json)}b`)).toEqual({
        batches: ['a\nb'],
        text: 'a\nb',
        card: undefined,
      });
    }
  });

  test('a block that is never closed is no card, another fence is text', () => {
    expect(read('a\n```card\n{"type":"text"}')).toMatchObject({ text: 'a', card: undefined });
    expect(read('```js\n1\n```')).toMatchObject({ text: '```js\n1\n```', card: undefined });
    expect(read('see ```card\nhere')).toMatchObject({ text: 'see ```card\nhere' });
    expect(read('```cards\n1\n```')).toMatchObject({ text: '```cards\n1\n```' });
  });

  test('the first good one counts', () => {
    const two = `${block('{"type":"x"}')}${block('{"type":"text"}')}${block('{"type":"list"}')}`;
    expect(read(two)).toMatchObject({ text: '', card: { type: 'text' } });
  });

  test('however it is cut into pieces, the same comes of it', () => {
    const answer = `One two three four five.\n\n${block(JSON.stringify(card))}\n  six  \`\`\`x\n\`\`\`ca\nseven`;
    const once = read(answer);
    expect(once.card).toEqual(card);
    fc.assert(
      fc.property(fc.array(fc.nat(answer.length), { maxLength: 30 }), (cuts) => {
        const at = [0, ...[...cuts].sort((a, b) => a - b), answer.length];
        const pieces = at.slice(1).map((end, i) => answer.slice(at[i], end));
        const { batches, text, card } = read(...pieces);
        expect({ text, card }).toEqual({ text: once.text, card: once.card });
        expect(batches.join('')).toBe(once.text);
      }),
    );
  });
});

describe('the text of an answer', () => {
  test('comes in batches of four words that join to the whole', () => {
    const { batches, text } = read(' a b', ' c d', ' e  f g\nh i ');
    expect(batches).toEqual(['a b c d', ' e  f g\nh', ' i']);
    expect(text).toBe('a b c d e  f g\nh i');
  });

  test('a word is not handed out before it is whole', () => {
    const reader = new AnswerReader();
    expect(reader.feed('one two three fo')).toEqual([]);
    expect(reader.feed('ur')).toEqual([]);
    expect(reader.feed(' ')).toEqual(['one two three four']);
  });

  test('is cut at 2,000 units and never within a character; a card behind is still read', () => {
    const long = read(`${'x'.repeat(1999)}😀y\n${block('{"type":"text"}')}`);
    expect(long.text).toBe('x'.repeat(1999));
    expect(long.card).toEqual({ type: 'text' });
    expect(read('ab '.repeat(2000)).text.length).toBeLessThanOrEqual(2000);
    expect(read('ab '.repeat(2000)).text.length).toBeGreaterThan(1990);
  });

  test('an endless answer is enough at some point, also one of empty pieces', () => {
    for (const piece of ['', 'x', 'word '.repeat(100), '\n', '`']) {
      const reader = new AnswerReader();
      let fed = 0;
      while (!reader.enough && fed < 100_000) {
        reader.feed(piece);
        fed += 1;
      }
      expect(reader.enough).toBe(true);
    }
  });
});
