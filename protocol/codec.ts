/**
 * Messages and values as bytes. Decoding checks the profile first and hands only what passed
 * to `cbor-x`; the message table then says what each item must be.
 */
import { Decoder } from 'cbor-x/decode';
import { begin, enter, finish, writeHead, writeText, writeValue } from './encoder.js';
import { FrameError } from './frame-error.js';
import type { Kind, Value } from './kinds.js';
import { MESSAGES, type Message, type MessageDef, type MessageName } from './messages.js';
import { checkProfile, DEFAULT_LIMIT, type Profile } from './profile.js';

export { FrameError, type FrameErrorCode } from './frame-error.js';

const options = { useRecords: false, int64AsNumber: true, copyBuffers: true } as const;
const asObjects = new Decoder({ ...options, mapsAsObjects: true });
const asMaps = new Decoder({ ...options, mapsAsObjects: false });

// `cbor-x` keeps a DataView on the array it reads; a scratch of our own saves making one for
// each message and leaves the caller's bytes alone. Byte strings are copied out of it.
const scratch = new Uint8Array(4096);

function readChecked(bytes: Uint8Array, profile: Readonly<Profile>): Value {
  // Text keys become objects and integer keys Maps: `cbor-x` does either, not both at once.
  const mixed = profile.intMaps && (profile.textMaps || profile.emptyMaps);
  const marks = profile.marks;
  const decoder = profile.intMaps || marks ? asMaps : asObjects;
  let source: Uint8Array;
  if (bytes.length <= scratch.length) {
    scratch.set(bytes);
    source = scratch;
  } else {
    source = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  }
  const read = decoder.decode as (source: Uint8Array, end: number) => Value;
  const value = read.call(decoder, source, bytes.length);
  if (!mixed && !marks) return value;
  restored = marks;
  texts = 0;
  return reshape(value);
}

let restored: number[] | undefined;
let texts = 0;

/** Turns Maps with text keys into objects, and gives text back the mark that TextDecoder eats. */
function reshape(value: Value): Value {
  if (typeof value === 'string') return restored ? withMark(value) : value;
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = reshape(value[i] as Value);
    return value;
  }
  if (!(value instanceof Map)) return value;
  const entries = value as Map<number | string, Value>;
  let object: { [key: string]: Value } | undefined;
  for (const [key, item] of entries) {
    if (typeof key === 'string') {
      texts++;
      object ??= {};
      object[key] = typeof item === 'number' ? item : reshape(item);
    } else if (typeof item === 'object' || restored) {
      const shaped = reshape(item);
      if (shaped !== item) entries.set(key, shaped);
    }
  }
  return object ?? (entries.size === 0 ? {} : (value as Map<number, Value>));
}

function withMark(text: string): string {
  const marked = restored?.includes(texts++);
  return marked && !text.startsWith('\ufeff') ? `\ufeff${text}` : text;
}

/**
 * Encodes one value. Objects become maps with text keys (undefined properties are left out),
 * Maps become maps with integer keys, numbers take their shortest form.
 * @throws FrameError `unencodable`, `too_deep`, `too_many` or `unsafe_key`
 */
export function encodeValue(value: Value): Uint8Array {
  begin();
  writeValue(value, 0);
  return finish();
}

/**
 * Decodes exactly one value of at most `limit` bytes (262,144 unless told). An empty map
 * decodes to `{}`. Nothing of the result shares memory with `bytes`.
 * @throws FrameError
 */
export function decodeValue(bytes: Uint8Array, limit = DEFAULT_LIMIT): Value {
  return readChecked(bytes, checkProfile(bytes, limit));
}

interface Slot {
  readonly name: string;
  readonly key: number;
  readonly kind: Kind<unknown>;
}

interface Plan {
  readonly id: number;
  readonly type: MessageName;
  readonly fields: readonly Slot[];
  readonly extras: readonly Slot[];
}

const PLANS = new Map<string, Plan>();
const BY_ID: (Plan | undefined)[] = [];
for (const [name, def] of Object.entries(MESSAGES) as [MessageName, MessageDef][]) {
  const plan: Plan = {
    id: def.id,
    type: name,
    fields: Object.entries(def.fields).map(([field, kind], i) => ({ name: field, key: i, kind })),
    extras: Object.entries(def.extras).map(([extra, [key, kind]]) => ({ name: extra, key, kind })),
  };
  PLANS.set(name, plan);
  // RESULT and its failing form share an id; the status tells them apart.
  BY_ID[def.id] ??= plan;
}
const FAILURE = PLANS.get('failure');

/**
 * Encodes one message after checking every field against the message table.
 * @throws FrameError `unknown_type`, `missing_field`, `bad_field` or one of `encodeValue`'s
 */
export function encodeMessage(message: Message): Uint8Array {
  const plan = PLANS.get(message.type);
  if (!plan) {
    throw new FrameError('unknown_type', `there is no message ${String(message.type)}`);
  }
  const values = message as unknown as Record<string, Value | undefined>;
  const { fields, extras } = plan;
  begin();
  let more = 0;
  for (const extra of extras) if (values[extra.name] !== undefined) more++;
  writeHead(4, fields.length + (more > 0 ? 2 : 1));
  enter(0);
  writeHead(0, plan.id);
  for (const field of fields) writeSlot(plan, field, values[field.name], 1);
  if (more > 0) {
    enter(1);
    writeHead(5, more);
    for (const extra of extras) {
      const value = values[extra.name];
      if (value === undefined) continue;
      writeHead(0, extra.key);
      writeSlot(plan, extra, value, 2);
    }
  }
  return finish();
}

function writeSlot(plan: Plan, slot: Slot, value: Value | undefined, depth: number): void {
  if (value === undefined) missing(plan, slot);
  if (!slot.kind.is(value)) bad(plan, slot, value);
  if (typeof value === 'string') writeText(value);
  else writeValue(value, depth);
}

/**
 * Decodes one message of at most `limit` bytes. Unknown trailing items and unknown keys of the
 * trailing map are ignored.
 * @throws FrameError; `unknown_type` carries the id, to be answered once with ERROR
 */
export function decodeMessage(bytes: Uint8Array, limit = DEFAULT_LIMIT): Message {
  const items = readChecked(bytes, checkProfile(bytes, limit));
  if (!Array.isArray(items)) throw notAMessage();
  const id = items[0];
  if (typeof id !== 'number' || !(id >= 0) || !Number.isInteger(id)) throw notAMessage();
  let plan = BY_ID[id];
  if (!plan) {
    throw new FrameError('unknown_type', `no message of version 1 has the id ${id}`, { id });
  }
  if (FAILURE && id === FAILURE.id && items[2] === 1) plan = FAILURE;
  const message: Record<string, unknown> = { type: plan.type };
  const { fields, extras } = plan;
  for (let i = 0; i < fields.length; i++) {
    const slot = fields[i] as Slot;
    const value = items[i + 1];
    if (value === undefined) missing(plan, slot);
    message[slot.name] = checked(plan, slot, value);
  }
  const more = items[fields.length + 1];
  if (more !== undefined && extras.length > 0) readExtras(plan, more, message);
  return message as unknown as Message;
}

function readExtras(plan: Plan, more: Value, message: Record<string, unknown>): void {
  if (!(more instanceof Map)) {
    if (isEmptyMap(more)) return;
    throw new FrameError(
      'bad_field',
      `after the fields of ${plan.type} a map with integer keys should stand, not ${nameOf(more)}`,
      { id: plan.id },
    );
  }
  for (const slot of plan.extras) {
    const value = more.get(slot.key);
    if (value !== undefined) message[slot.name] = checked(plan, slot, value);
  }
}

function checked(plan: Plan, slot: Slot, value: Value): Value {
  if (slot.kind.is(value)) return value;
  if (slot.kind.takesMap && isEmptyMap(value)) return new Map<number, Value>();
  bad(plan, slot, value);
}

function isEmptyMap(value: Value): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value) || value instanceof Uint8Array || value instanceof Map) return false;
  return Object.keys(value).length === 0;
}

function notAMessage(): FrameError {
  return new FrameError('not_a_message', 'a message is an array that starts with its id', {
    offset: 0,
  });
}

function missing(plan: Plan, slot: Slot): never {
  throw new FrameError('missing_field', `${plan.type} (${plan.id}) lacks ${slot.name}`, {
    id: plan.id,
  });
}

function bad(plan: Plan, slot: Slot, value: unknown): never {
  throw new FrameError(
    'bad_field',
    `${slot.name} of ${plan.type} (${plan.id}) must be ${slot.kind.words}, not ${nameOf(value)}`,
    { id: plan.id },
  );
}

/** A value's kind and size in words; never its content, which may be a secret. */
function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `text of ${value.length} characters`;
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object') return 'a map';
  return typeof value === 'number' ? 'another number' : `a ${typeof value}`;
}
