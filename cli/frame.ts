/** What `motebridge frame` does. */
import {
  decodeMessage,
  encodeMessage,
  FrameError,
  plainFrame,
  readFrame,
  SEAL,
  toHex,
} from '../protocol/index.js';
import { CliError, usage } from './fault.js';
import { explainMessage, hexBytes, messageFromJson, messageJson } from './frame-words.js';
import { type Io, print, printJson } from './io.js';
import { oneLine } from './text.js';

/** Nobody's frame is larger; a longer argument is a mistake. */
const MAX_FRAME = 65_536 * 4;

export function decodeFrame(io: Io, text: string, json: boolean): void {
  const bytes = hexBytes(text);
  if (bytes === undefined || bytes.length === 0) {
    throw usage('A frame is pairs of hex digits, like 0082041878.');
  }
  if (bytes.length > MAX_FRAME) throw usage(`A frame is at most ${MAX_FRAME} bytes.`);
  // A message is a CBOR array, so its first byte is never a seal byte.
  const bare = (bytes[0] ?? 0) >= 0x80;
  const { seal, body } = bare ? { seal: SEAL.plain, body: bytes } : parsed(() => readFrame(bytes));
  if (seal !== SEAL.plain) {
    sealed(io, seal === SEAL.board ? 'board' : 'setup', body, json);
    return;
  }
  const message = parsed(() => decodeMessage(body, MAX_FRAME));
  if (json) {
    const kind = bare ? 'none' : 'plain';
    printJson(io, { ok: true, seal: kind, bytes: bytes.length, message: messageJson(message) });
    return;
  }
  const [headline, ...fields] = explainMessage(message);
  print(io, headline);
  for (const field of fields) print(io, field);
  print(io, `${bytes.length} bytes${bare ? ', a message without its seal byte' : ', not sealed'}`);
}

/** A sealed message is counter (2), ciphertext, tag (8); what it says needs the board's key. */
function sealed(io: Io, key: 'board' | 'setup', body: Uint8Array, json: boolean): void {
  const inside = body.length - 10;
  if (inside < 1) {
    throw new CliError(
      'truncated',
      `A sealed message is over 10 bytes long, and this has ${body.length}.`,
    );
  }
  const counter = ((body[0] ?? 0) << 8) | (body[1] ?? 0);
  if (json) {
    printJson(io, { ok: true, seal: key, bytes: body.length + 1, counter, sealedBytes: inside });
    return;
  }
  print(
    io,
    `Sealed with the ${key === 'board' ? 'board’s' : 'setup'} key; only its holder can read it.`,
  );
  print(io, `  counter     ${counter} (low 16 bits)`);
  print(io, `  ciphertext  ${inside} bytes`);
  print(io, `  tag         ${toHex(body.slice(-8))}`);
}

export function encodeFrame(io: Io, text: string, flags: { json?: boolean; bare?: boolean }): void {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? oneLine(error.message, 120) : 'unreadable';
    throw usage(`The message is not JSON (${why}); put single quotes around it in a shell.`);
  }
  const message = messageFromJson(json);
  const bytes = parsed(() => (flags.bare === true ? encodeMessage(message) : plainFrame(message)));
  const hex = toHex(bytes);
  if (flags.json === true) printJson(io, { ok: true, hex, bytes: bytes.length });
  else print(io, hex);
}

function parsed<T>(run: () => T): T {
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
