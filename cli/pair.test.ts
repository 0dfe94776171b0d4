/** `pair` and `boards unpair` as a person types them, through a gateway on a virtual radio. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlServer, startControl } from './control.js';
import { writeCredentials } from './home.js';
import { testIo } from './hub.fixture.js';
import { askRunning, talked } from './pair.js';
import type { SightingShown } from './pair-admin.js';
import type { Talk } from './pair-types.js';
import { run } from './run.js';
import { bars } from './sighting-words.js';
import { startStack } from './stack.js';
import type { Stack } from './stack-types.js';

let home: string;
let stack: Stack;
let control: ControlServer;
const codeOf = (name: string): string => stack.codes.find((each) => each.name === name)?.code ?? '';

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'mote-pair-'));
  stack = await startStack({
    home,
    hub: { host: '127.0.0.1', port: 0 },
    broker: undefined,
    sims: [
      { kind: 'eink', name: 'glass' },
      { kind: 'env', name: 'air' },
    ],
    ble: { adapter: 'virtual', unpaired: true },
  });
  const { admin: boards, owners, pairing } = stack;
  control = await startControl({ boards, owners, pairing });
  const { url, token } = control;
  writeCredentials(home, { url: stack.url, token: stack.token, control: { url, token } });
}, 30_000);
afterAll(async () => {
  await control?.close();
  await stack?.stop();
  rmSync(home, { recursive: true, force: true });
});

async function motebridge(...argv: string[]) {
  const io = testIo();
  const code = await run([...argv, '--home', home], io);
  return { code, out: io.out(), err: io.err() };
}
async function asked(...argv: string[]) {
  const { code, out } = await motebridge(...argv, '--json');
  return { code, ...JSON.parse(out) };
}

/** A person who gives these answers, one after the other. */
function person(answers: { choose: (heard: readonly SightingShown[]) => number; text: string[] }) {
  const said: string[] = [];
  const talk: Talk = {
    looking: (work) => work,
    choose: async (heard) => heard[answers.choose(heard)],
    async text(_question, wrong) {
      for (let text = answers.text.shift(); text !== undefined; text = answers.text.shift()) {
        const why = wrong(text);
        if (why === undefined) return text;
        said.push(why);
      }
      return undefined;
    },
    step: (words) => void said.push(words),
    end: (words) => void said.push(words),
  };
  return { talk, said };
}

describe('pair', () => {
  it('lists what is heard, with what each needs', async () => {
    const { out } = await motebridge('pair', '--list', '--json');
    const heard: SightingShown[] = JSON.parse(out);
    expect(heard.map(({ name, needs, paired }) => ({ name, needs, paired }))).toEqual(
      expect.arrayContaining([
        { name: 'glass', needs: 'code', paired: false },
        { name: 'air', needs: 'code', paired: false },
      ]),
    );
    const { out: table } = await motebridge('pair', '--list');
    expect(table).toMatch(/▂▄▆█\s+glass\s+c0:|▂▄▆█\s+glass/);
    expect(table).toContain('its set-up code');
  }, 20_000);

  it('takes a code without a question, tells each step, and the board answers', async () => {
    const paired = await motebridge('pair', codeOf('air').toLowerCase(), '--name', 'Hall');
    expect(paired.code).toBe(0);
    expect(paired.out).toMatch(/^Paired Hall \([0-9a-f]{16}\)\. It is online\.$/m);
    const steps = paired.err.trim().split('\n');
    expect(steps).toContain('Giving it a key of its own …');
    expect(steps.at(-1)).toBe('Waiting for it to speak under that key …');
    const { out } = await motebridge('boards', 'list');
    expect(out).toMatch(/^Hall +[0-9a-f]{16} +\S+ +ble$/m);
    expect(await asked('pair', codeOf('air'))).toMatchObject({
      code: 4,
      ok: false,
      error: { code: 'already_paired' },
    });
  }, 60_000);

  it('asks a person for the board, and again for a code that is another board’s', async () => {
    const { talk, said } = person({
      choose: (heard) => heard.findIndex(({ name }) => name === 'glass'),
      text: ['nonsense', codeOf('air'), codeOf('glass')],
    });
    await talked(askRunning(testIo(), home), talk, {});
    expect(said[0]).toMatch(/MOTE1:/);
    expect(said[1]).toMatch(/another board/);
    expect(said.at(-1)).toMatch(/^Paired glass /);
  }, 60_000);

  it('pairs nothing where the person stops', async () => {
    const before = stack.boards().length;
    const { talk, said } = person({ choose: () => -1, text: [] });
    await talked(askRunning(testIo(), home), talk, {});
    expect(said).toEqual(['Nothing was paired.']);
    expect(stack.boards()).toHaveLength(before);
  }, 20_000);

  it.each([
    ['a code that is none', ['pair', 'hello'], 2, 'not_a_code'],
    ['no code, where nobody can be asked', ['pair'], 2, 'usage'],
    ['a board that is not heard', ['pair', '--address', 'aa:bb:cc:dd:ee:ff'], 3, 'not_found'],
    ['a board that is not there', ['boards', 'unpair', 'nobody'], 4, 'unknown_board'],
    ['a code for QR that is none', ['boards', 'qr', 'MOTE1:x'], 2, 'not_a_code'],
  ])(
    'says what is wrong: %s',
    async (_what, argv, exit, code) => {
      expect(await asked(...argv)).toMatchObject({ code: exit, ok: false, error: { code } });
    },
    20_000,
  );

  it('never says a secret back', async () => {
    const secret = codeOf('glass').split(':')[2] ?? 'none';
    const wrong = `MOTE1:0123456789ABCDEF:${secret}9`;
    const { out, err } = await motebridge('pair', wrong, '--json');
    expect(out + err).not.toContain(secret);
  });
});

describe('boards unpair', () => {
  it('has the board forget its key, and the code pairs it again', async () => {
    expect(await asked('boards', 'unpair', 'Hall')).toMatchObject({ ok: true, name: 'Hall' });
    expect((await motebridge('boards', 'list')).out).not.toContain('Hall');
    const again = await asked('pair', codeOf('air'), '--name', 'Porch');
    expect(again).toMatchObject({ ok: true, name: 'Porch', online: true });
  }, 60_000);
});

describe('boards qr', () => {
  it('draws a code, however it was typed, and keeps a picture to its owner', async () => {
    const code = codeOf('glass');
    const { out } = await motebridge('boards', 'qr', code.toLowerCase().replaceAll(':', ' : '));
    expect(out.trimEnd().split('\n').at(-1)).toBe(code);
    expect(out).toContain('█');
    const file = join(home, 'code.png');
    expect(await asked('boards', 'qr', code, '--out', file)).toMatchObject({ ok: true, file });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

it('says that nothing runs, or that it runs without Bluetooth', async () => {
  const io = testIo();
  const empty = mkdtempSync(join(tmpdir(), 'mote-none-'));
  try {
    expect(await run(['pair', '--list', '--json', '--home', empty], io)).toBe(3);
    expect(JSON.parse(io.out()).error.code).toBe('not_running');
  } finally {
    rmSync(empty, { recursive: true });
  }
});

it('draws signals in bars', () => {
  expect([-50, -60, -70, -88, -100, 127].map(bars)).toEqual([
    '▂▄▆█',
    '▂▄▆█',
    '▂▄▆·',
    '▂···',
    '····',
    '····',
  ]);
});
