import type { Command } from 'commander';
import type { Invocation } from '../client.js';
import type { Context } from '../context.js';
import { usage } from '../fault.js';
import { type Io, print, printJson } from '../io.js';
import { mustSucceed, pick } from '../outcome.js';
import { withProgress } from '../progress.js';
import type { HubFlags } from '../target.js';
import { oneLine, show } from '../text.js';
import { hubFrom, type JsonFlag, whole, withHub, withJson } from './options.js';

interface Flags extends HubFlags, JsonFlag {
  timeout: number;
  wait: boolean;
}

const EXAMPLES = `
Examples:
  motebridge call eink 'render_ui {"type":"kv","title":"Status","rows":{"in":"19:30"}}'
  motebridge call env status
  motebridge call env help          what the board can do
  motebridge call lamp set level=40
  motebridge call lamp -- -5        a prompt that begins with a dash`;

export function addCall(program: Command, { io }: Context): void {
  const command = program
    .command('call')
    .description('send a prompt to a board and wait for its answer')
    .argument('<board>', 'name or id')
    .argument('<prompt...>', 'a verb and its arguments, or plain words')
    .option('--timeout <seconds>', 'how long to wait for the answer', whole(1, 600), 45)
    .option('--no-wait', 'send it and print the envelope id for `motebridge result`')
    .addHelpText('after', EXAMPLES);
  withJson(withHub(command), '{"ok":true,"result":…} or {"ok":false,"error":{code,message}}');
  command.action(async (board: string, words: string[], flags: Flags) => {
    const prompt = words.join(' ').trim();
    if (prompt === '')
      throw usage('The prompt is empty; `motebridge call <board> help` asks what it can do.');
    if (board.trim() === '') {
      throw usage('The board has no name here; `motebridge devices` lists what is there.');
    }
    const asked = hubFrom(io, flags).useDevice({
      action: 'invoke',
      device_id: board,
      prompt,
      wait: flags.wait,
      timeout_ms: flags.timeout * 1000,
    });
    const answer = await withProgress(io, `waiting for ${oneLine(board, 40)}`, asked);
    if (!flags.wait && answer.ok && answer.envelope_id !== undefined) {
      if (flags.json === true) {
        printJson(io, { ok: true, ...pick(answer, 'pending', 'device_id', 'envelope_id') });
      } else print(io, answer.envelope_id);
      return;
    }
    printAnswer(io, answer, flags.json === true);
  });
}

/** Prints a call's answer, or throws what it came to. */
export function printAnswer(io: Io, answer: Invocation, json: boolean): void {
  mustSucceed(answer);
  if (json) {
    printJson(io, {
      ok: true,
      result: answer.result ?? null,
      ...pick(answer, 'images', 'truncated', 'device_id', 'envelope_id'),
    });
    return;
  }
  print(io, show(answer.result));
  for (const image of answer.images ?? []) print(io, `picture: ${oneLine(image)}`);
  if (answer.truncated === true) print(io, '(the answer was longer and is cut here)');
}
