/**
 * The set-up code of a board (frame.md "Pairing"): `MOTE1:<boardId>:<secret>`, the id as 16 hex
 * digits, the 16-byte secret as 26 characters of base32 (RFC 4648, no padding). It stands on a
 * display or a sticker, and whoever reads it can pair the board: it never enters an error or a log.
 */
import { boardIdBytes } from './identity.js';

export interface SetupCode {
  /** 16 lower-case hex digits. */
  readonly boardId: string;
  /** 16 bytes. */
  readonly secret: Uint8Array;
}

export type SetupCodeFault =
  /** Nothing in the text looks like a code. */
  | 'not_a_code'
  /** A code of another version of this format. */
  | 'version'
  | 'bad_id'
  | 'bad_secret';

/** What was typed or scanned is no code. The message says what to do and holds nothing of it. */
export class SetupCodeError extends Error {
  override readonly name = 'SetupCodeError';
  constructor(
    readonly code: SetupCodeFault,
    message: string,
  ) {
    super(message);
  }
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
export const SECRET_BYTES = 16;
const SECRET_CHARS = 26;
const ID_CHARS = 16;
/** Longer than any QR text round a code; what is longer is not looked at. */
const MOST = 1_000;
const FORM = 'it looks like MOTE1:<16 digits>:<26 letters and digits>';

/** @throws FrameError `bad_field` for an id, RangeError for a secret, that is none */
export function formatSetupCode({ boardId, secret }: SetupCode): string {
  boardIdBytes(boardId);
  if (secret.length !== SECRET_BYTES) throw new RangeError('A set-up secret is 16 bytes.');
  return `MOTE1:${boardId.toUpperCase()}:${toBase32(secret)}`;
}

/**
 * Reads a code as people type it and cameras see it: any case, spaces, dashes and line ends
 * anywhere, `0` for O, `1` for I and `8` for B in the secret (and O, I, L the other way in the
 * id), with or without `MOTE1:` and whatever stands before that.
 * @throws SetupCodeError
 */
export function parseSetupCode(text: string): SetupCode {
  if (text.length > MOST) throw fault('not_a_code', 'That is too long for a set-up code');
  const compact = text.toUpperCase().replace(/[\s\p{Pd}_\u200b-\u200d\u2060\ufeff\u00ad]/gu, '');
  const scheme = /M[O0]TE([0-9IL]):/.exec(compact);
  if (scheme && !/[1IL]/.test(scheme[1] as string)) {
    throw new SetupCodeError(
      'version',
      'This set-up code is of another version; update Motebridge, or pair the board with what it came with.',
    );
  }
  const rest = scheme ? compact.slice(scheme.index + scheme[0].length) : compact;
  const [id = '', secret = '', more] = parts(rest);
  if (more !== undefined || id === '') throw fault('not_a_code', 'That is no set-up code');
  const boardId = id.replaceAll('O', '0').replace(/[IL]/g, '1').toLowerCase();
  if (!/^[0-9a-f]{16}$/.test(boardId)) {
    throw fault('bad_id', 'The first part of a set-up code is 16 digits from 0 to 9 and A to F');
  }
  return { boardId, secret: fromBase32(secret) };
}

/** Split at the colons, or at the id's length where somebody left them out. */
function parts(rest: string): string[] {
  if (rest.includes(':')) return rest.split(':');
  if (rest.length !== ID_CHARS + SECRET_CHARS) return [];
  return [rest.slice(0, ID_CHARS), rest.slice(ID_CHARS)];
}

function toBase32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(held >> (bits - 5)) & 31];
    held &= 0xff;
  }
  return bits > 0 ? text + ALPHABET[(held << (5 - bits)) & 31] : text;
}

function fromBase32(typed: string): Uint8Array {
  const text = typed.replaceAll('0', 'O').replaceAll('1', 'I').replaceAll('8', 'B');
  if (text.length !== SECRET_CHARS) {
    const count = `${SECRET_CHARS} letters and digits, and ${text.length} came`;
    throw fault('bad_secret', `The last part of a set-up code is ${count}`);
  }
  const bytes = new Uint8Array(SECRET_BYTES);
  let at = 0;
  let bits = 0;
  let held = 0;
  for (const char of text) {
    const five = ALPHABET.indexOf(char);
    if (five < 0) {
      throw fault('bad_secret', 'The last part of a set-up code is letters and digits from 2 to 7');
    }
    held = (held << 5) | five;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at++] = held >> bits;
    held &= (1 << bits) - 1;
  }
  // 26 characters hold two bits more than 16 bytes: where they are set, something was mistyped.
  if (held !== 0) throw fault('bad_secret', 'The last letter of this set-up code can’t be right');
  return bytes;
}

function fault(code: SetupCodeFault, what: string): SetupCodeError {
  return new SetupCodeError(code, `${what}: ${FORM}; read it from the board once more.`);
}
