/** What a board can do, as text for an agent that asked, or that asked for something else. */
import type { BoardCatalog, Verb } from '../../../protocol/catalog.js';

export function signatureLine(verb: Verb): string {
  const usage = verb.signature.text === '' ? verb.name : `${verb.name} ${verb.signature.text}`;
  const marks = [...(verb.protected ? ['protected'] : []), ...(verb.readOnly ? ['read only'] : [])];
  const mark = marks.length === 0 ? '' : ` [${marks.join(', ')}]`;
  return verb.description === '' ? `${usage}${mark}` : `${usage}${mark}: ${verb.description}`;
}

/** Every verb with its signature, one a line, and how a prompt is written. */
export function helpText(catalog: BoardCatalog): string {
  const { verbs, name } = catalog;
  if (verbs.length === 0) return `${name} has no verbs.`;
  return [
    `${name} takes a verb, then a JSON object, key=value pairs, or values in order:`,
    ...verbs.map((verb) => `- ${signatureLine(verb)}`),
    'Kinds: sN text of at most N bytes, i whole number, n number, b true or false, e(…) one of these, j JSON, ? optional, * further properties.',
  ].join('\n');
}
