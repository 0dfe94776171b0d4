/** Frames as JSON and as words, made from the message table, for `motebridge frame`. */

import { fromHex, toHex } from '../protocol/identity.js';
import type { Kind, Value } from '../protocol/kinds.js';
import {
  MESSAGES,
  type Message,
  type MessageDef,
  type MessageName,
  messageSchema,
} from '../protocol/messages.js';
import { usage } from './fault.js';
import { clean } from './text.js';

const WAYS = {
  board: 'board -> gateway',
  gateway: 'gateway -> board',
  both: 'either way',
} as const;

/** Undefined for anything but pairs of hex digits; spaces, colons and `0x` are passed over. */
export function hexBytes(text: string): Uint8Array | undefined {
  const digits = text.replace(/0x|[\s:,_-]/gi, '');
  if (digits.length % 2 === 1 || !/^[0-9a-f]*$/i.test(digits)) return undefined;
  return fromHex(digits);
}

/** JSON has no bytes and no integer keys: `{"$hex":"0a0b"}` and `{"$map":[[0,"x"]]}` stand in. */
export function toJson(value: Value | undefined): unknown {
  if (value instanceof Uint8Array) return { $hex: toHex(value) };
  if (value instanceof Map) return { $map: [...value].map(([key, item]) => [key, toJson(item)]) };
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== 'object' || value === null) return value;
  const plain: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) plain[key] = toJson(item);
  return plain;
}

export function fromJson(json: unknown): Value {
  if (Array.isArray(json)) return json.map(fromJson);
  if (typeof json === 'string' || typeof json === 'number' || typeof json === 'boolean')
    return json;
  if (typeof json !== 'object' || json === null) return null;
  const entries = Object.entries(json);
  const only = entries.length === 1 ? entries[0] : undefined;
  if (only?.[0] === '$hex' && typeof only[1] === 'string') {
    const bytes = hexBytes(only[1]);
    if (bytes === undefined)
      throw usage(`$hex takes pairs of hex digits, not "${clean(only[1])}".`);
    return bytes;
  }
  if (only?.[0] === '$map' && Array.isArray(only[1])) {
    return new Map(only[1].map((pair: unknown) => mapEntry(pair)));
  }
  const plain: { [key: string]: Value } = {};
  for (const [key, item] of entries) plain[key] = fromJson(item);
  return plain;
}

function mapEntry(pair: unknown): [number, Value] {
  if (!Array.isArray(pair) || pair.length !== 2 || typeof pair[0] !== 'number') {
    throw usage('$map takes pairs of a whole number and a value, like {"$map":[[0,"x"]]}.');
  }
  return [pair[0], fromJson(pair[1])];
}

/** A field as it was typed, or read as hex or as an integer-keyed map where the kind wants that. */
function asKind(kind: Kind<unknown>, json: unknown): Value | undefined {
  const tries: Value[] = [fromJson(json)];
  if (typeof json === 'string') {
    const bytes = hexBytes(json);
    if (bytes !== undefined) tries.push(bytes);
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) {
    const entries = Object.entries(json);
    if (entries.every(([key]) => /^\d{1,9}$/.test(key))) {
      tries.push(new Map(entries.map(([key, item]) => [Number(key), fromJson(item)])));
    }
  }
  return tries.find((value) => kind.is(value));
}

function isName(name: unknown): name is MessageName {
  return typeof name === 'string' && Object.hasOwn(MESSAGES, name);
}

/** The message that `json` describes: `{"type":"beat","uptimeS":120,"battery":80}`. */
export function messageFromJson(json: unknown): Message {
  const given =
    typeof json === 'object' && json !== null ? new Map(Object.entries(json)) : new Map();
  const name: unknown = given.get('type');
  if (!isName(name)) {
    throw usage(`"type" must be one of: ${Object.keys(MESSAGES).join(', ')}.`);
  }
  const { fields, extras } = MESSAGES[name] as MessageDef;
  const built: Record<string, unknown> = { type: name };
  given.delete('type');
  const take = (field: string, kind: Kind<unknown>, optional: boolean): void => {
    const value: unknown = given.get(field);
    given.delete(field);
    if (value === undefined && optional) return;
    const fitted = value === undefined ? undefined : asKind(kind, value);
    if (fitted === undefined) {
      const what = value === undefined ? 'is missing' : 'does not fit';
      throw usage(`${name}: "${field}" ${what}; it is ${kind.words}.`);
    }
    built[field] = fitted;
  };
  for (const [field, kind] of Object.entries(fields)) take(field, kind, false);
  for (const [field, [, kind]] of Object.entries(extras)) take(field, kind, true);
  const [left] = given.keys();
  if (left !== undefined) {
    const known = [...Object.keys(fields), ...Object.keys(extras)].join(', ');
    throw usage(`${name} has no field "${clean(String(left))}"; it has ${known || 'none'}.`);
  }
  // The schema of `name` made it, which the type of a union of names can't say.
  return messageSchema(name).parse(built) as unknown as Message;
}

export function messageJson(message: Message): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(message)) json[field] = toJson(value);
  return json;
}

/** A headline and one line for each field. */
export function explainMessage(message: Message): string[] {
  const { id, from, means, fields, extras } = MESSAGES[message.type] as MessageDef;
  const values = new Map<string, unknown>(Object.entries(messageJson(message)));
  const rows: [string, string, string][] = [];
  for (const [field, kind] of Object.entries(fields)) {
    rows.push([field, JSON.stringify(values.get(field)), kind.words]);
  }
  for (const [field, [key, kind]] of Object.entries(extras)) {
    if (!values.has(field)) continue;
    rows.push([field, JSON.stringify(values.get(field)), `${kind.words}, optional ${key}`]);
  }
  const width = Math.max(0, ...rows.map(([field]) => field.length));
  return [
    `${message.type.toUpperCase()} (${id}), ${WAYS[from]}: ${means}`,
    ...rows.map(([field, value, kind]) => `  ${field.padEnd(width)}  ${clean(value)}   (${kind})`),
  ];
}
