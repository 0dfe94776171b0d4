import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { z } from 'zod';
import { askOwn } from '../ask-own.js';
import { type AdminRequest, boardShape, configShape, endpointShape } from '../board-admin.js';
import { type BoardConfig, cHeader } from '../board-config.js';
import type { Context } from '../context.js';
import { CliError, systemCode, usage } from '../fault.js';
import { type Io, note, print, printJson } from '../io.js';
import { askRunning } from '../pair.js';
import { writePrivate } from '../private-file.js';
import { withProgress } from '../progress.js';
import { clean, table } from '../text.js';
import { type JsonFlag, withHome, withJson } from './options.js';

/** The hub waits for the other gateway, which speaks with the board meanwhile. */
const ADOPT_MS = 60_000;

interface Flags extends JsonFlag {
  home?: string;
}
interface AddFlags extends Flags {
  format: 'json' | 'c-header';
  out?: string;
  brokerHost?: string;
}

const HOW = `
Works while \`motebridge start\` runs (through it) and while it does not (in the data folder).`;

export function addBoards(program: Command, { io }: Context): void {
  const boards = program
    .command('boards')
    .description('your own boards: identities, keys and ready configurations')
    .addHelpText('after', HOW);
  const sub = (name: string, words: string, json: string): Command =>
    withJson(withHome(boards.command(name).description(words)), json);

  sub('add', 'make an identity for a board and print its configuration', 'the configuration')
    .argument('<name>', 'what people and agents call it')
    .addOption(
      new Option('--format <format>', 'of the configuration')
        .choices(['json', 'c-header'])
        .default('json'),
    )
    .option('--out <file>', 'write the configuration there instead (readable by you alone)')
    .option('--broker-host <host>', 'the address under which the board finds this machine')
    .action((name: string, flags: AddFlags) => add(io, name, flags));

  sub('list', 'the boards of this gateway', 'a JSON array: id, name, addedAt, pairedVia').action(
    async (flags: Flags) => {
      const list = z.array(boardShape).parse(await ask(io, flags, { op: 'list' }));
      if (flags.json === true) printJson(io, list);
      else if (list.length === 0) print(io, 'No boards yet: motebridge boards add <name>');
      else {
        const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
        print(
          io,
          table(
            ['NAME', 'ID', 'ADDED', 'PAIRED'],
            list.map((b) => [b.name, b.id, day(b.addedAt), b.pairedVia ?? '']),
          ),
        );
      }
    },
  );

  sub('remove', 'forget a board: its key opens nothing any more', '{"ok":true,"id":…,"name":…}')
    .argument('<board>', 'name or id')
    .action(async (board: string, flags: Flags) => {
      const gone = boardShape.parse(await ask(io, flags, { op: 'remove', board }));
      if (flags.json === true) printJson(io, { ok: true, ...gone });
      else print(io, `Removed ${clean(gone.name)} (${gone.id}).`);
    });

  sub('unpair', 'tell a board to forget its key, and forget it', '{"ok":true,"id":…,"name":…}')
    .argument('<board>', 'name or id')
    .option('--force', 'forget it here even where it can’t be told')
    .action(async (board: string, flags: Flags & { force?: boolean }) => {
      const force = flags.force === true;
      const asked = await askRunning(io, flags.home)({ op: 'unpair', board, force });
      const gone = boardShape.parse(asked);
      if (flags.json === true) printJson(io, { ok: true, ...gone });
      else print(io, `Unpaired ${clean(gone.name)} (${gone.id}); its set-up code pairs it again.`);
    });

  sub('adopt', 'bring a board here from another gateway of yours', '{"ok":true,"id":…,"name":…}')
    .argument('<device>', 'name or id of its device at the hub')
    .action(async (device: string, flags: Flags) => {
      const asked = askRunning(io, flags.home, ADOPT_MS)({ op: 'adopt', device });
      const here = boardShape.parse(await withProgress(io, 'asking its gateway', asked));
      if (flags.json === true) printJson(io, { ok: true, ...here });
      else {
        print(io, `Adopted ${clean(here.name)} (${here.id}).`);
        note(io, 'It speaks here as soon as it connects; its old gateway has forgotten it.');
      }
    });

  sub('qr', 'a set-up code as a QR code, for a display or a sticker', '{"ok":true,"code":…}')
    .argument('<code>', 'MOTE1:…')
    .option('--out <file>', 'write a PNG there instead (readable by you alone)')
    .action(async (code: string, flags: Flags & { out?: string }) => {
      const { showCode } = await import('../setup-qr.js');
      await showCode(io, code, flags);
    });

  sub(
    'endpoint',
    'URL and secret by which a hub elsewhere calls the board',
    '{"ok":true,"id":…,"name":…,"url":…,"secret":…}',
  )
    .argument('<board>', 'name or id')
    .action(async (board: string, flags: Flags) => {
      const made = endpointShape.parse(await ask(io, flags, { op: 'endpoint', board }));
      if (flags.json === true) printJson(io, { ok: true, ...made });
      else {
        print(io, `  url     ${made.url ?? '(none: start with --endpoint-port <n>)'}`);
        print(io, `  secret  ${made.secret}`);
        note(io, 'Hubs call by https only. The secret works the board: keep it to yourself.');
      }
    });

  sub('rename', 'give a board another name', '{"ok":true,"id":…,"name":…}')
    .argument('<board>', 'name or id')
    .argument('<name>', 'the new name')
    .action(async (board: string, name: string, flags: Flags) => {
      const now = boardShape.parse(await ask(io, flags, { op: 'rename', board, name }));
      if (flags.json === true) printJson(io, { ok: true, ...now });
      else print(io, `${now.id} is now ${clean(now.name)}.`);
    });
}

async function add(io: Io, name: string, flags: AddFlags): Promise<void> {
  if (flags.json === true && flags.format === 'c-header' && flags.out === undefined) {
    throw usage('--json prints JSON; write the header to a file with --out, or leave --json out.');
  }
  const request: AdminRequest = {
    op: 'add',
    name,
    ...(flags.brokerHost === undefined ? {} : { host: flags.brokerHost }),
  };
  const made = flags.out === undefined ? undefined : probe(flags.out);
  let config: BoardConfig;
  try {
    config = configShape.parse(await ask(io, flags, request));
  } catch (error) {
    if (made !== undefined) rmSync(made, { force: true });
    throw error;
  }
  const json = flags.json === true && flags.out === undefined;
  const text = flags.format === 'json' ? `${JSON.stringify(config, null, 2)}\n` : cHeader(config);
  if (json) printJson(io, { ok: true, ...config });
  else if (flags.out === undefined) io.stdout.write(text);
  else {
    writePrivate(flags.out, text);
    const { boardId: id } = config;
    if (flags.json === true) printJson(io, { ok: true, id, name: config.name, file: flags.out });
  }
  const where = `${config.mqtt.host}:${config.mqtt.port}`;
  note(io, `Added ${clean(config.name)} (${config.boardId}), which is to connect to ${where}.`);
  if (flags.out !== undefined) note(io, `${flags.out} holds its key: keep it to yourself.`);
  if (config.mqtt.host === '127.0.0.1') {
    note(io, 'For a board on the network, start with --broker-host 0.0.0.0 and add it with');
    note(io, '--broker-host <the address of this machine>.');
  }
}

/** Finds out before a board is made whether its file can be; answers the file if it was not there. */
function probe(file: string): string | undefined {
  const there = existsSync(file);
  try {
    closeSync(openSync(file, 'a', 0o600));
  } catch (error) {
    throw new CliError(
      'file',
      `${file} can't be written (${systemCode(error) || 'unknown'}), so no board was added; name another file with --out.`,
    );
  }
  return there ? undefined : file;
}

const ask = (io: Io, flags: Flags, request: AdminRequest): Promise<unknown> =>
  askOwn(io, flags.home, { boards: request });
