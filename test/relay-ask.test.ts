/** A display's question and mail all the way: board, gateway, relay door, hub, and back. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import type { Outcome } from '../gateway/core/types.js';
import { createRelayDoor } from '../gateway/doors/relay/index.js';
import { nodeClock } from '../gateway/node/clock.js';
import { createHub } from '../hub/index.js';
import { sealedWorldOn } from './support/sealed-world.js';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

test('what the hub refuses comes back as its sentence, on the panel and to the caller', async () => {
  const home = mkdtempSync(join(tmpdir(), 'ask-'));
  cleanups.push(() => rmSync(home, { recursive: true, force: true }));
  const hub = await createHub({ home });
  cleanups.push(() => hub.close());
  const { url } = await hub.listen({ port: 0 });
  const owner = await hub.bootstrap('ann');
  if (!owner) throw new Error('no owner');
  const clock = nodeClock();
  const world = sealedWorldOn(clock);
  const door = createRelayDoor({
    switchboard: world.gateway,
    journal: world.journal,
    blobs: world.blobs,
    hub: { url, ownerToken: owner.token },
    clock,
    random: Math.random,
  });
  cleanups.push(() => {
    door.stop();
    world.gateway.stop();
  });
  door.start();
  const board = world.board(1, 'eink');
  board.start();
  cleanups.push(() => board.stop());
  await vi.waitUntil(() => door.state().boards === 1, { timeout: 10_000 });
  const call = (verb: string, args: object): Promise<Outcome> =>
    world.gateway.call({ boardId: board.boardId, verb, args: { ...args }, ttlMs: 20_000 });
  const words = (): string =>
    (board.display?.panel()?.shown?.picture.texts ?? []).map((t) => t.text).join(' ');

  for (const [verb, args] of [
    ['ask', { text: 'Anybody there?' }],
    ['messages', { op: 'send', to: 'nobody', body: 'hi' }],
  ] as const) {
    const outcome = await call(verb, args);
    expect(outcome).toMatchObject({ kind: 'failed', code: 'refused' });
    const sentence = 'message' in outcome ? outcome.message : '';
    expect(sentence.length).toBeGreaterThan(5);
    await vi.waitUntil(() => words().includes(sentence.slice(0, 12)), { timeout: 10_000 });
    expect(words()).toContain('Not answered');
  }
  // Both are settled: nothing waits to be asked again.
  await vi.waitUntil(() => world.journal.pending(10).length === 0, { timeout: 10_000 });
}, 40_000);
