/** Which room may import which, read from the sources' own syntax (house.md's table). */
import { posix } from 'node:path';
import ts from 'typescript';

/** Rooms from the most to the least specific path; a file belongs to the first that fits. */
const ROOMS = [
  'protocol',
  'store',
  'gateway/core',
  'gateway/links',
  'gateway/doors',
  'gateway/node',
  'gateway/phone',
  'gateway',
  'hub',
  'device-sim',
  'cli',
  'test',
] as const;
type Room = (typeof ROOMS)[number];

const ALL: readonly Room[] = ROOMS;
const GATEWAY: readonly Room[] = ROOMS.filter((room) => room.startsWith('gateway'));

/** Besides itself. */
const MAY_IMPORT: Readonly<Record<Room, readonly Room[]>> = {
  protocol: [],
  store: [],
  'gateway/core': ['protocol'],
  'gateway/links': ['gateway/core', 'protocol'],
  'gateway/doors': ['gateway/core', 'protocol'],
  'gateway/node': [...GATEWAY, 'protocol', 'store'],
  'gateway/phone': [...GATEWAY, 'protocol'],
  gateway: ['gateway/core', 'protocol'],
  hub: ['protocol', 'store'],
  'device-sim': ['protocol'],
  cli: ALL,
  test: ALL,
};

/** Run in a browser too: no Node module, except in the files that say so. */
const ANYWHERE: readonly Room[] = ['protocol', 'gateway/core', 'gateway'];
const NODE_FILES: readonly string[] = ['protocol/node-ccm.ts'];

/** Packages that are Node's by another name. */
const BUILTIN =
  /^(node:|(assert|buffer|child_process|crypto|dgram|dns|events|fs|http|https|module|net|os|path|process|stream|timers|tls|url|util|v8|vm|worker_threads|zlib)(\/|$))/;

export function roomOf(file: string): Room | undefined {
  return ROOMS.find((room) => file.startsWith(`${room}/`));
}

/** Every module that a source names: import, export from, `import()`, `import type`, require. */
export function importsOf(file: string, source: string): string[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const take = (node: ts.Node | undefined): void => {
    if (node !== undefined && ts.isStringLiteralLike(node)) found.push(node.text);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) take(node.moduleSpecifier);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      take(node.argument.literal);
    } else if (ts.isExternalModuleReference(node)) take(node.expression);
    else if (ts.isCallExpression(node)) {
      const called = node.expression;
      const dynamic = called.kind === ts.SyntaxKind.ImportKeyword;
      if (dynamic || (ts.isIdentifier(called) && called.text === 'require')) {
        take(node.arguments[0]);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

const isTest = (file: string): boolean => /\.(test|fixture)\.ts$/.test(file);

/** Tests may use what is made for tests, and the neighbours under the same roof. */
function testMay(room: Room, other: Room | undefined): boolean {
  return other === 'test' || other?.split('/')[0] === room.split('/')[0];
}

/** What in `file` breaks the rules, as sentences. */
export function violations(file: string, source: string): string[] {
  const room = roomOf(file);
  if (room === undefined) return [`${file}: is in no room`];
  const broken: string[] = [];
  for (const name of importsOf(file, source)) {
    if (!name.startsWith('.')) {
      if (ANYWHERE.includes(room) && BUILTIN.test(name) && !isTest(file)) {
        if (!NODE_FILES.includes(file)) broken.push(`${file}: ${room} must not import ${name}`);
      }
      continue;
    }
    const target = posix.join(posix.dirname(file), name);
    const other = roomOf(target);
    if (other === room || (isTest(file) && testMay(room, other))) continue;
    if (other === undefined || !MAY_IMPORT[room].includes(other)) {
      broken.push(`${file}: ${room} must not import ${other ?? target} (${name})`);
    }
    // What runs anywhere must not come by a Node module through the side door either.
    if (ANYWHERE.includes(room) && NODE_FILES.includes(target.replace(/\.js$/, '.ts'))) {
      broken.push(`${file}: ${room} must not import ${target}`);
    }
  }
  return broken;
}
