import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importsOf, roomOf, violations } from './rooms.js';

const TOP = ['protocol', 'store', 'gateway', 'hub', 'device-sim', 'cli', 'test'];

function sources(): string[] {
  return TOP.flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
      .map((file) => join(room, file).split(sep).join('/')),
  );
}

describe('rooms', () => {
  test('no file of the tree breaks the import rules', () => {
    const files = sources();
    expect(files.length).toBeGreaterThan(50);
    const broken = files.flatMap((file) => violations(file, readFileSync(file, 'utf8')));
    expect(broken).toEqual([]);
    // Every file is parsed, which a machine with other work takes a while for.
  }, 60_000);

  test.each([
    ['protocol/x.ts', "import { openDatabase } from '../store/index.js';"],
    ['protocol/x.ts', "import { createHash } from 'node:crypto';"],
    ['protocol/x.ts', "import { createHash } from 'crypto';"],
    ['store/x.ts', "import type { Value } from '../protocol/kinds.js';"],
    ['gateway/core/x.ts', "export * from '../links/broker.js';"],
    ['gateway/core/x.ts', "const fs = await import('fs/promises');"],
    ['gateway/core/x.ts', "import { nodeCcm } from '../../protocol/node-ccm.js';"],
    ['gateway/links/x.ts', "import { relay } from '../doors/relay/index.js';"],
    ['gateway/doors/relay/x.ts', "type L = import('../../links/link.js').Link;"],
    ['gateway/index.ts', "import { nodeClock } from './node/clock.js';"],
    ['gateway/node/x.ts', "import { createHub } from '../../hub/index.js';"],
    ['hub/x.ts', "import { Gateway } from '../gateway/index.js';"],
    ['device-sim/x.ts', "import { createHub } from '../hub/index.js';"],
    ['hub/x.ts', "import x = require('../cli/run.js');"],
    ['hub/x.ts', "import manifest from '../package.json' with { type: 'json' };"],
    ['hub/x.test.ts', "import { Gateway } from '../gateway/index.js';"],
    ['somewhere/x.ts', ''],
  ])('%s with %j is seen', (file, source) => {
    expect(violations(file, source)).toHaveLength(1);
  });

  test.each([
    ['protocol/node-ccm.ts', "import { createCipheriv } from 'node:crypto';"],
    ['protocol/x.test.ts', "import { readFileSync } from 'node:fs';"],
    ['gateway/core/x.ts', "import { toHex } from '../../protocol/identity.js';"],
    ['gateway/node/x.ts', "import { openDatabase } from '../../store/index.js';"],
    ['gateway/links/x.test.ts', "import { nodeClock } from '../node/clock.js';"],
    ['gateway/core/x.test.ts', "import { x } from '../../test/support/clock.js';"],
    ['cli/x.ts', "import { createHub } from '../hub/index.js';"],
    ['protocol/x.ts', "// import { x } from '../hub/index.js';\nconst s = \"from '../hub'\";"],
  ])('%s with %j is allowed', (file, source) => {
    expect(violations(file, source)).toEqual([]);
  });

  test('every way to name a module is read', () => {
    const source = `import a from 'a'; export { b } from 'b'; import type { C } from 'c';
      type D = import('d').D; const e = await import('e'); import f = require('f');
      const g = require('g'); import 'h';`;
    expect(importsOf('x.ts', source)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
    expect(roomOf('gateway/core/board.ts')).toBe('gateway/core');
  });
});
