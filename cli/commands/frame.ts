import type { Command } from 'commander';
import type { Context } from '../context.js';
import { type JsonFlag, withJson } from './options.js';

const EXAMPLES = `
Examples:
  motebridge frame decode 0082041878
  motebridge frame encode '{"type":"beat","uptimeS":120}'
In JSON, bytes are {"$hex":"0a0b"} (plain hex where a field holds bytes) and maps with whole
numbers as keys are {"$map":[[0,"x"]]} (a plain object where a field holds such a map).`;

export function addFrame(program: Command, { io }: Context): void {
  const frame = program
    .command('frame')
    .description('explain frames and make them, byte by byte')
    .addHelpText('after', EXAMPLES);
  withJson(
    frame.command('decode').description('what a frame says').argument('<hex...>'),
    '{"ok":true,"seal":…,"bytes":…,"message":{…}}',
  ).action(async (words: string[], flags: JsonFlag) => {
    const { decodeFrame } = await import('../frame.js');
    decodeFrame(io, words.join(''), flags.json === true);
  });
  withJson(
    frame.command('encode').description('the bytes of a message').argument('<json>'),
    '{"ok":true,"hex":…,"bytes":…}',
  )
    .option('--bare', 'the message alone, without the seal byte in front')
    .action(async (text: string, flags: JsonFlag & { bare?: boolean }) => {
      const { encodeFrame } = await import('../frame.js');
      encodeFrame(io, text, flags);
    });
}
