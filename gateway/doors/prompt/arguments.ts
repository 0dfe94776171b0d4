/** What stands behind the verb in a prompt, read by the verb's signature. */
import type { Verb } from '../../../protocol/catalog.js';
import type { Param } from '../../../protocol/signature.js';
import { coerce, looseJson, shown, taken, unsafe } from './values.js';
import { type Word, wordsOf } from './words.js';

export type Args = { args: Record<string, unknown> } | { problem: string };

/** Limits and missing parameters are the switchboard's to check; shapes and kinds are read here. */
export function argsOf(verb: Verb, tail: string): Args {
  if (tail === '') return { args: {} };
  const { params, open } = verb.signature;
  const [only] = params;
  const onlyText = params.length === 1 && !open && only?.kind === 'text' ? only : undefined;
  if (tail.startsWith('{')) {
    const object = jsonObject(tail);
    if (typeof object === 'object') return fromObject(verb, object, onlyText ? tail : undefined);
    if (!onlyText) {
      return { problem: `The JSON after “${verb.name}” can't be read: ${object}` };
    }
  }
  const words = wordsOf(tail);
  if (words) {
    const pairs = words.filter((word) => word.key !== undefined);
    const known = (word: Word): boolean => open || params.some((p) => p.name === word.key);
    if (pairs.length === words.length && (pairs.every(known) || !params.some(isText))) {
      return fromPairs(verb, pairs);
    }
  }
  if (onlyText) {
    return { args: { [onlyText.name]: wholeText(onlyText, tail, words) } };
  }
  if (params.length === 0) {
    return {
      problem: open
        ? `“${verb.name}” takes a JSON object or key=value pairs and was given ${shown(tail)}`
        : `“${verb.name}” takes no arguments and was given ${shown(tail)}`,
    };
  }
  if (params.length === 1 && only?.kind === 'json') return one(only, tail);
  return fromWords(verb, tail, words);
}

/** The tail as it is, without the quotes around it and without the parameter's own `name=`. */
function wholeText(param: Param, tail: string, words: Word[] | undefined): string {
  const [word] = words ?? [];
  if (words?.length === 1 && word?.quoted && word.key === undefined) return word.text;
  return tail.startsWith(`${param.name}=`) ? tail.slice(param.name.length + 1).trim() : tail;
}

function one(param: Param, given: unknown): Args {
  const coerced = coerce(param, given);
  return 'value' in coerced ? { args: { [param.name]: coerced.value } } : coerced;
}

/** The object, or a sentence that says why it is none. */
function jsonObject(tail: string): object | string {
  try {
    return JSON.parse(tail) as object;
  } catch (error) {
    return error instanceof Error ? error.message : 'it is no JSON';
  }
}

function fromObject(verb: Verb, object: object, text: string | undefined): Args {
  const { params, open } = verb.signature;
  const entries = Object.entries(object);
  const named = entries.some(([key]) => params.some((p) => p.name === key));
  if (text !== undefined && !named) {
    return { args: { [params[0]?.name ?? 'text']: text } };
  }
  const json = params.filter((p) => p.kind === 'json');
  const [whole] = json;
  if (
    !named &&
    !open &&
    whole &&
    json.length === 1 &&
    params.every((p) => p === whole || p.optional)
  ) {
    return one(whole, object);
  }
  return collect(verb, entries);
}

function fromPairs(verb: Verb, pairs: Word[]): Args {
  const { params } = verb.signature;
  const seen = new Set<string>();
  const entries: [string, unknown][] = [];
  for (const { key = '', text, quoted } of pairs) {
    if (seen.has(key)) return { problem: `“${verb.name}” was given ${key} twice` };
    seen.add(key);
    const isParam = params.some((p) => p.name === key);
    entries.push([key, isParam || quoted ? text : looseJson(text)]);
  }
  return collect(verb, entries);
}

function collect(verb: Verb, entries: [string, unknown][]): Args {
  const { params, open } = verb.signature;
  const args: Record<string, unknown> = {};
  for (const [key, given] of entries) {
    const param = params.find((p) => p.name === key);
    if (key === '__proto__' || (!param && !open)) {
      return {
        problem: `“${verb.name}” has no parameter ${shown(key)}; it takes ${taken(verb.signature)}`,
      };
    }
    if (!param) {
      const wrong = unsafe(given, 1);
      if (wrong !== undefined) return { problem: `${key} ${wrong}` };
      args[key] = given;
      continue;
    }
    if (given === null && param.optional) continue;
    const coerced = coerce(param, given);
    if ('problem' in coerced) return { problem: coerced.problem };
    args[key] = coerced.value;
  }
  return { args };
}

/** Words in the order of the signature; one text parameter takes what words are too many. */
function fromWords(verb: Verb, tail: string, words: Word[] | undefined): Args {
  const { params } = verb.signature;
  const tooMany = words === undefined || words.length > params.length;
  if (words && !tooMany) {
    const inOrder = positional(verb, words);
    if ('args' in inOrder || !inOrder.absorb) return inOrder;
  }
  const texts = params.filter(isText);
  // The last text parameter takes the rest where nothing required stands behind it.
  const text = texts.at(-1);
  const at = text ? params.indexOf(text) : -1;
  const behind = params.slice(at + 1).every((p) => p.optional);
  if (!text || !behind || (words === undefined && at > 0)) {
    return {
      problem: `“${verb.name}” takes ${taken(verb.signature)}; ${words?.length ?? 'more'} words were given`,
    };
  }
  const before = words?.slice(0, at) ?? [];
  const rest = words?.[at];
  const front = positional(verb, before);
  if ('problem' in front) return { problem: front.problem };
  return { args: { ...front.args, [text.name]: tail.slice(rest?.at ?? 0) } };
}

function positional(
  verb: Verb,
  words: Word[],
): { args: Record<string, unknown> } | { problem: string; absorb: boolean } {
  const { params } = verb.signature;
  const args: Record<string, unknown> = {};
  let next = 0;
  for (const word of words) {
    const named = params.find((p) => p.name === word.key);
    const param = named ?? params[next];
    if (!param) return { problem: `“${verb.name}” takes ${taken(verb.signature)}`, absorb: true };
    if (!named) next++;
    // `a=1` that names no parameter is a word like any other.
    const raw = named || word.key === undefined ? word.text : `${word.key}=${word.text}`;
    if (Object.hasOwn(args, param.name)) {
      return { problem: `“${verb.name}” was given ${param.name} twice`, absorb: false };
    }
    const coerced = coerce(param, raw);
    if ('problem' in coerced) {
      const absorb = coerced.because === 'kind' && params.some(isText);
      return { problem: coerced.problem, absorb };
    }
    args[param.name] = coerced.value;
  }
  return { args };
}

function isText(param: Param): boolean {
  return param.kind === 'text';
}
