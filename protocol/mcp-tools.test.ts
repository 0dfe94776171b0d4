import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Named, TOOL_NAME, toolNames } from './mcp-names.js';
import { mcpTools, promptOf, type ToolBoard, type ToolVerb } from './mcp-tools.js';
import { parseSignature } from './signature.js';

const verb = (name: string, signature = '', more: Partial<ToolVerb> = {}): ToolVerb => ({
  name,
  signature: parseSignature(signature),
  description: '',
  protected: false,
  idempotent: false,
  readOnly: false,
  ...more,
});
const board = (id: string, name: string, ...verbs: ToolVerb[]): ToolBoard => ({ id, name, verbs });
const namesOf = (...boards: ToolBoard[]): string[] =>
  mcpTools(boards)
    .tools.map(({ name }) => name)
    .filter((name) => name !== 'use_device');

/** Names that clash easily: few letters, separators, hashes, other scripts, full lengths. */
const BOARD_NAME = fc.oneof(
  fc.stringMatching(/^[ab_. -]{1,4}$/),
  fc.constantFrom('eink', 'Küche', 'Kuche', '厨房', '寝室', '🤖', 'use', 'x'.repeat(64)),
  fc.stringMatching(/^a-[0-9a-f]{10}$/),
  fc.string({ minLength: 1, maxLength: 64, unit: 'grapheme' }),
);
const VERB_NAME = fc.oneof(
  fc.stringMatching(/^[ab_.-]{1,3}$/),
  fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/),
  fc.stringMatching(/^a-[0-9a-f]{10}$/),
);
const fleetOf = (name: fc.Arbitrary<string>, verb: fc.Arbitrary<string>): fc.Arbitrary<Named[]> =>
  fc
    .array(fc.tuple(name, fc.uniqueArray(verb, { maxLength: 6 })), { maxLength: 8 })
    .map((boards) =>
      boards.flatMap(([name, verbs], i) =>
        verbs.map((verb) => ({ boardId: `id-${i}`, board: name, verb })),
      ),
    );
const FLEET = fc.oneof(
  fleetOf(BOARD_NAME, VERB_NAME),
  fleetOf(fc.constantFrom('eink', 'Küche', 'Kuche'), fc.constantFrom('say', 's.y', 's_y')),
);

describe('the names of tools', () => {
  it('are legal, one for each verb, and lead back to it', () => {
    fc.assert(
      fc.property(FLEET, (fleet) => {
        const names = toolNames(fleet);
        expect(names.size).toBe(fleet.length);
        expect(new Set(names.values())).toEqual(new Set(fleet));
        for (const name of names.keys()) expect(name).toMatch(TOOL_NAME);
      }),
      { numRuns: 500 },
    );
  });

  it('do not depend on the order of the boards', () => {
    fc.assert(
      fc.property(
        FLEET.chain((fleet) =>
          fc.tuple(
            fc.constant(fleet),
            fc.shuffledSubarray(fleet, { minLength: fleet.length, maxLength: fleet.length }),
          ),
        ),
        ([fleet, shuffled]) => {
          expect([...toolNames(shuffled)].sort()).toEqual([...toolNames(fleet)].sort());
        },
      ),
    );
  });

  it('never come to mean another board when boards come or go', () => {
    fc.assert(
      fc.property(FLEET, fc.integer({ min: 0, max: 8 }), (fleet, gone) => {
        const before = toolNames(fleet);
        const after = toolNames(fleet.filter(({ boardId }) => boardId !== `id-${gone}`));
        for (const [name, named] of after) expect(before.get(name) ?? named).toBe(named);
      }),
    );
  });

  it('are board and verb where that is plain', () => {
    expect(namesOf(board('1', 'eink', verb('render_ui')))).toEqual(['eink-render_ui']);
    expect(namesOf(board('1', 'Living room', verb('led.set')))).toEqual(['Living_room-led_set']);
  });

  it('are hashed where two would share one, and neither keeps the plain one', () => {
    const [a, b] = namesOf(board('1', 'eink', verb('say')), board('2', 'eink', verb('say')));
    expect(a).toMatch(/^eink-say-[0-9a-f]{10}$/);
    expect(b).toMatch(/^eink-say-[0-9a-f]{10}$/);
    const crossed = namesOf(board('1', 'a-b', verb('c')), board('2', 'a', verb('b-c')));
    expect(crossed).toEqual([
      expect.stringMatching(/^a-b-c-[0-9a-f]{10}$/),
      expect.stringMatching(/^a-b-c-[0-9a-f]{10}$/),
    ]);
  });

  it('stay readable where the board’s is not ASCII, or too long', () => {
    expect(namesOf(board('1', 'Küche', verb('say')))).toEqual([
      expect.stringMatching(/^Kuche-say-[0-9a-f]{10}$/),
    ]);
    expect(namesOf(board('1', '厨房', verb('say')))).toEqual([
      expect.stringMatching(/^board-say-[0-9a-f]{10}$/),
    ]);
    const [long = ''] = namesOf(board('1', 'b'.repeat(64), verb('v'.repeat(64))));
    expect(long).toMatch(/^b{24}-v{28}-[0-9a-f]{10}$/);
    expect(long).toHaveLength(64);
  });

  it('can’t be taken by a board that is named like a hashed one', () => {
    const hashed = namesOf(board('1', 'Küche', verb('say')))[0] ?? '';
    const boards = [board('1', 'Küche', verb('say')), board('2', 'Kuche', verb(hashed.slice(6)))];
    expect(mcpTools(boards).find(hashed)).toMatchObject({ boardId: '1' });
  });
});

describe('the tools of a fleet', () => {
  const eink = board(
    'id-1',
    'eink',
    verb('say', 'text:s200 size?:i1..4', { description: 'Shows a text.', idempotent: true }),
    verb('status', '', { readOnly: true }),
    verb('wipe', '', { protected: true }),
  );

  it('have the verb’s words, its schema and its flags', () => {
    const { tools, find } = mcpTools([eink]);
    expect(tools.map(({ name }) => name)).toEqual([
      'use_device',
      'eink-say',
      'eink-status',
      'eink-wipe',
    ]);
    expect(tools[1]).toEqual({
      name: 'eink-say',
      title: 'eink: say',
      description: 'eink: Shows a text.',
      inputSchema: {
        type: 'object',
        properties: {
          text: { type: 'string', maxLength: 200, description: 'at most 200 bytes of UTF-8' },
          size: { type: 'integer', minimum: 1, maximum: 4 },
        },
        required: ['text'],
        additionalProperties: false,
      },
      annotations: {
        title: 'eink: say',
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: true,
      },
    });
    expect(tools[2]?.annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
    expect(tools[3]?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    expect(tools[3]?.description).toContain('Protected');
    expect(find('eink-say')).toEqual({ boardId: 'id-1', verb: eink.verbs[0] });
    expect(find('use_device')).toBeUndefined();
    expect(find('eink-sa')).toBeUndefined();
  });

  it('have use_device even where there is no board', () => {
    expect(mcpTools([]).tools.map(({ name }) => name)).toEqual(['use_device']);
  });
});

describe('a call as a prompt', () => {
  it('is the verb alone where there are no arguments', () => {
    expect(promptOf(verb('status'), {})).toBe('status');
  });

  it('keeps what a JSON parameter is given as it is', () => {
    const set = verb('set', 'value:j name:s20');
    expect(promptOf(set, { value: '5', name: '5' })).toBe('set {"value":"\\"5\\"","name":"5"}');
    expect(promptOf(set, { value: null })).toBe('set {"value":"null"}');
    expect(promptOf(set, { value: { a: 1 } })).toBe('set {"value":{"a":1}}');
  });
});
