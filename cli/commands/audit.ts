import type { Command } from 'commander';
import { z } from 'zod';
import type { Context } from '../context.js';
import { print, printJson } from '../io.js';
import { withProgress } from '../progress.js';
import type { HubFlags } from '../target.js';
import { table } from '../text.js';
import { hubFrom, type JsonFlag, whole, withHub, withJson } from './options.js';

interface Flags extends HubFlags, JsonFlag {
  since?: number;
}

const shape = z.object({
  entries: z.array(
    z.object({ id: z.number(), action: z.string(), target: z.string(), created: z.number() }),
  ),
});

export function addAudit(program: Command, { io }: Context): void {
  const command = program
    .command('audit')
    .description('who was let in or sent away at your account: logins, tokens, devices')
    .option('--since <id>', 'only what came after this entry', whole(0, 999_999_999));
  withJson(withHub(command), 'a JSON array, oldest first: id, action, target, created');
  command.action(async (flags: Flags) => {
    const path = `/api/audit?sinceId=${flags.since ?? 0}`;
    const asked = hubFrom(io, flags).ask('GET', path, undefined, shape);
    const { entries } = await withProgress(io, 'asking the hub', asked);
    if (flags.json === true) {
      printJson(io, entries);
      return;
    }
    const rows = entries.map((e) => [
      String(e.id),
      new Date(e.created * 1000).toISOString().slice(0, 19).replace('T', ' '),
      e.action,
      e.target,
    ]);
    print(io, table(['ID', 'WHEN (UTC)', 'WHAT', 'WHICH'], rows));
  });
}
