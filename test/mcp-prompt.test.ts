/** What an MCP client's typed arguments become on their way through the prompt grammar. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readPrompt } from '../gateway/doors/prompt/prompt.js';
import type { BoardCatalog, Verb } from '../protocol/catalog.js';
import { promptOf } from '../protocol/mcp-tools.js';
import { checkArgs, type Param, parseSignature } from '../protocol/signature.js';

const TEXT = fc.oneof(
  fc.constantFrom('', '5', 'true', 'null', '{"a":1}', '[1', '"', 'say', 'a=b', ' x ', 'x=', '{'),
  fc.string({ maxLength: 20, unit: 'grapheme' }),
);
const JSON_VALUE = fc.oneof(
  TEXT,
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.oneof(TEXT, fc.integer()), { maxKeys: 3 }),
  fc.array(TEXT, { maxLength: 3 }),
);

function anyOf(param: Param): fc.Arbitrary<unknown> {
  switch (param.kind) {
    case 'text':
      return TEXT;
    case 'int':
      return fc.integer({ min: param.min ?? 0, max: param.max ?? 0 });
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0);
    case 'bool':
      return fc.boolean();
    case 'enum':
      return fc.constantFrom(...(param.values ?? []));
    case 'json':
      return JSON_VALUE;
  }
}

const SIGNATURES = [
  '',
  '*',
  'text:s',
  'text?:s',
  'text:s *',
  'value:j',
  'value?:j',
  'a:i1..4 b?:n c?:b d?:e(black,red) e?:s f?:j',
  'text:s size?:i1..4',
  'value:j *',
];

const CALL = fc.constantFrom(...SIGNATURES).chain((text) => {
  const signature = parseSignature(text);
  const given = Object.fromEntries(
    signature.params.map((param) => [
      param.name,
      param.optional ? fc.option(anyOf(param), { nil: undefined }) : anyOf(param),
    ]),
  );
  const further = signature.open
    ? fc.dictionary(fc.constantFrom('x', 'y-z', 'q.r'), JSON_VALUE, { maxKeys: 3 })
    : fc.constant({});
  return fc.tuple(fc.record(given), further).map(([named, more]) => {
    const all = Object.entries({ ...more, ...named }).filter(([, value]) => value !== undefined);
    return { signature, args: Object.fromEntries(all) };
  });
});

test('every call that passes its schema arrives as the very same call', () => {
  fc.assert(
    fc.property(CALL, fc.constantFrom('say', 'render_ui', 'led.set', 'a'), (call, name) => {
      fc.pre(checkArgs(call.signature, call.args).length === 0);
      const verb: Verb = {
        index: 0,
        name,
        signature: call.signature,
        description: '',
        protected: false,
        idempotent: false,
        readOnly: false,
      };
      const chat: Verb = { ...verb, name: 'chat', signature: parseSignature('text:s') };
      const catalog = { name: 'board', verbs: [chat, verb] } as unknown as BoardCatalog;
      expect(readPrompt(promptOf(verb, call.args), catalog)).toEqual({
        kind: 'call',
        verb: name,
        args: JSON.parse(JSON.stringify(call.args)),
      });
    }),
    { numRuns: 1_000 },
  );
});
