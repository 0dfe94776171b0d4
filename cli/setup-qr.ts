/** A set-up code as a QR code, on the terminal or as a picture for a sticker. */
import QRCode from 'qrcode';
import { formatSetupCode, parseSetupCode, SetupCodeError } from '../protocol/setup-code.js';
import { CliError, EXIT, systemCode } from './fault.js';
import { type Io, print, printJson } from './io.js';
import { writePrivate } from './private-file.js';

export async function showCode(
  io: Io,
  typed: string,
  flags: { json?: boolean; out?: string },
): Promise<void> {
  const code = codeOf(typed);
  if (flags.out !== undefined) {
    const png = await QRCode.toBuffer(code, { scale: 8, margin: 4 });
    try {
      writePrivate(flags.out, png);
    } catch (error) {
      const why = systemCode(error) || 'unknown';
      throw new CliError('file', `${flags.out} can't be written (${why}); name another file.`);
    }
    if (flags.json === true) return printJson(io, { ok: true, code, file: flags.out });
    return print(io, `${flags.out}: whoever reads it can pair the board.`);
  }
  if (flags.json === true) return printJson(io, { ok: true, code });
  io.stdout.write(await QRCode.toString(code, { type: 'utf8', margin: 2 }));
  print(io);
  print(io, code);
}

/** As it is written on boards, however it was typed. */
function codeOf(typed: string): string {
  try {
    return formatSetupCode(parseSetupCode(typed));
  } catch (error) {
    if (!(error instanceof SetupCodeError)) throw error;
    throw new CliError(error.code, error.message, EXIT.usage);
  }
}
