/**
 * Values and messages as JSON, without loss. What JSON lacks stands in an object of one key:
 * `{"$hex":"0a0b"}` bytes, `{"$map":[[0,"x"]]}` a map with integer keys, `{"$float":"-0"}` a
 * number that JSON can't write, `{"$object":[["$hex",1]]}` an object that looks like these.
 */
import { FrameError } from './frame-error.js';
import { fromHex, toHex } from './identity.js';
import type { Kind, Value } from './kinds.js';
import { MESSAGES, type Message, type MessageDef, type MessageName } from './messages.js';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A value of the codec as JSON. */
export function toJsonForm(value: Value): Json {
  if (typeof value === 'number') {
    const plain = Number.isFinite(value) && !Object.is(value, -0);
    return plain ? value : { $float: Object.is(value, -0) ? '-0' : String(value) };
  }
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return { $hex: toHex(value) };
  if (value instanceof Map) return { $map: [...value].map(([k, v]) => [k, toJsonForm(v)]) };
  if (Array.isArray(value)) return value.map(toJsonForm);
  const entries = Object.entries(value);
  if (entries.length === 1 && entries[0]?.[0].startsWith('$')) {
    return { $object: entries.map(([k, v]) => [k, toJsonForm(v)]) };
  }
  return Object.fromEntries(entries.map(([k, v]) => [k, toJsonForm(v)]));
}

function bad(what: string): never {
  throw new FrameError('bad_json', `${what}; no frame was made`);
}

/** The value that `toJsonForm` wrote. @throws FrameError `bad_json` */
export function fromJsonForm(json: unknown): Value {
  if (json === null || typeof json === 'string' || typeof json === 'boolean') return json;
  if (typeof json === 'number') return json;
  if (Array.isArray(json)) return json.map(fromJsonForm);
  if (typeof json !== 'object') bad(`JSON has no ${typeof json}`);
  const entries: [string, unknown][] = Object.entries(json);
  const [only] = entries;
  if (entries.length !== 1 || !only?.[0].startsWith('$')) return objectOf(entries);
  const [name, content] = only;
  switch (name) {
    case '$hex':
      if (typeof content !== 'string') bad('$hex takes text');
      return fromHex(content);
    case '$float':
      if (!['NaN', 'Infinity', '-Infinity', '-0'].includes(String(content))) {
        bad('$float takes NaN, Infinity, -Infinity or -0');
      }
      return Number(content);
    case '$map':
      return new Map(pairs(content, 'number').map(([k, v]) => [k, fromJsonForm(v)]));
    case '$object':
      return objectOf(pairs(content, 'string'));
    default:
      return objectOf(entries);
  }
}

function objectOf(entries: [string, unknown][]): Value {
  return Object.fromEntries(entries.map(([k, v]) => [k, fromJsonForm(v)]));
}

function pairs(content: unknown, key: 'number'): [number, unknown][];
function pairs(content: unknown, key: 'string'): [string, unknown][];
function pairs(content: unknown, key: 'number' | 'string'): [unknown, unknown][] {
  if (!Array.isArray(content)) bad('$map and $object take a list of pairs');
  return content.map((pair: unknown) => {
    if (!Array.isArray(pair) || pair.length !== 2 || typeof pair[0] !== key) {
      bad(`$map and $object take pairs of a key (a ${key} here) and a value`);
    }
    return [pair[0], pair[1]];
  });
}

/** A message as JSON: `{"type":"beat","uptimeS":12}`. */
export function messageToJson(message: Message): { [key: string]: Json } {
  return Object.fromEntries(
    Object.entries(message).map(([k, v]): [string, Json] => [k, toJsonForm(v as Value)]),
  );
}

/**
 * The message that JSON describes. Where a field takes bytes, hex text will do; where it takes
 * a map with integer keys, an object whose keys are digits. Its fields are checked when it is
 * encoded. @throws FrameError `bad_json` for unknown names, `missing_field`
 */
export function messageFromJson(json: unknown): Message {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    bad('a message is an object like {"type":"beat","uptimeS":12}');
  }
  const given = new Map<string, unknown>(Object.entries(json));
  const name = given.get('type');
  if (typeof name !== 'string' || !Object.hasOwn(MESSAGES, name)) {
    bad(`"type" must be one of ${Object.keys(MESSAGES).join(', ')}`);
  }
  const { fields, extras } = MESSAGES[name as MessageName] as MessageDef;
  const kinds = new Map<string, Kind<unknown>>(Object.entries(fields));
  for (const [extra, [, kind]] of Object.entries(extras)) kinds.set(extra, kind);
  const message: Record<string, unknown> = { type: name };
  given.delete('type');
  for (const [field, value] of given) {
    const kind = kinds.get(field);
    if (!kind) bad(`${name} has no field ${field}; it has ${[...kinds.keys()].join(', ')}`);
    if (value !== undefined) message[field] = fitted(kind, value);
  }
  return message as unknown as Message;
}

function fitted(kind: Kind<unknown>, json: unknown): Value {
  const value = fromJsonForm(json);
  if (kind.is(value)) return value;
  if (typeof json === 'string' && /^([0-9a-fA-F]{2})*$/.test(json)) {
    const bytes = fromHex(json);
    if (kind.is(bytes)) return bytes;
  }
  if (kind.takesMap && typeof json === 'object' && json !== null) {
    const entries: [string, unknown][] = Object.entries(json);
    if (entries.every(([k]) => /^\d{1,15}$/.test(k))) {
      return new Map(entries.map(([k, v]) => [Number(k), fromJsonForm(v)]));
    }
  }
  return value;
}
