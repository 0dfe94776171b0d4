/** What an envelope from the mailbox asks of a board. */
import type { BoardCatalog, Verb } from '../../../protocol/catalog.js';
import { readEnvelope } from '../../../protocol/relay.js';
import { cutUtf8 } from '../../../protocol/text.js';
import type { Call, Outcome } from '../../core/types.js';
import { helpText } from '../prompt/help.js';
import { readPrompt } from '../prompt/prompt.js';

export type Asked = Pick<Call, 'verb' | 'args' | 'envelope'> & {
  /** Set where the gateway answers by itself. */
  outcome?: Outcome;
};

/** Never throws; what can't be read has its answer in `outcome`. */
export function asked(payload: string, catalog: BoardCatalog): Asked {
  const envelope = readEnvelope(payload);
  switch (envelope.kind) {
    case 'invoke': {
      const read = readPrompt(envelope.prompt, catalog);
      return read.kind === 'call'
        ? { verb: read.verb, args: read.args }
        : { verb: '', args: {}, outcome: read.outcome };
    }
    case 'notify': {
      const verb = catalog.verbs.find(({ name }) => name === 'notify');
      if (!verb) return answer('unknown_verb', `${catalog.name} shows no notifications.`);
      const { title, body, tag, url } = envelope;
      return { verb: verb.name, args: notifyArgs(verb, { title, body, tag, url }) };
    }
    case 'other': {
      if (!catalog.envelopes) {
        const message = `${catalog.name} takes no envelopes of type “${envelope.type}”. Nothing was run.\n${helpText(catalog)}`;
        return answer('unknown_verb', message);
      }
      const bytes = new TextEncoder().encode(envelope.text);
      return { verb: envelope.type, args: {}, envelope: { kind: envelope.type, bytes } };
    }
    case 'unreadable':
      return answer('bad_arguments', `${envelope.why}\n${helpText(catalog)}`);
  }
}

/** What the verb has a place for, cut to what fits: a notification is better short than lost. */
function notifyArgs(
  verb: Verb,
  parts: Record<string, string | undefined>,
): Record<string, unknown> {
  const args: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(parts)) {
    const param = verb.signature.params.find((p) => p.name === name);
    if (text === undefined || (!param && !verb.signature.open)) continue;
    args[name] = param?.max === undefined ? text : cutUtf8(text, param.max);
  }
  return args;
}

function answer(code: 'unknown_verb' | 'bad_arguments', message: string): Asked {
  return { verb: '', args: {}, outcome: { kind: 'refused', code, message } };
}
