import type { Command } from 'commander';
import { z } from 'zod';
import type { HubClient } from '../client.js';
import type { Context } from '../context.js';
import { CliError, EXIT } from '../fault.js';
import { note, print, printJson } from '../io.js';
import { withProgress } from '../progress.js';
import type { HubFlags } from '../target.js';
import { ago, oneLine, table } from '../text.js';
import { hubFrom, type JsonFlag, whole, withHub, withJson } from './options.js';
import { day } from './owners.js';

type Flags = HubFlags & JsonFlag;

const token = z.object({
  id: z.string(),
  label: z.string(),
  kind: z.string(),
  created_at: z.number(),
  last_used_at: z.number().nullable(),
  expires_at: z.number().nullable(),
});
const listed = z.object({ tokens: z.array(token) });
const made = z.object({ id: z.string(), token: z.string() });
const revoked = z.object({ revoked: z.number() });

export function addTokens(program: Command, { io }: Context): void {
  const tokens = program.command('tokens').description('the tokens that act as you at the hub');
  const sub = (name: string, words: string, json: string): Command =>
    withJson(withHub(tokens.command(name).description(words)), json);
  const ask = <T>(flags: Flags, method: string, body: unknown, shape: z.ZodType<T>): Promise<T> => {
    const hub: HubClient = hubFrom(io, flags);
    return withProgress(io, 'asking the hub', hub.ask(method, '/api/tokens', body, shape));
  };

  sub(
    'list',
    'your tokens, without their secrets',
    'a JSON array: id, label, kind, created_at, last_used_at, expires_at (unix seconds or null)',
  ).action(async (flags: Flags) => {
    const list = (await ask(flags, 'GET', undefined, listed)).tokens;
    if (flags.json === true) {
      printJson(io, list);
      return;
    }
    const now = Date.now() / 1000;
    const rows = list.map((one) => [
      one.label,
      day(one.created_at),
      one.last_used_at === null ? 'never' : ago(now - one.last_used_at),
      one.expires_at === null ? 'never' : day(one.expires_at),
      one.id,
    ]);
    print(io, table(['LABEL', 'CREATED', 'LAST USED', 'EXPIRES', 'ID'], rows));
  });

  sub('add', 'make a token and print it, this once', '{"ok":true,"id":…,"token":…}')
    .argument('<label>', 'what it is for')
    .option('--days <n>', 'how long it is good (default: until it is revoked)', whole(1, 3_650))
    .action(async (label: string, flags: Flags & { days?: number }) => {
      const body = { label, ...(flags.days === undefined ? {} : { days: flags.days }) };
      const { id, token: secret } = await ask(flags, 'POST', body, made);
      if (flags.json === true) {
        printJson(io, { ok: true, id, token: secret });
        return;
      }
      note(io, `Made the token ${oneLine(id, 40)}. It is shown once; keep it to yourself:`);
      print(io, oneLine(secret, 4_096));
    });

  sub('revoke', 'end a token, and the sessions it opened, at once', '{"ok":true,"id":…}')
    .argument('<id>', 'as `tokens list` shows it')
    .action(async (id: string, flags: Flags) => {
      const done = await ask(flags, 'DELETE', { id }, revoked);
      if (done.revoked === 0) {
        throw new CliError(
          'unknown_token',
          `No token ${oneLine(id, 40)} of yours is good any more, so none was revoked; \`motebridge tokens list\` shows them.`,
          EXIT.refused,
        );
      }
      if (flags.json === true) printJson(io, { ok: true, id });
      else print(io, `Revoked ${oneLine(id, 40)}.`);
    });
}
