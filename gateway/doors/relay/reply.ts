/** An outcome as the payload of a reply: JSON text of at most 8,192 UTF-16 units, always. */
import { PAYLOAD_UNITS } from '../../../protocol/relay.js';
import type { Outcome } from '../../core/types.js';
import { plainJson } from '../prompt/plain.js';

export interface Pictures {
  /** Hosted media, in the board's order; a stock client shows the first two. */
  urls: string[];
  /** Sentences about blobs that are not among them. */
  notes: string[];
}

const NONE: Pictures = { urls: [], notes: [] };
/** Units for all URLs together, so that they leave room for a result. */
const PICTURE_UNITS = 3000;
/** Units for each of the two places where a refusal's sentence stands. */
const SENTENCE_UNITS = 3900;

export function replyText(outcome: Outcome, pictures: Pictures = NONE): string {
  return outcome.kind === 'ok' ? good(outcome, pictures) : bad(outcome);
}

function good(outcome: Outcome & { kind: 'ok' }, { urls, notes }: Pictures): string {
  const images = fitting(urls);
  const left = urls.length - images.length;
  const all = left === 0 ? notes : [`${left} more pictures are on the hub.`, ...notes];
  const note = cutJson(all.join(' '), 600);
  const around = {
    ...(images.length === 0 ? {} : { images }),
    ...(note === '' ? {} : { note }),
  };
  const value = plainJson(outcome.value);
  const result = value === null && images.length > 0 ? pictureSentence(images) : value;
  const whole = JSON.stringify({ ok: true, outcome: 'ok', result, ...around });
  if (whole.length <= PAYLOAD_UNITS) return whole;
  const text = typeof result === 'string' ? result : JSON.stringify(result);
  const cut = (kept: string): string =>
    JSON.stringify({
      ok: true,
      outcome: 'ok',
      result: `${kept}\n(cut here: ${text.length - kept.length} of ${text.length} characters are missing)`,
      truncated: true,
      ...around,
    });
  // The sentence is longest when nothing is kept; its two numbers have as many digits at most.
  return cut(cutJson(text, PAYLOAD_UNITS - cut('').length));
}

function fitting(urls: string[]): string[] {
  let units = 0;
  const end = urls.findIndex((url) => {
    units += JSON.stringify(url).length + 1;
    return units > PICTURE_UNITS;
  });
  return end === -1 ? urls : urls.slice(0, end);
}

function bad(outcome: Exclude<Outcome, { kind: 'ok' }>): string {
  const code = 'code' in outcome ? cutJson(outcome.code, 128) : outcome.kind;
  let message = cutJson(outcome.message, SENTENCE_UNITS);
  const missing = outcome.message.length - message.length;
  if (missing > 0) {
    message = cutJson(message, SENTENCE_UNITS - 80);
    message += `\n(cut here: ${outcome.message.length - message.length} of ${outcome.message.length} characters are missing)`;
  }
  return JSON.stringify({
    ok: false,
    outcome: outcome.kind,
    error: { code, message },
    result: message,
    ...(missing > 0 ? { truncated: true } : {}),
  });
}

function pictureSentence(images: string[]): string {
  const what = images.length === 1 ? '1 picture' : `${images.length} pictures`;
  return `${what}: ${images.join(' ')}`;
}

/** The longest start of `text` whose JSON form takes at most `units`, cut at a code point. */
export function cutJson(text: string, units: number): string {
  let used = 0;
  for (let i = 0; i < text.length; ) {
    const step = (text.codePointAt(i) ?? 0) > 0xffff ? 2 : 1;
    used += JSON.stringify(text.slice(i, i + step)).length - 2;
    if (used > units) return text.slice(0, i);
    i += step;
  }
  return text;
}
