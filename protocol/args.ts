/** A verb's arguments: their JSON Schema, their check before any radio is used, their bytes. */
import { begin, writeValue } from './encoder.js';
import { FrameError } from './frame-error.js';
import type { Value } from './kinds.js';
import type { Param, Signature } from './signature.js';
import { fitsUtf8 } from './text.js';

/** A JSON Schema of draft 2020-12, as agents' tool lists want it. */
export interface ArgsSchema {
  type: 'object';
  properties: Record<string, Record<string, unknown>>;
  required: string[];
  additionalProperties: boolean;
}

/**
 * The JSON Schema of a verb's arguments. JSON Schema counts code points and the wire counts
 * bytes, so text of other than ASCII may pass the schema and still be refused by `checkArgs`.
 */
export function toJsonSchema(signature: Signature): ArgsSchema {
  const properties: Record<string, Record<string, unknown>> = {};
  for (const param of signature.params) properties[param.name] = schemaOf(param);
  return {
    type: 'object',
    properties,
    required: signature.params.filter((p) => !p.optional).map((p) => p.name),
    additionalProperties: signature.open,
  };
}

function schemaOf(param: Param): Record<string, unknown> {
  switch (param.kind) {
    case 'text':
      return {
        type: 'string',
        maxLength: param.max,
        description: `at most ${param.max} bytes of UTF-8`,
      };
    case 'int':
      return { type: 'integer', minimum: param.min, maximum: param.max };
    case 'number':
      return param.min === undefined
        ? { type: 'number' }
        : { type: 'number', minimum: param.min, maximum: param.max };
    case 'bool':
      return { type: 'boolean' };
    case 'enum':
      return { type: 'string', enum: [...(param.values ?? [])] };
    case 'json':
      return {};
  }
}

/**
 * What is wrong with these arguments, one sentence each; empty if nothing is. Values are never
 * repeated in the words: they may be secrets.
 */
export function checkArgs(signature: Signature, args: unknown): string[] {
  if (!isObject(args)) return ['the arguments must be an object of names and values'];
  const problems: string[] = [];
  for (const param of signature.params) {
    const value = own(args, param.name);
    if (value === undefined) {
      if (!param.optional) problems.push(`${param.name} is missing: ${wordsOf(param)}`);
    } else {
      const problem = check(param, value);
      if (problem) problems.push(problem);
    }
  }
  const rest = further(signature, args);
  const names = Object.keys(rest);
  if (!signature.open) {
    const known = signature.params.map((p) => p.name).join(', ') || 'none';
    for (const name of names) {
      problems.push(`${cut(name)} is not an argument here; this verb takes: ${known}`);
    }
  } else if (names.length > 0) {
    const problem = unfit(rest as Value);
    if (problem) problems.push(`the further properties can't be sent: ${problem}`);
  }
  return problems;
}

function check(param: Param, value: unknown): string | undefined {
  if (param.kind === 'json') {
    const problem = unfit(value as Value);
    return problem && `${param.name} can't be sent: ${problem}`;
  }
  if (!fits(param, value)) return `${param.name} must be ${wordsOf(param)}`;
  if (typeof value === 'string' && /\p{Surrogate}/u.test(value)) {
    return `${param.name} holds half of a surrogate pair, which is not text`;
  }
  return undefined;
}

function fits(param: Param, value: unknown): boolean {
  const { min = -Infinity, max = Infinity } = param;
  switch (param.kind) {
    case 'text':
      return typeof value === 'string' && fitsUtf8(value, max);
    case 'int':
      return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
    case 'number':
      return Number.isFinite(value) && (value as number) >= min && (value as number) <= max;
    case 'bool':
      return typeof value === 'boolean';
    default:
      return typeof value === 'string' && (param.values ?? []).includes(value);
  }
}

/** What a parameter takes, as in help texts: `a whole number from 1 to 4`. */
export function wordsOf(param: Param): string {
  const range = param.min === undefined ? '' : ` from ${param.min} to ${param.max}`;
  switch (param.kind) {
    case 'text':
      return `text of at most ${param.max} bytes`;
    case 'int':
      return `a whole number${range}`;
    case 'number':
      return `a number${range}`;
    case 'bool':
      return 'true or false';
    case 'enum':
      return `one of ${(param.values ?? []).join(', ')}`;
    case 'json':
      return 'a JSON value';
  }
}

/** Why the wire has no form for a value; arguments stand two levels deep in a CALL. */
function unfit(value: Value): string | undefined {
  try {
    begin();
    writeValue(value, 2);
    return undefined;
  } catch (error) {
    if (error instanceof FrameError) return error.message;
    throw error;
  }
}

/**
 * Arguments as CALL carries them: by position, further properties in one map after the last.
 * They should have passed `checkArgs`; properties that the signature doesn't take are left out.
 */
export function packArgs(signature: Signature, args: Record<string, unknown>): Map<number, Value> {
  const packed = new Map<number, Value>();
  signature.params.forEach((param, i) => {
    const value = own(args, param.name);
    if (value !== undefined) packed.set(i, value as Value);
  });
  if (signature.open) {
    const rest = further(signature, args);
    if (Object.keys(rest).length > 0) packed.set(signature.params.length, rest as Value);
  }
  return packed;
}

/** Arguments by name, from the map of a CALL; unknown positions are ignored. Check them after. */
export function unpackArgs(signature: Signature, map: Map<number, Value>): Record<string, Value> {
  const args: Record<string, Value> = {};
  if (signature.open) {
    const rest = map.get(signature.params.length);
    if (isObject(rest)) Object.assign(args, further(signature, rest));
  }
  signature.params.forEach((param, i) => {
    const value = map.get(i);
    if (value !== undefined) args[param.name] = value;
  });
  return args;
}

function further(signature: Signature, args: Record<string, unknown>): Record<string, unknown> {
  const known = new Set(signature.params.map((p) => p.name));
  const rest: [string, unknown][] = [];
  for (const name of Object.keys(args)) {
    if (!known.has(name) && args[name] !== undefined) rest.push([name, args[name]]);
  }
  // `fromEntries` makes own properties even of `__proto__`, which the codec then refuses.
  return Object.fromEntries(rest);
}

function own(args: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(args, name) ? args[name] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !(value instanceof Uint8Array) && !(value instanceof Map);
}

function cut(name: string): string {
  return name.length > 40 ? `${name.slice(0, 40)}…` : name;
}
