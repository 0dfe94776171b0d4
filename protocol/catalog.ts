/** What a board can do, made once from its CAPS pages and never changed. */
import { sha256 } from '@noble/hashes/sha2.js';
import { FrameError } from './frame-error.js';
import { toHex } from './identity.js';
import { type MessageOf, VERB_FLAGS } from './messages.js';
import { isName, parseSignature, type Signature, SignatureError } from './signature.js';

export * from './caps-pages.js';

export interface Verb {
  readonly index: number;
  readonly name: string;
  readonly signature: Signature;
  readonly description: string;
  readonly protected: boolean;
  readonly idempotent: boolean;
  readonly readOnly: boolean;
}

export interface ReadingDef {
  readonly index: number;
  readonly name: string;
  readonly unit: string;
  /** Power of ten that turns the integer on the wire into the value: 2137 at −2 is 21.37. */
  readonly scale: number;
}

export interface BoardCatalog {
  readonly name: string;
  readonly platform: string;
  readonly firmware: string;
  /** Whether the board takes ENVELOPE messages. */
  readonly envelopes: boolean;
  readonly verbs: readonly Verb[];
  readonly readings: readonly ReadingDef[];
  /** First 8 bytes of SHA-256 over the CAPS messages in page order, as hex. */
  readonly hash: string;
}

/** One CAPS message, decoded and as it came (the message, without the frame's seal byte). */
export interface CapsPage {
  readonly message: MessageOf<'caps'>;
  readonly bytes: Uint8Array;
}

/** First 8 bytes of SHA-256 over the encoded CAPS messages in page order (amendment 13). */
export function capsHash(pages: readonly Uint8Array[]): Uint8Array {
  const hash = sha256.create();
  for (const page of pages) hash.update(page);
  return hash.digest().slice(0, 8);
}

function refuse(what: string): never {
  throw new FrameError('bad_catalog', `${what}; the board's catalog was not taken`);
}

/**
 * Makes the catalog of all pages, in any order. Verbs and readings are numbered in page order.
 * @throws FrameError `bad_catalog` for missing or repeated pages, names that are repeated or
 * not 1 to 64 of `A-Za-z0-9_.-`, more than 256 verbs or readings, and bad signatures
 */
export function buildCatalog(pages: readonly CapsPage[]): BoardCatalog {
  const inOrder = [...pages].sort((a, b) => a.message.page - b.message.page);
  inOrder.forEach(({ message }, i) => {
    if (message.page !== i || message.pages !== inOrder.length) {
      refuse(`CAPS page ${message.page} of ${message.pages} came among ${inOrder.length} pages`);
    }
  });
  if (inOrder.length === 0) refuse('there is no CAPS page');
  const messages = inOrder.map((p) => p.message);
  const verbs = messages.flatMap((m) => m.verbs).map(verbOf);
  const readings = messages.flatMap((m) => m.readings).map(readingOf);
  noneTwice('verb', verbs);
  noneTwice('reading', readings);
  const first = <K extends 'name' | 'platform' | 'firmware'>(key: K): string =>
    messages.find((m) => m[key] !== undefined)?.[key] ?? '';
  return Object.freeze({
    name: first('name'),
    platform: first('platform'),
    firmware: first('firmware'),
    envelopes: messages.some((m) => m.envelopes === true),
    verbs: Object.freeze(verbs),
    readings: Object.freeze(readings),
    hash: toHex(capsHash(inOrder.map((p) => p.bytes))),
  });
}

function verbOf(
  [name, signature, flags, description]: MessageOf<'caps'>['verbs'][number],
  index: number,
): Verb {
  if (!isName(name)) refuse(`verb ${index} has a name that is not 1 to 64 of A-Za-z0-9_.-`);
  return Object.freeze({
    index,
    name,
    signature: signatureOf(name, signature),
    description,
    protected: (flags & VERB_FLAGS.protected) !== 0,
    idempotent: (flags & VERB_FLAGS.idempotent) !== 0,
    readOnly: (flags & VERB_FLAGS.readOnly) !== 0,
  });
}

function signatureOf(verb: string, text: string): Signature {
  try {
    return parseSignature(text);
  } catch (error) {
    if (error instanceof SignatureError) refuse(`the signature of ${verb}: ${error.message}`);
    throw error;
  }
}

function readingOf(
  [name, unit, , scale]: MessageOf<'caps'>['readings'][number],
  index: number,
): ReadingDef {
  if (!isName(name)) refuse(`reading ${index} has a name that is not 1 to 64 of A-Za-z0-9_.-`);
  return Object.freeze({ index, name, unit, scale: scale ?? 0 });
}

/** An index is one byte on the wire, so 256 of each is the most. */
function noneTwice(what: string, items: readonly { name: string }[]): void {
  if (items.length > 256) refuse(`it has ${items.length} ${what}s and at most 256 are taken`);
  const names = new Set<string>();
  for (const { name } of items) {
    if (names.has(name)) refuse(`two ${what}s are called ${name}`);
    names.add(name);
  }
}
