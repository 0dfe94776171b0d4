/** A board's side of its catalog: CAPS messages that fit what the gateway can receive. */
import { encodeMessage, encodeValue } from './codec.js';
import { FrameError } from './frame-error.js';
import { type MessageOf, VERB_FLAGS } from './messages.js';
import { isName, parseSignature, type Signature } from './signature.js';

/** What `capsPages` takes; a `BoardCatalog` is one. */
export interface CatalogInput {
  readonly name?: string;
  readonly platform?: string;
  readonly firmware?: string;
  readonly envelopes?: boolean;
  readonly verbs: readonly {
    readonly name: string;
    readonly signature: string | Signature;
    readonly description?: string;
    readonly protected?: boolean;
    readonly idempotent?: boolean;
    readonly readOnly?: boolean;
  }[];
  readonly readings?: readonly {
    readonly name: string;
    readonly unit: string;
    readonly scale?: number;
  }[];
}

type Caps = MessageOf<'caps'>;
type About = Pick<Caps, 'name' | 'platform' | 'firmware' | 'envelopes'>;

/** Array head, id, two list heads of at most 3 bytes, page and pages of 2, a map head. */
const FRAME_BYTES = 1 + 1 + 3 + 3 + 2 + 2 + 1;

/**
 * The encoded CAPS messages of a board, each at most `maxMessage` bytes. Name, platform and
 * firmware stand on page 0, or on the next one where page 0 is too small for them all.
 * @throws FrameError `too_large` if one verb or reading alone doesn't fit a page, `bad_catalog`
 * for more than 255 pages or a bad name; SignatureError for a bad signature
 */
export function capsPages(input: CatalogInput, maxMessage: number): Uint8Array[] {
  const pages: Caps[] = [];
  let page = blank();
  let used = FRAME_BYTES;
  const place = (what: string, size: number, put: (page: Caps) => void): void => {
    if (FRAME_BYTES + size > maxMessage) {
      throw new FrameError(
        'too_large',
        `${what} takes ${FRAME_BYTES + size} bytes of CAPS and a message here has at most ${maxMessage}`,
      );
    }
    if (used + size > maxMessage) {
      pages.push(page);
      page = blank();
      used = FRAME_BYTES;
    }
    put(page);
    used += size;
  };
  const about = <K extends keyof About>(key: K, value: About[K]): void => {
    if (value === undefined || value === '' || value === false) return;
    place(`the board's ${key}`, 1 + encodeValue(value).length, (p) => {
      p[key] = value;
    });
  };
  about('name', input.name);
  about('platform', input.platform);
  about('firmware', input.firmware);
  about('envelopes', input.envelopes);
  for (const verb of input.verbs) {
    const entry = verbEntry(verb);
    place(`the verb ${verb.name}`, encodeValue(entry).length, (p) => p.verbs.push(entry));
  }
  for (const reading of input.readings ?? []) {
    const entry = readingEntry(reading);
    place(`the reading ${reading.name}`, encodeValue(entry as never).length, (p) =>
      p.readings.push(entry),
    );
  }
  pages.push(page);
  if (pages.length > 255) {
    throw new FrameError('bad_catalog', `the catalog takes ${pages.length} pages; 255 is the most`);
  }
  return pages.map((p, i) => encodeMessage({ ...p, page: i, pages: pages.length }));
}

function blank(): Caps {
  return { type: 'caps', verbs: [], readings: [], page: 0, pages: 1 };
}

function named(what: string, name: string): string {
  if (isName(name)) return name;
  throw new FrameError('bad_catalog', `a ${what}'s name is 1 to 64 of A-Za-z0-9_.-`);
}

function verbEntry(verb: CatalogInput['verbs'][number]): Caps['verbs'][number] {
  const signature =
    typeof verb.signature === 'string' ? parseSignature(verb.signature) : verb.signature;
  const flags =
    (verb.protected ? VERB_FLAGS.protected : 0) |
    (verb.idempotent ? VERB_FLAGS.idempotent : 0) |
    (verb.readOnly ? VERB_FLAGS.readOnly : 0);
  return [named('verb', verb.name), signature.text, flags, verb.description ?? ''];
}

function readingEntry(
  reading: NonNullable<CatalogInput['readings']>[number],
): Caps['readings'][number] {
  const name = named('reading', reading.name);
  return reading.scale ? [name, reading.unit, 0, reading.scale] : [name, reading.unit, 0];
}
