/**
 * An agent behind a chat API in the form that most servers of language models have:
 * `POST <url>/chat/completions` answering as an event stream, and for spoken questions
 * `POST <url>/audio/transcriptions`.
 */
import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { cutText } from '../protocol/tiny.js';
import { type Agent, AgentUnusable, type Question, type Recording } from './agent.js';
import { without } from './endpoint/secret.js';
import { parseJson } from './http/json.js';

export interface ChatAgentOptions {
  /** What comes before `/chat/completions`, as in `http://127.0.0.1:11434/v1`. */
  url: string;
  model: string;
  /** Writes recordings down; without one spoken questions are refused. */
  speechModel?: string;
  /** Sent as a bearer token, to this URL alone. */
  key?: string;
}

/** No answer this time. Its message is for the hub's log; who asked hears only that. */
export class ChatAgentError extends Error {
  override readonly name = 'ChatAgentError';
}

/** Bytes of an answer that is no stream, and of one event of a stream. */
const MOST = 256 * 1024;
const SAID = 200;
/** Refusals that another time may not meet: the server's own trouble, and too much at once. */
const PASSING = /^(408|425|429|5..)$/;

const instructions = (device: string): string =>
  [
    `You answer the owner of a small device named ${JSON.stringify(cutText(device, 64))}: it shows or speaks what you write.`,
    'Answer in the language of the question, in plain text without Markdown, in two or three sentences.',
    'Where a picture of the answer helps, add one block that begins with a line ```card and ends with a line ```,',
    'and holds one JSON object: {"type":"text","title":"…","body":"…"},',
    '{"type":"list","title":"…","items":["…"]} or {"type":"kv","title":"…","rows":{"name":"value"}}.',
  ].join('\n');

const piece = z.looseObject({ content: z.string().nullish() }).nullish();
const completion = z.looseObject({
  error: z.unknown().optional(),
  choices: z
    .array(
      z
        .looseObject({ delta: piece, message: piece, finish_reason: z.string().nullish() })
        .nullish(),
    )
    .nullish(),
});
const transcription = z.looseObject({ text: z.string() });

/** What speech servers know a recording's format by. */
const ENDINGS: Readonly<Record<string, string>> = {
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
};

/** Its answers reject with `ChatAgentError`, `AgentUnusable`, with `TypeError` from `fetch`, or when aborted. */
export function chatAgent(options: ChatAgentOptions): Agent {
  const { model, speechModel, key } = options;
  const base = options.url.replace(/\/+$/, '');

  async function post(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    if (key !== undefined) headers.set('authorization', `Bearer ${key}`);
    // The key goes where the owner said, and nowhere else.
    const made = { ...init, method: 'POST', headers, redirect: 'error' } as const;
    const answer = await fetch(`${base}${path}`, made);
    if (answer.ok) return answer;
    // Servers like to repeat a key that they refuse.
    const said = cutText(without(key ?? '', (await textOf(answer)).trim()), SAID);
    const words = `${path} answered ${answer.status}${said === '' ? '' : `: ${said}`}`;
    throw PASSING.test(String(answer.status))
      ? new ChatAgentError(words)
      : new AgentUnusable(words);
  }

  return {
    async *answer({ text, device, signal }: Question) {
      const answer = await post('/chat/completions', {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model,
          stream: true,
          messages: [
            { role: 'system', content: instructions(device.name) },
            { role: 'user', content: text },
          ],
        }),
        signal,
      });
      const type = answer.headers.get('content-type') ?? '';
      if (!type.includes('text/event-stream')) yield pieceOf(await textOf(answer)).text;
      else yield* streamed(answer);
    },
    ...(speechModel === undefined
      ? {}
      : {
          async transcribe({ bytes, type, signal }: Recording) {
            const form = new FormData();
            form.set('model', speechModel);
            const ending = ENDINGS[type] ?? type.replace(/^audio\//, '');
            form.set('file', new Blob([Uint8Array.from(bytes)], { type }), `recording.${ending}`);
            const answer = await post('/audio/transcriptions', { body: form, signal });
            const heard = transcription.safeParse(parseJson(await textOf(answer)));
            if (heard.success) return heard.data.text;
            throw new ChatAgentError('/audio/transcriptions answered without a text');
          },
        }),
  };
}

/** Without an end that the server named, what came may be half of an answer: an error. */
async function* streamed(answer: Response): AsyncGenerator<string, void> {
  const events: string[] = [];
  let tooLong = false;
  const parser = createParser({
    maxBufferSize: MOST,
    onEvent: ({ data }) => void events.push(data),
    onError: ({ type }) => {
      tooLong ||= type === 'max-buffer-size-exceeded';
    },
  });
  const decoder = new TextDecoder();
  let ended = false;
  for await (const part of partsOf(answer)) {
    parser.feed(decoder.decode(part, { stream: true }));
    if (tooLong) throw new ChatAgentError('an event of its stream is too long');
    for (const data of events.splice(0)) {
      if (data === '[DONE]') return;
      const { text, last } = pieceOf(data);
      ended ||= last;
      if (text !== '') yield text;
    }
  }
  if (!ended) throw new ChatAgentError('its stream broke off');
}

function pieceOf(data: string): { text: string; last: boolean } {
  const read = completion.safeParse(parseJson(data));
  if (!read.success) throw new ChatAgentError('its answer is not that of a chat API');
  const { error, choices } = read.data;
  if (error !== undefined && error !== null) {
    throw new ChatAgentError(`it failed: ${cutText(JSON.stringify(error), SAID)}`);
  }
  const [choice] = choices ?? [];
  const text = (choice?.delta ?? choice?.message)?.content ?? '';
  return { text, last: typeof choice?.finish_reason === 'string' };
}

async function textOf(answer: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of partsOf(answer)) {
    size += part.length;
    if (size > MOST) throw new ChatAgentError('its answer is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Whoever leaves it early ends the answer. */
async function* partsOf({ body }: Response): AsyncGenerator<Uint8Array, void> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
