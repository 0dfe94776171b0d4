/** What `motebridge frame` does. */
import {
  decodeMessage,
  encodeMessage,
  explainFrame,
  FrameError,
  fromHex,
  messageFromJson,
  messageToJson,
  plainFrame,
  readFrame,
  SEAL,
  TAG_BYTES,
  toHex,
} from '../protocol/index.js';
import { CliError, usage } from './fault.js';
import { type Io, print, printJson } from './io.js';
import { clean, oneLine } from './text.js';

/** Nobody's frame is larger; a longer argument is a mistake. */
const MAX_FRAME = 65_536 * 4;

/** Pairs of hex digits; what people put between them is passed over. */
function hexBytes(text: string): Uint8Array {
  const digits = text.replace(/0x|[\s:,_-]/gi, '');
  if (digits === '' || !/^([0-9a-f]{2})*$/i.test(digits)) {
    throw usage('A frame is pairs of hex digits, like 0082041878.');
  }
  if (digits.length / 2 > MAX_FRAME) throw usage(`A frame is at most ${MAX_FRAME} bytes.`);
  return fromHex(digits);
}

export function decodeFrame(io: Io, text: string, json: boolean): void {
  const bytes = hexBytes(text);
  if (!json) for (const line of explainFrame(bytes)) print(io, clean(line));
  // A message is a CBOR array, so its first byte is never a seal byte.
  const bare = (bytes[0] ?? 0) >= 0x80;
  const { seal, body } = bare ? { seal: SEAL.plain, body: bytes } : read(() => readFrame(bytes));
  if (seal !== SEAL.plain) {
    if (body.length <= 2 + TAG_BYTES) {
      throw new CliError('truncated', `A sealed message is over ${2 + TAG_BYTES} bytes long.`);
    }
    const key = seal === SEAL.board ? 'board' : 'setup';
    if (json) printJson(io, { ok: true, seal: key, bytes: bytes.length });
    return;
  }
  const message = read(() => decodeMessage(body, MAX_FRAME));
  if (!json) return;
  const kind = bare ? 'none' : 'plain';
  printJson(io, { ok: true, seal: kind, bytes: bytes.length, message: messageToJson(message) });
}

export function encodeFrame(io: Io, text: string, flags: { json?: boolean; bare?: boolean }): void {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? oneLine(error.message, 120) : 'unreadable';
    throw usage(`The message is not JSON (${why}); put single quotes around it in a shell.`);
  }
  let bytes: Uint8Array;
  try {
    const message = messageFromJson(json);
    bytes = flags.bare === true ? encodeMessage(message) : plainFrame(message);
  } catch (error) {
    // What can't be made of the words is a matter of the words.
    if (error instanceof FrameError) throw usage(`${oneLine(error.message, 600)}.`);
    throw error;
  }
  const hex = toHex(bytes);
  if (flags.json === true) printJson(io, { ok: true, hex, bytes: bytes.length });
  else print(io, hex);
}

function read<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    const where = error.offset === undefined ? '' : ` at byte ${error.offset} of the message`;
    throw new CliError(
      error.code,
      `Not a valid frame${where}: ${oneLine(error.message, 300)} (${error.code}).`,
      undefined,
      error.offset === undefined ? {} : { offset: error.offset },
    );
  }
}
