/**
 * Child of `journal-kill.test.ts`: admits, settles and keeps without end, and prints what was
 * acknowledged. Arguments: the journal's file, a prefix for its keys.
 */
import { writeSync } from 'node:fs';
import { openJournal } from './journal.js';

const [file = '', prefix = ''] = process.argv.slice(2);
const journal = await openJournal(file);

/** Straight to the pipe: a line that was not written was not acknowledged. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}

async function worker(name: string): Promise<never> {
  for (let i = 0; ; i++) {
    const key = `${prefix}-${name}-${i}`;
    const boardId = '00000000000000a1';
    const call = { key, door: 'test', boardId, verb: 'v', args: { i }, ttlMs: 1_000 };
    const record = await journal.admit(call, 7, i);
    say(`admitted ${key} ${record.callId}`);
    if (i % 2 === 0) {
      await journal.settle(key, { kind: 'ok', value: { i, bytes: new Uint8Array(50) }, blobs: [] });
      say(`settled ${key}`);
    }
    if (i % 4 === 0) {
      await journal.reported(key);
      say(`reported ${key}`);
    }
    const seq = (name.charCodeAt(0) - 96) * 1_000_000 + i;
    const bootId = Number(prefix);
    await journal.keep({
      boardId,
      bootId,
      seq,
      kind: 'event',
      at: i,
      body: { kind: 'k', detail: i },
    });
    say(`kept ${bootId}/${seq}`);
  }
}

say('ready');
await Promise.all(['a', 'b', 'c', 'd'].map(worker));
