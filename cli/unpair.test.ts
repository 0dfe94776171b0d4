/** `boards unpair` where the board does not hear of it, or is not the only one of its name. */
import { expect, it } from 'vitest';
import { air, boardOnAir, gatewayOn } from './air.fixture.js';

async function paired(...names: string[]) {
  const gateway = await gatewayOn();
  const boards = [];
  for (const name of names) {
    const board = await boardOnAir(name);
    expect(await gateway.motebridge('pair', board.code)).toMatchObject({ code: 0 });
    boards.push(board);
  }
  return { ...gateway, boards };
}

it('an offline board is kept until it is to be forgotten by force', {
  timeout: 60_000,
}, async () => {
  const { motebridge, states, boards } = await paired('porch');
  await boards[0]?.end();
  await expect.poll(states, { timeout: 20_000 }).toEqual(['unreachable']);
  expect(await motebridge('boards', 'unpair', 'porch')).toMatchObject({
    code: 3,
    answer: { ok: false, error: { code: 'offline', message: expect.stringContaining('--force') } },
  });
  expect((await motebridge('boards', 'list')).answer).toMatchObject([{ name: 'porch' }]);
  expect(await motebridge('boards', 'unpair', 'porch', '--force')).toMatchObject({
    code: 0,
    answer: { ok: true, name: 'porch' },
  });
  expect((await motebridge('boards', 'list')).answer).toEqual([]);
  expect(states()).toEqual([]);
});

it('a board that does not answer may have forgotten its key, and is kept', {
  timeout: 60_000,
}, async () => {
  const { motebridge, states } = await paired('porch');
  expect(states()).toEqual(['online']);
  air.rule = ({ up }) => (up ? undefined : 'drop');
  expect(await motebridge('boards', 'unpair', 'porch')).toMatchObject({
    code: 3,
    answer: { error: { code: expect.stringMatching(/^(unconfirmed|offline)$/) } },
  });
  expect((await motebridge('boards', 'list')).answer).toMatchObject([{ name: 'porch' }]);
  air.rule = undefined;
  await expect.poll(states, { timeout: 30_000 }).toEqual(['online']);
  expect(await motebridge('boards', 'unpair', 'porch')).toMatchObject({ code: 0 });
});

it('a name that could be two boards is neither', { timeout: 60_000 }, async () => {
  const { motebridge } = await paired('Porch', 'porch');
  const asked = await motebridge('boards', 'unpair', 'PORCH');
  expect(asked).toMatchObject({
    code: 2,
    answer: { error: { code: 'ambiguous', message: expect.stringContaining('Porch, porch') } },
  });
  expect((await motebridge('boards', 'list')).answer).toHaveLength(2);
});

it('with --force too, a board that hears of it is told', { timeout: 60_000 }, async () => {
  const { motebridge, boards } = await paired('porch');
  expect(await motebridge('boards', 'unpair', 'porch', '--force')).toMatchObject({ code: 0 });
  const again = await motebridge('pair', boards[0]?.code ?? '', '--name', 'again');
  expect(again).toMatchObject({ code: 0, answer: { name: 'again', online: true } });
});
