/** The agent behind a chat API, against a server that says what the test tells it. */
import { expect, test } from 'vitest';
import { AgentUnusable, type Question } from './agent.js';
import { ChatAgentError, chatAgent } from './chat-agent.js';
import { answering, chatServer, delta, event, streaming } from './chat-server.fixture.js';

const question = (signal = new AbortController().signal): Question => ({
  text: 'how warm is it?',
  owner: { id: 'o', name: 'ann' },
  device: { id: 'd', name: 'desk' },
  signal,
});

async function all(pieces: AsyncIterable<string>): Promise<string[]> {
  const said: string[] = [];
  for await (const piece of pieces) said.push(piece);
  return said;
}

test('asks its model with the device’s question, and yields the answer as it streams', async () => {
  const { url, asked } = await chatServer(
    streaming(
      event({ choices: [] }),
      delta(null),
      delta('It is '),
      delta('21.'),
      'data: [DONE]\n\n',
    ),
  );
  const agent = chatAgent({ url: `${url}/`, model: 'small', key: 'key-of-the-owner' });
  expect(await all(agent.answer(question()))).toEqual(['It is ', '21.']);
  const [one] = asked;
  expect([one?.path, one?.headers.authorization]).toEqual([
    '/v1/chat/completions',
    'Bearer key-of-the-owner',
  ]);
  expect(JSON.parse(one?.body ?? '')).toEqual({
    model: 'small',
    stream: true,
    messages: [
      { role: 'system', content: expect.stringMatching(/"desk".*```card/s) },
      { role: 'user', content: 'how warm is it?' },
    ],
  });
});

test('a server that does not stream is understood, and none gets a key that is not there', async () => {
  const { url, asked } = await chatServer(
    answering(200, { choices: [{ message: { role: 'x', content: '21' }, finish_reason: 'stop' }] }),
  );
  expect(await all(chatAgent({ url, model: 'm' }).answer(question()))).toEqual(['21']);
  expect(asked[0]?.headers).not.toHaveProperty('authorization');
});

test('an end without [DONE] is one where the server said why it ended', async () => {
  const { url } = await chatServer(streaming(delta('21'), delta('', 'stop')));
  expect(await all(chatAgent({ url, model: 'm' }).answer(question()))).toEqual(['21']);
});

test.each([
  ['a stream that breaks off', streaming(delta('half of')), 'its stream broke off'],
  ['an error in the stream', streaming(event({ error: { message: 'full' } })), /failed: .*full/],
  ['what is no chat API', answering(200, '<html>'), 'not that of a chat API'],
  ['an answer without end', answering(200, 'x'.repeat(300_000)), 'too long'],
  ['an event without end', streaming(`data: ${'x'.repeat(300_000)}`), 'too long'],
])('%s is an error', async (_name, answer, words) => {
  const { url } = await chatServer(answer);
  await expect(all(chatAgent({ url, model: 'm' }).answer(question()))).rejects.toThrow(words);
});

test.each([
  [400, AgentUnusable],
  [401, AgentUnusable],
  [404, AgentUnusable],
  [429, ChatAgentError],
  [503, ChatAgentError],
])('a %i: only what may pass is worth asking again', async (status, fault) => {
  const { url } = await chatServer(answering(status, ''));
  const said = all(chatAgent({ url, model: 'm' }).answer(question()));
  await expect(said).rejects.toBeInstanceOf(fault);
});

test('a refusal is told with its status, and without the key that it repeats', async () => {
  const key = 'key-of-the-owner';
  const { url } = await chatServer(answering(401, { error: `${key} is no key` }));
  const said = await all(chatAgent({ url, model: 'm', key }).answer(question())).catch(String);
  expect(said).toContain('/chat/completions answered 401: ');
  expect(said).not.toContain(key);
});

test('the key follows no redirect', async () => {
  const elsewhere = await chatServer(answering(200, {}));
  const { url } = await chatServer(answering(307, {}, { location: elsewhere.url }));
  const agent = chatAgent({ url, model: 'm', key: 'key-of-the-owner' });
  await expect(all(agent.answer(question()))).rejects.toThrow();
  expect(elsewhere.asked).toEqual([]);
});

test('an aborted question ends the request', async () => {
  let closed = (): void => {};
  const gone = new Promise<void>((done) => {
    closed = done;
  });
  const { url } = await chatServer((response) => {
    response.on('close', () => closed());
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(delta('It'));
  });
  const stop = new AbortController();
  const pieces = chatAgent({ url, model: 'm' }).answer(question(stop.signal));
  const reader = pieces[Symbol.asyncIterator]();
  expect((await reader.next()).value).toBe('It');
  stop.abort();
  await expect(reader.next()).rejects.toThrow();
  await gone;
});

test('a recording is written down by the speech model, under a name that says its format', async () => {
  const { url, asked } = await chatServer(answering(200, { text: 'how warm?' }));
  const agent = chatAgent({ url, model: 'm', speechModel: 'ears', key: 'key-of-the-owner' });
  const { signal } = new AbortController();
  const bytes = Buffer.from('RIFF sound');
  expect(await agent.transcribe?.({ bytes, type: 'audio/mpeg', signal })).toBe('how warm?');
  const [one] = asked;
  expect(one?.path).toBe('/v1/audio/transcriptions');
  expect(one?.headers.authorization).toBe('Bearer key-of-the-owner');
  expect(one?.body).toMatch(/name="model"\r\n\r\nears\r\n/);
  expect(one?.body).toMatch(
    /filename="recording\.mp3"\r\nContent-Type: audio\/mpeg\r\n\r\nRIFF sound/,
  );
});

test('without a speech model it does not listen; a speech server’s nonsense is an error', async () => {
  const { url } = await chatServer(answering(200, { said: 'x' }));
  expect(chatAgent({ url, model: 'm' }).transcribe).toBeUndefined();
  const { signal } = new AbortController();
  const heard = chatAgent({ url, model: 'm', speechModel: 'ears' }).transcribe?.({
    bytes: new Uint8Array(1),
    type: 'audio/wav',
    signal,
  });
  await expect(heard).rejects.toThrow('without a text');
});
