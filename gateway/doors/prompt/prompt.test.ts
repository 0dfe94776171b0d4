import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkArgs } from '../../../protocol/signature.js';
import { catalogOf, EINK, TALKER, verb } from './boards.fixture.js';
import { readPrompt } from './prompt.js';

const call = (prompt: string, catalog = EINK): [string, Record<string, unknown>] => {
  const read = readPrompt(prompt, catalog);
  if (read.kind !== 'call') throw new Error(`answered: ${JSON.stringify(read.outcome)}`);
  return [read.verb, read.args];
};
const refusal = (prompt: string, catalog = EINK): string => {
  const read = readPrompt(prompt, catalog);
  if (read.kind !== 'answer' || read.outcome.kind !== 'refused') {
    throw new Error(`not refused: ${JSON.stringify(read)}`);
  }
  return `${read.outcome.code}: ${read.outcome.message}`;
};

describe('the verb of a prompt', () => {
  it.each([
    ['status', 'status'],
    ['  status  ', 'status'],
    ['STATUS', 'status'],
    ['stat', 'status'],
    ['status.', 'status'],
    ['say: hello', 'say'],
    ['render_ui {"type":"text"}', 'render_ui'],
    ['render ui {"type":"text"}', 'render_ui'],
    ['render-ui {"type":"text"}', 'render_ui'],
    ['Render UI type=text', 'render_ui'],
    ['render_ui{"type":"text"}', 'render_ui'],
    ['render {"type":"text"}', 'render_ui'],
    ['ren {"type":"text"}', 'render_ui'],
    ['sn', 'snapshot'],
  ])('%s is %s', (prompt, name) => {
    expect(call(prompt)[0]).toBe(name);
  });

  it('prefers the exact name to a longer one that begins so', () => {
    const catalog = catalogOf([verb('led_all'), verb('led'), verb('leds')]);
    expect(call('led', catalog)[0]).toBe('led');
    expect(call('led all', catalog)[0]).toBe('led_all');
  });

  it('runs none of several that fit, and names them', () => {
    const said = refusal('s');
    expect(said).toMatch(/^unknown_verb: .*say, status, snapshot/);
    expect(said).toContain('Nothing was run');
  });

  it('takes no short prefix in front of other words', () => {
    expect(refusal('sn now')).toMatch(/^unknown_verb/);
  });

  it('answers an unknown verb with every verb and its signature', () => {
    const said = refusal('frobnicate 7');
    for (const { name, signature } of EINK.verbs) {
      expect(said).toContain(signature.text === '' ? `- ${name}` : `- ${name} ${signature.text}`);
    }
    expect(said).toContain('How the board is.');
  });

  it('answers a call for help with the same text, as a result', () => {
    const read = readPrompt('help', EINK);
    if (read.kind !== 'answer') throw new Error('sent to the board');
    expect(read.outcome).toMatchObject({
      kind: 'ok',
      value: expect.stringContaining('- tap x:i0..799'),
    });
  });

  it.each(['', '   ', '\n\t'])('answers the empty prompt %j', (prompt) => {
    expect(refusal(prompt)).toMatch(/^bad_arguments: The prompt is empty/);
    expect(refusal(prompt, TALKER)).toMatch(/^bad_arguments: The prompt is empty/);
  });

  it('gives the whole prompt to chat where the board has one and no verb fits', () => {
    expect(call('what is on the screen?', TALKER)).toEqual([
      'chat',
      { text: 'what is on the screen?' },
    ]);
    expect(call('s', TALKER)).toEqual(['chat', { text: 's' }]);
    // Only like a verb, with a tail that is none of its arguments.
    expect(call('stat of the art', TALKER)).toEqual(['chat', { text: 'stat of the art' }]);
    expect(call('status', TALKER)[0]).toBe('status');
  });
});

describe('the arguments of a prompt', () => {
  it.each<[string, Record<string, unknown>]>([
    [
      'render_ui {"type":"kv","title":"Status","rows":{"in":"19:30"}}',
      { type: 'kv', title: 'Status', rows: { in: '19:30' } },
    ],
    [
      'render_ui type=qr text="a b" size=3 big=true list=[1,2]',
      { type: 'qr', text: 'a b', size: 3, big: true, list: [1, 2] },
    ],
    ['say hello world', { text: 'hello world' }],
    ['say "hello world"', { text: 'hello world' }],
    ['say text="hello world"', { text: 'hello world' }],
    ['say text=hello world', { text: 'hello world' }],
    ['say a=1 b=2', { text: 'a=1 b=2' }],
    ['say {not json', { text: '{not json' }],
    ['say {"text":"hi"}', { text: 'hi' }],
    ['say {"a":1}', { text: '{"a":1}' }],
    ['say "it\\"s"', { text: 'it"s' }],
    ["say it's five", { text: "it's five" }],
    ['say "open', { text: '"open' }],
    ['tap 5 7', { x: 5, y: 7 }],
    ['tap y=7 x=5', { x: 5, y: 7 }],
    ['tap 5 y=7', { x: 5, y: 7 }],
    ['tap {"x":"5","y":7}', { x: 5, y: 7 }],
    ['led red', { color: 'red' }],
    ['led RED 0.5 on', { color: 'red', level: 0.5, blink: true }],
    ['led color=blue blink=no', { color: 'blue', blink: false }],
    ['led {"color":"green","level":null}', { color: 'green' }],
    ['note Hello', { title: 'Hello' }],
    ['note Hello this is all body', { title: 'Hello', body: 'this is all body' }],
    ['note "Two words" and body', { title: 'Two words', body: 'and body' }],
    ['count chapter 3', { text: 'chapter', times: 3 }],
    ['count hello world', { text: 'hello world' }],
    ['count all the numbers to 3', { text: 'all the numbers to 3' }],
    ['draw {"r":5}', { shape: { r: 5 } }],
    ['draw {"shape":{"r":5}}', { shape: { r: 5 } }],
    ['draw [1,2]', { shape: [1, 2] }],
    ['draw circle', { shape: 'circle' }],
    ['status', {}],
    ['render_ui', {}],
  ])('%s', (prompt, args) => {
    expect(call(prompt)[1]).toEqual(args);
  });

  it.each([
    ['tap a 7', 'x', '“a”', 'a whole number from 0 to 799'],
    ['tap 5 900', 'y', '“900”', 'a whole number from 0 to 479'],
    ['tap 5.5 7', 'x', '“5.5”', 'a whole number'],
    ['tap x=0x10 y=1', 'x', '“0x10”', 'a whole number'],
    ['led purple', 'color', '“purple”', 'one of red, green, blue'],
    ['led red 2', 'level', '“2”', 'a number from 0 to 1'],
    ['led red 1 maybe', 'blink', '“maybe”', 'true or false'],
    ['led {"color":["red"]}', 'color', '["red"]', 'one of red, green, blue'],
    ['say {"text":{"a":1}}', 'text', '{"a":1}', 'text of at most 200 bytes'],
    ['count hello 9', 'times', '“9”', 'a whole number from 1 to 4'],
  ])(
    '%s: names the parameter, what was given and what is allowed',
    (prompt, name, given, allowed) => {
      const said = refusal(prompt);
      expect(said).toMatch(/^bad_arguments: /);
      expect(said).toContain(`${name} was given ${given} and takes ${allowed}`);
      expect(said).toContain('Nothing was run.');
    },
  );

  it.each([
    ['status now', 'takes no arguments'],
    ['tap 1 2 3', 'takes x, y'],
    ['tap z=3 x=1', 'has no parameter “z”; it takes x, y'],
    ['tap x=1 x=2', 'was given x twice'],
    ['tap {"x":1,"z":2}', 'has no parameter “z”'],
    ['render_ui {"type":', "can't be read"],
    ['render_ui {"a":1} and more', "can't be read"],
    ['render_ui hello', 'takes a JSON object or key=value pairs'],
    ['render_ui {"__proto__":{"a":1}}', '__proto__'],
    ['render_ui {"a":{"__proto__":1}}', '__proto__'],
    ['render_ui __proto__=1', '__proto__'],
    ['draw {"__proto__":1}', '__proto__'],
    ['say {"__proto__":1,"text":"x"}', '__proto__'],
    ['draw [[[[[[[[1]]]]]]]]', 'nested deeper'],
  ])('%s is refused with its reason', (prompt, reason) => {
    expect(refusal(prompt)).toContain(reason);
  });
});

describe('hostile prompts', () => {
  const noise = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.string({ maxLength: 300 }),
    fc.json({ maxDepth: 9 }),
    fc
      .array(
        fc.constantFrom(
          'tap',
          'render',
          'ui',
          'say',
          'x=',
          '"',
          "'",
          '{',
          '}',
          '[',
          '\\',
          '=',
          '1',
          '\u0000',
          '__proto__',
          ' ',
          '\n',
          'led',
        ),
        { maxLength: 40 },
      )
      .map((parts) => parts.join('')),
  );

  it('always gets a call or an answer, and touches no prototype', () => {
    fc.assert(
      fc.property(
        noise,
        fc.constantFrom('', 'say ', 'tap ', 'render_ui ', 'draw ', 'led '),
        fc.boolean(),
        (text, head, talks) => {
          const catalog = talks ? TALKER : EINK;
          const read = readPrompt(head + text, catalog);
          expect(({} as Record<string, unknown>).a).toBeUndefined();
          if (read.kind === 'answer') {
            expect(read.outcome.kind).toMatch(/^(ok|refused)$/);
            return;
          }
          expect(Object.getPrototypeOf(read.args)).toBe(Object.prototype);
          const { signature } = catalog.verbs.find(({ name }) => name === read.verb) ?? {
            signature: undefined,
          };
          expect(signature).toBeDefined();
          // What was coerced is of its kind: only what is missing or too long may be left to say.
          if (signature) {
            for (const problem of checkArgs(signature, read.args)) {
              expect(problem).toMatch(/missing|needed|required|bytes|long/i);
            }
          }
        },
      ),
      { numRuns: 1500 },
    );
  });

  it('reads arguments written as JSON, as pairs and as words alike', () => {
    const text = fc.string({ minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(text, text, fc.integer({ min: 0, max: 479 }), (title, body, n) => {
        const args = { title, body };
        const quoted = (s: string): string =>
          `"${s.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
        expect(call(`note ${JSON.stringify(args)}`)[1]).toEqual(args);
        expect(call(`note body=${quoted(body)} title=${quoted(title)}`)[1]).toEqual(args);
        expect(call(`note ${quoted(title)} ${quoted(body)}`)[1]).toEqual(args);
        expect(call(`tap ${n} ${n}`)[1]).toEqual({ x: n, y: n });
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['brackets', `render_ui ${'['.repeat(8000)}`],
    ['braces', `render_ui ${'{"a":'.repeat(1600)}1${'}'.repeat(1600)}`],
    ['nested pairs', `render_ui ${'a='.repeat(4000)}`],
    ['words', `tap ${'1 '.repeat(4000)}`],
    ['quotes', `tap ${'"'.repeat(8000)}`],
    ['backslashes', `note "${'\\'.repeat(8000)}`],
    ['blanks', `tap${' '.repeat(8000)}1`],
    ['one long word', 'x'.repeat(8192)],
  ])('is quick with 8 kB of %s', (_what, prompt) => {
    const start = performance.now();
    readPrompt(prompt, EINK);
    readPrompt(prompt, TALKER);
    expect(performance.now() - start).toBeLessThan(250);
  });

  it('quotes a long given value only in part', () => {
    expect(refusal(`led ${'z'.repeat(8000)}`).length).toBeLessThan(300);
  });
});
