/** A display asks its owner's agent and reads their mail, through a gateway that seals. */
import { expect, test } from 'vitest';
import type { SimBoard } from '../device-sim/board.js';
import type { Outcome, UpItem } from '../gateway/core/types.js';
import { type SealedWorld, sealedWorld } from './support/sealed-world.js';

type Call = { outcome?: Outcome };

async function display(world: SealedWorld): Promise<SimBoard> {
  const board = world.board(1, 'eink');
  board.start();
  await world.clock.advance(5_000);
  return board;
}

function call(world: SealedWorld, board: SimBoard, verb: string, args: object, ttlMs = 20_000) {
  const made: Call = {};
  void world.gateway
    .call({ boardId: board.boardId, verb, args: { ...args }, ttlMs })
    .then((outcome) => {
      made.outcome = outcome;
    });
  return made;
}

/** Time passes for frames and refreshes, and then is given to what draws. */
async function pass(world: SealedWorld, ms: number, until?: () => boolean): Promise<void> {
  await world.clock.advance(ms);
  const end = performance.now() + 10_000;
  while (until && !until() && performance.now() < end) await world.clock.advance(0);
}

async function finished(world: SealedWorld, made: Call): Promise<Outcome> {
  await pass(world, 0, () => made.outcome !== undefined);
  if (!made.outcome) throw new Error('no outcome came');
  return made.outcome;
}

const words = (board: SimBoard): string =>
  (board.display?.panel()?.shown?.picture.texts ?? []).map((t) => t.text).join(' ');
const asked = (world: SealedWorld): UpItem[] => world.journal.pending(20).map(({ item }) => item);

test('a question goes up once, and its answer comes in parts and is drawn as a chat', async () => {
  const world = sealedWorld();
  const board = await display(world);
  const made = call(world, board, 'ask', { text: 'What time is it?' });
  await pass(world, 100);
  const [item] = asked(world);
  expect(item).toMatchObject({ kind: 'ask', body: { askId: 1, text: 'What time is it?' } });
  const long = `It is noon. ${'So eat your lunch. '.repeat(1_200)}`;
  world.gateway.answer(board.boardId, 1, { text: long }, board.bootId);
  const outcome = await finished(world, made);
  expect(outcome).toMatchObject({ kind: 'ok', value: { status: 'answered' } });
  expect(words(board)).toContain('What time is it?');
  expect(words(board)).toContain('It is noon.');
  expect(asked(world)).toHaveLength(1);
});

test('a card of the agent is drawn; one that the panel does not know becomes its text', async () => {
  const world = sealedWorld();
  const board = await display(world);
  const first = call(world, board, 'ask', { text: 'Sales?' });
  await pass(world, 100);
  const card = { type: 'kv', title: 'Sales', rows: { today: '42' } };
  world.gateway.answer(board.boardId, 1, { text: 'Forty-two.', card }, board.bootId);
  expect(await finished(world, first)).toMatchObject({ kind: 'ok', value: { text: 'Forty-two.' } });
  expect(words(board)).toContain('Sales today 42');
  await pass(world, 2_000);
  const second = call(world, board, 'ask', { text: 'And now?' });
  await pass(world, 100);
  world.gateway.answer(
    board.boardId,
    2,
    { text: 'Same.', card: { type: 'buttons' } },
    board.bootId,
  );
  await finished(world, second);
  expect(words(board)).toContain('Same.');
});

test('a refusal’s sentence stands on the panel and is the failure of the call', async () => {
  const world = sealedWorld();
  const board = await display(world);
  const made = call(world, board, 'ask', { text: 'Hm?' });
  await pass(world, 100);
  const error = 'This owner has no agent to ask.';
  world.gateway.answer(board.boardId, 1, { error }, board.bootId);
  expect(await finished(world, made)).toMatchObject({
    kind: 'failed',
    code: 'refused',
    message: error,
  });
  expect(words(board)).toContain('Not answered');
  expect(words(board)).toContain(error);
});

test('an answer that the connection lost is said again, and nothing is asked twice', async () => {
  const world = sealedWorld();
  const board = await display(world);
  const made = call(world, board, 'ask', { text: 'Still there?' });
  await pass(world, 100);
  world.faults.between = () => [];
  world.gateway.answer(board.boardId, 1, { text: 'Yes.' }, board.bootId);
  await pass(world, 100);
  world.faults.between = undefined;
  world.bus.connect(board.boardId).close();
  await pass(world, 5_000);
  expect(await finished(world, made)).toMatchObject({ kind: 'ok', value: { text: 'Yes.' } });
  expect(asked(world)).toHaveLength(1);
});

test('one question is in flight, eight wait, the next is refused; an answer lets the next go', async () => {
  const world = sealedWorld();
  const board = await display(world);
  const asks = Array.from({ length: 10 }, (_, i) =>
    board.session?.asks.put({
      type: 'ask',
      bootId: 0,
      question: `number ${i}`,
    }),
  );
  const last = expect(asks[9]).rejects.toMatchObject({ code: 'busy' });
  await pass(world, 100);
  await last;
  expect(asked(world).map((item) => item.body.text)).toEqual(['number 0']);
  world.gateway.answer(board.boardId, 1, { text: 'one' }, board.bootId);
  await pass(world, 100);
  expect(await asks[0]).toEqual({ text: 'one' });
  expect(asked(world).map((item) => item.body.text)).toEqual(['number 0', 'number 1']);
  const rest = Promise.allSettled(asks);
  await board.stop();
  expect((await rest).map((each) => each.status).filter((s) => s === 'rejected')).toHaveLength(9);
});

test('a question without an answer is repeated once, then waits its turn of a beat', async () => {
  const world = sealedWorld();
  const board = await display(world);
  const sent: string[] = [];
  const answer = board.session?.asks.put({ type: 'ask', bootId: 0, question: 'first' });
  void board.session?.asks
    .put({ type: 'ask', bootId: 0, question: 'second' })
    .catch(() => sent.push('x'));
  await pass(world, 179_000);
  expect(asked(world).map((item) => item.body.text)).toEqual(['first']);
  expect(world.gateway.guard(board.boardId)?.counters.duplicates).toBe(1);
  // The second has its turn; an answer to the first that comes late still finds it.
  await pass(world, 35_000);
  expect(asked(world).map((item) => item.body.text)).toEqual(['first', 'second']);
  world.gateway.answer(board.boardId, 1, { text: 'late' }, board.bootId);
  await pass(world, 100);
  expect(await answer).toEqual({ text: 'late' });
});

test('an answer for an earlier boot is not taken for one of this boot’s', async () => {
  const world = sealedWorld();
  const board = await display(world);
  const before = board.bootId;
  void board.session?.asks.put({ type: 'ask', bootId: 0, question: 'old' }).catch(() => undefined);
  await pass(world, 100);
  board.reboot();
  await pass(world, 1_000);
  const asks = board.session?.asks;
  const now = asks?.put({ type: 'ask', bootId: 0, question: 'new' });
  await pass(world, 100);
  world.gateway.answer(board.boardId, 1, { text: 'to the old' }, before);
  await pass(world, 100);
  expect(asks?.size).toBe(1);
  world.gateway.answer(board.boardId, 1, { text: 'to the new' }, board.bootId);
  await pass(world, 100);
  expect(await now).toEqual({ text: 'to the new' });
});

test('mail: the inbox is a list on the panel, a message is sent, and a no is shown', async () => {
  const world = sealedWorld();
  const board = await display(world);
  const inbox = call(world, board, 'messages', { op: 'inbox' });
  await pass(world, 100);
  expect(asked(world)[0]).toMatchObject({ kind: 'mail', body: { mailId: 1, op: 'inbox' } });
  const threads = [{ name: 'Bea', login: 'bea', unread: 2, lastBody: 'Dinner?' }];
  world.gateway.mailReply(board.boardId, 1, true, { threads }, board.bootId);
  expect(await finished(world, inbox)).toMatchObject({
    kind: 'ok',
    value: { messages: { threads } },
  });
  expect(words(board)).toContain('Bea (2 new)');
  await pass(world, 2_000);
  const send = call(world, board, 'messages', { op: 'send', to: 'bea', body: 'At eight' });
  await pass(world, 100);
  expect(asked(world)[1]?.body).toEqual({
    mailId: 2,
    op: 'send',
    args: { to: 'bea', body: 'At eight' },
  });
  world.gateway.mailReply(board.boardId, 2, false, 'There is no bea.', board.bootId);
  expect(await finished(world, send)).toMatchObject({
    kind: 'failed',
    message: 'There is no bea.',
  });
  expect(words(board)).toContain('There is no bea.');
  const bad = call(world, board, 'messages', { op: 'send', body: 'to whom?' });
  expect(await finished(world, bad)).toMatchObject({ kind: 'failed', code: 'bad_arguments' });
  expect(asked(world)).toHaveLength(2);
});

test('an inbox that is too large for the board is said to be', async () => {
  const world = sealedWorld();
  const board = await display(world);
  const inbox = call(world, board, 'messages', { op: 'inbox' });
  await pass(world, 100);
  world.gateway.mailReply(board.boardId, 1, true, { threads: 'x'.repeat(20_000) }, board.bootId);
  expect(await finished(world, inbox)).toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('larger than this board takes'),
  });
});
