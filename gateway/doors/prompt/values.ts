/** Values of a prompt made into what a parameter takes, or a sentence that says what it takes. */
import type { Param, Signature } from '../../../protocol/signature.js';

export type Coerced =
  | { value: unknown }
  /** `kind`: another kind of thing was given; `range`: the right kind, but not allowed. */
  | { problem: string; because: 'kind' | 'range' };

const DECIMAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
const TRUE = ['true', 'on', 'yes', '1'];
const FALSE = ['false', 'off', 'no', '0'];
/** Deeper JSON is nothing a board could take (frame.md "Encoding": 8 levels, 2 of them ours). */
const MAX_DEPTH = 6;

/** `given` is text from a prompt's word, or a value from its JSON. */
export function coerce(param: Param, given: unknown): Coerced {
  const problem = (because: 'kind' | 'range'): Coerced => ({
    problem: `${param.name} was given ${shown(given)} and takes ${allowed(param)}`,
    because,
  });
  switch (param.kind) {
    case 'text':
      if (typeof given === 'string') return { value: given };
      return typeof given === 'number' || typeof given === 'boolean'
        ? { value: String(given) }
        : problem('kind');
    case 'int':
    case 'number': {
      const number =
        typeof given === 'string' && DECIMAL.test(given.trim()) ? Number(given) : given;
      if (typeof number !== 'number' || !Number.isFinite(number)) return problem('kind');
      if (param.kind === 'int' && !Number.isSafeInteger(number)) return problem('range');
      const tooLow = param.min !== undefined && number < param.min;
      const tooHigh = param.max !== undefined && number > param.max;
      return tooLow || tooHigh ? problem('range') : { value: number };
    }
    case 'bool': {
      if (typeof given === 'boolean') return { value: given };
      const word = wordOf(given)?.toLowerCase() ?? '';
      if (TRUE.includes(word)) return { value: true };
      return FALSE.includes(word) ? { value: false } : problem('kind');
    }
    case 'enum': {
      const values = param.values ?? [];
      const word = wordOf(given);
      const found =
        values.find((v) => v === word) ??
        values.find((v) => v.toLowerCase() === word?.toLowerCase());
      return found === undefined ? problem('kind') : { value: found };
    }
    case 'json': {
      const value = typeof given === 'string' ? looseJson(given) : given;
      const wrong = unsafe(value);
      return wrong === undefined
        ? { value }
        : { problem: `${param.name} ${wrong}`, because: 'range' };
    }
  }
}

function wordOf(given: unknown): string | undefined {
  return typeof given === 'object' ? undefined : String(given);
}

/** A word as JSON where it is some, else the text itself. */
export function looseJson(text: string): unknown {
  if (!/^[[{"\-0-9tfn]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Why a JSON value must not go further; undefined where it may. */
export function unsafe(value: unknown, depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return 'has a property “__proto__”, which is not allowed';
    const wrong = unsafe((value as Record<string, unknown>)[key], depth + 1);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** What a parameter takes, in words. */
export function allowed(param: Param): string {
  const between = (what: string): string => {
    if (param.min !== undefined && param.max !== undefined) {
      return `${what} from ${param.min} to ${param.max}`;
    }
    if (param.min !== undefined) return `${what} of at least ${param.min}`;
    return param.max !== undefined ? `${what} of at most ${param.max}` : what;
  };
  switch (param.kind) {
    case 'text':
      return param.max === undefined ? 'text' : `text of at most ${param.max} bytes`;
    case 'int':
      return between('a whole number');
    case 'number':
      return between('a number');
    case 'bool':
      return 'true or false';
    case 'enum':
      return `one of ${(param.values ?? []).join(', ')}`;
    case 'json':
      return 'JSON';
  }
}

/** The parameters of a verb, in words. */
export function taken(signature: Signature): string {
  const names = signature.params.map((p) => (p.optional ? `${p.name} (optional)` : p.name));
  if (signature.open) names.push('any further key=value or JSON property');
  return names.length === 0 ? 'no arguments' : names.join(', ');
}

export function shown(given: unknown): string {
  const text = typeof given === 'string' ? `“${given}”` : (JSON.stringify(given) ?? 'nothing');
  const points = [...text];
  return points.length > 60 ? `${points.slice(0, 60).join('')}…` : text;
}
