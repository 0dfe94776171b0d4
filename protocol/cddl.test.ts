import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MESSAGES, type MessageDef } from './messages.js';

const source = readFileSync(new URL('./frame.cddl', import.meta.url), 'utf8');

interface Rule {
  comments: string[];
  id: number;
  fields: [name: string, type: string][];
  extras: [name: string, key: number, type: string][];
}

/** The message rules of the CDDL, by the name that the table gives them. */
function rules(): Map<string, Rule> {
  const found = new Map<string, Rule>();
  for (const match of source.matchAll(/((?:^;.*\n)*)^([a-z-]+) = \[\n([\s\S]*?)^\]$/gm)) {
    const [, comments = '', name = '', body = ''] = match;
    const lines = body.split('\n').filter((l) => l.trim() !== '' && !l.trim().startsWith(';'));
    const rule: Rule = {
      comments: comments.split('\n').map((c) => c.slice(2)),
      id: Number(lines[0]?.trim().replace(',', '')),
      fields: [],
      extras: [],
    };
    for (const line of lines.slice(1)) {
      const extra = /^ {4}\? (\d+) \^ => (.*?), {2}; ([A-Za-z0-9]+)/.exec(line);
      const field = /^ {2}([A-Za-z0-9]+): (.*?),(?: {2};.*)?$/.exec(line);
      if (extra) rule.extras.push([extra[3] ?? '', Number(extra[1]), extra[2] ?? '']);
      else if (field) rule.fields.push([field[1] ?? '', field[2] ?? '']);
      else expect(['  ? {', '    * uint => any,', '  },', '  * any,']).toContain(line);
    }
    found.set(
      name.replace(/-[a-z]/g, (c) => c.slice(1).toUpperCase()),
      rule,
    );
  }
  return found;
}

describe('frame.cddl', () => {
  it('has the same ids, fields, keys and kinds as the message table', () => {
    const table = new Map(
      (Object.entries(MESSAGES) as [string, MessageDef][]).map(([name, def]) => [
        name,
        {
          id: def.id,
          fields: Object.entries(def.fields).map(([field, kind]) => [field, kind.words]),
          extras: Object.entries(def.extras).map(([field, [key, kind]]) => [
            field,
            key,
            kind.words,
          ]),
        },
      ]),
    );
    const cddl = new Map([...rules()].map(([name, { comments: _, ...rule }]) => [name, rule]));
    expect(cddl).toEqual(table);
  });

  it('says of each message what it means and which way it goes', () => {
    const ways = { board: 'board to gateway', gateway: 'gateway to board', both: 'both ways' };
    for (const [name, rule] of rules()) {
      const def = MESSAGES[name as keyof typeof MESSAGES];
      expect(rule.comments).toEqual([def.means, ways[def.from], '']);
    }
  });

  it('lists every message in its choice, and defines every name that it uses', () => {
    const names = [...source.matchAll(/^([A-Za-z-]+) = /gm)].map((m) => m[1]);
    const choice = /^message = ([\s\S]*?)\n\n/m.exec(source)?.[1] ?? '';
    const messages = choice.split('/').map((n) => n.trim());
    expect(messages).toHaveLength(rules().size);
    for (const name of messages) expect(names).toContain(name);
    const known = new Set([...names, 'uint', 'bstr', 'tstr', 'bool', 'any', 'null', 'size']);
    for (const rule of rules().values()) {
      for (const type of [...rule.fields.map((f) => f[1]), ...rule.extras.map((e) => e[2])]) {
        for (const [word] of type.matchAll(/[A-Za-z][A-Za-z-]*/g)) expect(known).toContain(word);
      }
    }
  });
});
