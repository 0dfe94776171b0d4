import { realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Context } from '../context.js';
import { CliError, systemCode, usage } from '../fault.js';
import { note, print, printJson } from '../io.js';
import { mustSucceed } from '../outcome.js';
import { describePicture, pictureWords } from '../picture.js';
import { withProgress } from '../progress.js';
import type { HubFlags } from '../target.js';
import { oneLine } from '../text.js';
import { hubFrom, type JsonFlag, whole, withHub, withJson } from './options.js';

interface Flags extends HubFlags, JsonFlag {
  output: string;
  timeout: number;
}

export function addSnapshot(program: Command, { io }: Context): void {
  const command = program
    .command('snapshot')
    .description('fetch a picture of what a board shows or sees')
    .argument('<board>', 'name or id')
    .requiredOption('-o, --output <file>', 'where to write it; - for stdout')
    .option('--timeout <seconds>', 'how long to wait for the board', whole(1, 600), 45);
  withJson(withHub(command), '{"ok":true,"file":…,"type":…,"bytes":…,"width":…,"height":…}');
  command.action(async (board: string, flags: Flags) => {
    const json = flags.json === true;
    if (json && flags.output === '-') {
      throw usage('--json and -o - both want stdout; name a file with -o.');
    }
    const hub = hubFrom(io, flags);
    const taken = async (): Promise<{ bytes: Uint8Array; type: string }> => {
      const answer = await hub.useDevice({
        action: 'invoke',
        device_id: board,
        prompt: 'snapshot',
        wait: true,
        timeout_ms: flags.timeout * 1000,
      });
      mustSucceed(answer);
      const image = answer.images?.[0];
      if (image === undefined) {
        throw new CliError(
          'no_picture',
          `${oneLine(board, 64)} answered without a picture; \`motebridge call ${oneLine(board, 64)} help\` lists what it can do.`,
        );
      }
      return hub.media(image);
    };
    const { bytes, type } = await withProgress(io, `waiting for ${oneLine(board, 40)}`, taken());
    const picture = describePicture(bytes, type);
    if (flags.output === '-') {
      io.stdout.write(bytes);
      return;
    }
    keep(flags.output, bytes);
    if (json) printJson(io, { ok: true, file: flags.output, bytes: bytes.length, ...picture });
    else print(io, `${flags.output}: ${pictureWords(picture, bytes.length)}`);
    const ending = /\.(png|jpe?g)$/i.exec(flags.output)?.[1]?.toLowerCase().replace('jpg', 'jpeg');
    if (ending !== undefined && picture.type !== `image/${ending}`) {
      note(io, `motebridge: the picture is ${picture.type}, whatever the file's name says.`);
    }
  });
}

/** Whole or not at all: a picture that was there stays until the new one is written. */
function keep(output: string, bytes: Uint8Array): void {
  let temporary: string | undefined;
  try {
    const there = statSync(output, { throwIfNoEntry: false });
    if (there !== undefined && !there.isFile()) {
      // A pipe or a device is written to, never replaced; a folder fails here.
      writeFileSync(output, bytes);
      return;
    }
    const file = there === undefined ? output : realpathSync(output);
    temporary = `${file}.${process.pid}.part`;
    writeFileSync(temporary, bytes);
    renameSync(temporary, file);
  } catch (error) {
    if (temporary !== undefined) rmSync(temporary, { force: true });
    throw new CliError(
      'file',
      `${output} can't be written (${systemCode(error) || 'unknown'}); name another file with -o.`,
    );
  }
}
