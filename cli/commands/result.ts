import type { Command } from 'commander';
import type { Context } from '../context.js';
import { withProgress } from '../progress.js';
import type { HubFlags } from '../target.js';
import { printAnswer } from './call.js';
import { hubFrom, type JsonFlag, withHub, withJson } from './options.js';

export function addResult(program: Command, { io }: Context): void {
  const command = program
    .command('result')
    .description('read the answer to an earlier call')
    .argument('<envelope-id>', 'as `call` gave it');
  withJson(withHub(command), 'as `call --json`; an answer that is not there yet is code "pending"');
  command.action(async (id: string, flags: HubFlags & JsonFlag) => {
    const asked = hubFrom(io, flags).useDevice({ action: 'result', envelope_id: id });
    const answer = await withProgress(io, 'asking the hub', asked);
    printAnswer(io, { envelope_id: id, ...answer }, flags.json === true);
  });
}
