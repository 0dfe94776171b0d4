/** A board's specification, checked once and made ready to run: catalog, verbs, readings. */
import { capsHash, capsPages } from '../protocol/catalog.js';
import { decodeMessage } from '../protocol/codec.js';
import type { Value } from '../protocol/kinds.js';
import type { MessageOf } from '../protocol/messages.js';
import { checkArgs, parseSignature, type Signature, unpackArgs } from '../protocol/signature.js';
import type { CallMessage } from './call-memory.js';
import { type BoardSpec, type VerbContext, VerbError, type VerbSpec } from './types.js';

/** CAPS pages are cut for the smallest gateway, so that one catalog has one hash. */
const PAGE_BYTES = 1_024;

export interface Firmware extends BoardSpec {
  readonly signatures: readonly Signature[];
  readonly capsHash: Uint8Array;
  caps(): MessageOf<'caps'>[];
  /** All readings in catalog order, scaled to integers where they have a scale. */
  readValues(): Value[];
}

/**
 * Checks a specification and adds what every board has: `help`. Throws FrameError or
 * SignatureError for names, signatures or sizes that have no form on the wire.
 */
export function defineBoard(spec: BoardSpec): Firmware {
  const verbs = [...spec.verbs];
  if (!verbs.some((verb) => verb.name === 'help')) verbs.push(helpVerb(() => verbs));
  const signatures = verbs.map((verb) => parseSignature(verb.signature));
  const pages = (): Uint8Array[] =>
    capsPages(
      {
        name: spec.name,
        platform: spec.platform,
        firmware: spec.firmware,
        envelopes: spec.envelope !== undefined,
        verbs: verbs.map(({ name, signature, description, flags }) => ({
          name,
          signature,
          description,
          ...flags,
        })),
        readings: spec.readings ?? [],
      },
      PAGE_BYTES,
    );
  return {
    ...spec,
    verbs,
    signatures,
    capsHash: capsHash(pages()),
    caps: () => pages().map(capsMessage),
    readValues: () => (spec.readings ?? []).map((reading) => scaled(reading.read(), reading.scale)),
  };
}

function capsMessage(bytes: Uint8Array): MessageOf<'caps'> {
  const message = decodeMessage(bytes);
  if (message.type !== 'caps') throw new TypeError('capsPages made something else than CAPS');
  return message;
}

/** All readings by name in their units, as a `status` verb answers them. */
export function readingsByName(spec: Pick<BoardSpec, 'readings'>): Record<string, Value> {
  return Object.fromEntries((spec.readings ?? []).map((reading) => [reading.name, reading.read()]));
}

function scaled(value: number | boolean | string | null, scale = 0): Value {
  if (typeof value !== 'number') return value;
  return Number.isFinite(value) ? (scale === 0 ? value : Math.round(value / 10 ** scale)) : null;
}

function helpVerb(verbs: () => readonly VerbSpec[]): VerbSpec {
  return {
    name: 'help',
    signature: '',
    description: 'lists the verbs of this board with their parameters',
    flags: { idempotent: true, readOnly: true },
    run: () =>
      verbs()
        .map(({ name, signature, description }) =>
          `${name} ${signature}`.trim().concat(` — ${description}`),
        )
        .join('\n'),
  };
}

/**
 * What a call runs, with its arguments read and checked by the board itself: a gateway checks
 * them too, but a board trusts nobody. Throws VerbError `unknown_verb`, `bad_arguments` or
 * `unsupported`.
 */
export function prepareCall(
  firmware: Firmware,
  call: CallMessage,
): { verb: string; run(ctx: VerbContext): Value | Promise<Value> } {
  if (call.type === 'envelope') {
    const { envelope } = firmware;
    if (!envelope) throw new VerbError('unsupported', 'this board takes no envelopes');
    return { verb: `envelope:${call.kind}`, run: (ctx) => envelope(call.kind, call.bytes, ctx) };
  }
  const verb = firmware.verbs[call.verb];
  const signature = firmware.signatures[call.verb];
  if (!verb || !signature) {
    const why = `this board has ${firmware.verbs.length} verbs and none with the index ${call.verb}`;
    throw new VerbError('unknown_verb', why);
  }
  const args = unpackArgs(signature, call.args);
  const problems = checkArgs(signature, args);
  if (problems.length > 0) {
    throw new VerbError('bad_arguments', `${verb.name}: ${problems.slice(0, 5).join('; ')}`);
  }
  return { verb: verb.name, run: (ctx) => verb.run(args, ctx) };
}
