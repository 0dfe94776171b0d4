import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { bundleChild, runChild } from './child-fixture.js';
import { openJournal } from './journal.js';

const folder = mkdtempSync(join(tmpdir(), 'journal-kill-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('everything acknowledged before kill -9 is there afterwards, and nothing is torn', async () => {
  const file = join(folder, 'journal.db');
  const program = await bundleChild(new URL('./journal-child.ts', import.meta.url));
  const admitted = new Map<string, number>();
  const settled = new Set<string>();
  const reported = new Set<string>();
  const kept = new Set<string>();
  for (const [round, lines] of [40, 160, 333].entries()) {
    const child = runChild(program, [file, String(round + 1)]);
    await child.line('ready');
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (child.lines.length < lines) return;
        child.process.kill('SIGKILL');
        resolve();
      };
      child.process.stdout?.on('data', look);
      void child.ended.then(() => reject(new Error(child.errors())));
    }).catch((error: unknown) => {
      // Killed by us before the promise was settled is fine too.
      if (child.lines.length < lines) throw error;
    });
    expect(await child.ended).toBe('SIGKILL');
    for (const line of child.lines) {
      const [what, key = '', id] = line.split(' ');
      if (what === 'admitted') admitted.set(key, Number(id));
      if (what === 'settled') settled.add(key);
      if (what === 'reported') reported.add(key);
      if (what === 'kept') kept.add(key);
    }
    const journal = await openJournal(file);
    const ids = new Set(admitted.values());
    expect(ids.size).toBe(admitted.size);
    for (const [key, id] of admitted) {
      const record = journal.find(key);
      expect(record).toMatchObject({ callId: id, bootId: 7, call: { key, verb: 'v' } });
      expect(record && journal.findById(record.call.boardId, id)).toEqual(record);
      if (settled.has(key)) expect(record?.outcome).toMatchObject({ kind: 'ok' });
      if (reported.has(key)) expect(record?.reported).toBe(true);
      // An id that was given is never given again.
      expect(journal.nextCallId('00000000000000a1')).toBeGreaterThan(id);
    }
    // What is there beyond it is whole: settled in full or not at all.
    for (const record of journal.open()) {
      if (record.outcome)
        expect(record.outcome).toMatchObject({ value: { i: record.call.args.i } });
    }
    const items = journal.pending(100_000).map(({ item }) => `${item.bootId}/${item.seq}`);
    expect(new Set(items).size).toBe(items.length);
    for (const mark of kept) expect(items).toContain(mark);
    await journal.close();
  }
  expect(admitted.size).toBeGreaterThan(60);
});
