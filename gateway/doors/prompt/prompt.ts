/**
 * The prompt grammar: a verb, then a JSON object, `key=value` pairs, words by the signature, or
 * the rest as the one text argument. What fits no verb goes to the board's `chat`, or is
 * answered with the help text; a prompt is never left without an answer.
 */
import type { BoardCatalog, Verb } from '../../../protocol/catalog.js';
import type { Outcome } from '../../core/types.js';
import { argsOf } from './arguments.js';
import { helpText } from './help.js';

export type Read =
  | { kind: 'call'; verb: string; args: Record<string, unknown> }
  /** The gateway answers by itself: nothing is sent to the board. */
  | { kind: 'answer'; outcome: Outcome };

/** A verb's name has at most this many words in a prompt (`render ui` is `render_ui`). */
const MAX_NAME_WORDS = 4;
/** A prefix shorter than this is taken for a verb only when it stands alone. */
const MIN_PREFIX = 3;

export function readPrompt(prompt: string, catalog: BoardCatalog): Read {
  const text = prompt.trim();
  if (text === '') {
    return refuse(
      'bad_arguments',
      `The prompt is empty, so nothing was run.\n${helpText(catalog)}`,
    );
  }
  const found = findVerb(text, catalog);
  const chat = chatOf(text, catalog);
  if (found.kind === 'verb') {
    const args = argsOf(found.verb, found.tail);
    if ('args' in args) return { kind: 'call', verb: found.verb.name, args: args.args };
    // A first word that is only like a verb, with a tail that is not: somebody talks.
    if (chat && !found.exact) return chat;
    return refuse('bad_arguments', `${args.problem}. Nothing was run.`);
  }
  if (chat) return chat;
  const help = helpText(catalog);
  if (/^(help|\?)[.!?]?$/i.test(text)) {
    return { kind: 'answer', outcome: { kind: 'ok', value: help, blobs: [] } };
  }
  const why =
    found.kind === 'several'
      ? `The prompt fits several verbs (${found.names.join(', ')}); write one in full.`
      : 'The prompt begins with no verb of this board.';
  return refuse('unknown_verb', `${why} Nothing was run.\n${help}`);
}

function chatOf(text: string, catalog: BoardCatalog): Read | undefined {
  const chat = catalog.verbs.find((verb) => verb.name === 'chat');
  const param = chat?.signature.params.find(({ kind }) => kind === 'text');
  if (!chat || !param) return undefined;
  return { kind: 'call', verb: chat.name, args: { [param.name]: text } };
}

type Found =
  | { kind: 'verb'; verb: Verb; tail: string; exact: boolean }
  | { kind: 'several'; names: string[] }
  | { kind: 'none' };

function findVerb(text: string, catalog: BoardCatalog): Found {
  const heads = headsOf(text);
  for (const head of heads) {
    const verb =
      catalog.verbs.find(({ name }) => name === head.name) ??
      catalog.verbs.find(({ name }) => plain(name) === plain(head.name));
    if (verb) return { kind: 'verb', verb, tail: head.tail, exact: true };
  }
  let several: string[] = [];
  for (const head of heads) {
    const start = plain(head.name);
    if (start.length < MIN_PREFIX && head.tail !== '') continue;
    const fits = catalog.verbs.filter(({ name }) => plain(name).startsWith(start));
    const [verb] = fits;
    if (verb && fits.length === 1) return { kind: 'verb', verb, tail: head.tail, exact: false };
    if (fits.length > 1) several = fits.map(({ name }) => name);
  }
  return several.length > 0 ? { kind: 'several', names: several } : { kind: 'none' };
}

/** The first words joined as a verb's name would be, most words first, each with its tail. */
function headsOf(text: string): { name: string; tail: string }[] {
  const heads: { name: string; tail: string }[] = [];
  const word = /\s*([^\s{["'=:(]+):?/y;
  let name = '';
  while (heads.length < MAX_NAME_WORDS) {
    const match = word.exec(text);
    const found = match?.[1];
    if (found === undefined || found.length > 64 || text[word.lastIndex] === '=') break;
    name = name === '' ? found : `${name}_${found}`;
    heads.unshift({ name, tail: text.slice(word.lastIndex).trim() });
  }
  return heads;
}

function plain(name: string): string {
  return name
    .replace(/[.!?,]+$/, '')
    .toLowerCase()
    .replaceAll(/[-.]/g, '_');
}

function refuse(code: 'bad_arguments' | 'unknown_verb', message: string): Read {
  return { kind: 'answer', outcome: { kind: 'refused', code, message } };
}
