import { describe, expect, test } from 'vitest';
import type { Agent, Question, Recording } from './agent.js';
import { breakableStore, type TestHub, type TestHubOptions, withDevice } from './hub.fixture.js';

type Answering = (question: Question) => AsyncIterable<string>;

async function* pieces(...texts: string[]) {
  yield* texts;
}

const agentOf = (answer: Answering, transcribe?: Agent['transcribe']): Agent => ({
  answer,
  ...(transcribe === undefined ? {} : { transcribe }),
});

async function asking(agent: Agent | undefined, options: TestHubOptions = {}) {
  const { t, device } = await withDevice({ ...options, ...(agent && { agent }) });
  const ask = (body: object) => t.ask('POST', '/api/devices/ask', { body: { ...device, ...body } });
  return { t, device, ask };
}

/** A question over a real socket; `next` is the next part that the hub wrote. */
async function streaming(t: TestHub, body: object) {
  const stop = new AbortController();
  const response = await fetch(`${await t.url()}/api/devices/ask`, {
    method: 'POST',
    body: JSON.stringify({ stream: '1', ...body }),
    signal: stop.signal,
  });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let seen = '';
  const until = async (wanted: string): Promise<string> => {
    while (!seen.includes(wanted)) {
      const part = await reader?.read();
      if (!part || part.done) throw new Error(`the stream ended: ${seen}`);
      seen += decoder.decode(part.value, { stream: true });
    }
    return seen;
  };
  return { response, stop, until };
}

const frames = (text: string): string[] =>
  text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => frame.slice('data: '.length));

/** An agent that says nothing until it is told to, and whether it was told to stop. */
function stalling(): { agent: Agent; aborted: Promise<void>; asked: Promise<void> } {
  let hear = () => {};
  let begin = () => {};
  const aborted = new Promise<void>((resolve) => {
    hear = resolve;
  });
  const asked = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const agent = agentOf(async function* ({ signal }) {
    signal.addEventListener('abort', hear);
    begin();
    yield 'one two three four five';
    // Heeds nothing: whoever asked must not hang with it.
    await new Promise(() => {});
  });
  return { agent, aborted, asked };
}

describe('refusals', () => {
  test('D117 come as JSON with their status, also where a stream was wanted', async () => {
    const { t, ask } = await asking(agentOf(() => pieces('x')));
    const required = 'deviceId, token and text or audioUrl required';
    for (const stream of ['1', undefined]) {
      for (const [body, status, error] of [
        [{}, 400, required],
        [{ text: ' ' }, 400, required],
        [{ token: '', text: 'q' }, 400, required],
        [{ text: 'x'.repeat(4001) }, 400, 'text must be at most 4000 characters'],
        [{ audioUrl: 'http://x.example/a.wav' }, 400, 'audioUrl must be https:// and ≤300 chars'],
        [{ audioUrl: `https://x.example/${'a'.repeat(300)}` }, 400, undefined],
        [{ token: 'x', text: 'q' }, 401, 'unknown device'],
        [{ tiny: 'other', text: 'q' }, 404, undefined],
      ] as const) {
        const answer = await ask({ stream, ...body });
        expect([body, answer.status]).toEqual([body, status]);
        expect(answer.headers['content-type']).toContain('application/json');
        expect(answer.body.ok).toBe(false);
        if (error !== undefined) expect(answer.body.error).toBe(error);
      }
    }
    expect(await t.events()).toEqual([]);
  });

  test('a hub without an agent says which setting is missing', async () => {
    const { t, ask } = await asking(undefined);
    for (const stream of ['1', undefined]) {
      const answer = await ask({ text: 'q', stream });
      expect([answer.status, answer.body.ok]).toEqual([424, false]);
      expect(answer.body.error).toMatch(
        /no agent.*--agent-url <url> --agent-model <name>.*`agent`/,
      );
    }
    expect(await t.events()).toEqual([]);
  });

  test('nothing is asked before the question is durable', async () => {
    const store = await breakableStore();
    let asked = 0;
    const agent = agentOf(() => {
      asked += 1;
      return pieces('x');
    });
    const { ask } = await asking(agent, { database: store.database });
    store.break('full');
    expect((await ask({ text: 'q' })).status).toBe(424);
    expect(asked).toBe(0);
  });
});

describe('an answer', () => {
  test('is one JSON object, with the card apart; the agent knows who asks', async () => {
    let question: Question | undefined;
    const agent = agentOf((q) => {
      question = q;
      return pieces('It is ', 'warm.\n```ca', 'rd\n{"type":"text","body":"21"}\n```\nVery.');
    });
    const { t, device, ask } = await asking(agent);
    const text = 'how '.repeat(60).trim();
    const { status, body } = await ask({ text });
    expect([status, body]).toEqual([
      200,
      { ok: true, text: 'It is warm.\nVery.', card: { type: 'text', body: '21' } },
    ]);
    expect(question).toMatchObject({
      text,
      owner: { id: t.ownerId, name: 'ann' },
      device: { id: device.deviceId, name: 'desk' },
    });
    expect(await t.events()).toMatchObject([
      { kind: 'device_ask', detail: `desk: ${text.slice(0, 160)}` },
    ]);
  });

  test('is cut at 2,000, and "(no answer)" where there is none', async () => {
    let says = ['x'.repeat(1500), 'y'.repeat(1500)];
    const { ask } = await asking(agentOf(() => pieces(...says)));
    expect((await ask({ text: 'q' })).body.text).toBe('x'.repeat(1500) + 'y'.repeat(500));
    for (says of [[], [''], [' \n'], ['```card\n{"type":"nope"}\n```']]) {
      expect((await ask({ text: 'q' })).body).toEqual({ ok: true, text: '(no answer)' });
    }
    says = ['```card\n{"type":"text"}\n```'];
    expect((await ask({ text: 'q' })).body).toEqual({ ok: true, text: '', card: { type: 'text' } });
  });

  test('that fails or stalls is 424 in words, and the agent is told to stop', async () => {
    const failing = agentOf(async function* () {
      yield 'so far ';
      throw new Error('secret of the agent');
    });
    const first = await (await asking(failing)).ask({ text: 'q' });
    expect([first.status, first.body]).toEqual([
      424,
      {
        ok: false,
        error: 'the agent failed, there is no answer; ask again later',
        retryable: true,
      },
    ]);
    for (const broken of [
      () => {
        throw new Error('x');
      },
      () => pieces(7 as unknown as string),
    ]) {
      expect((await (await asking(agentOf(broken))).ask({ text: 'q' })).status).toBe(424);
    }
    const { agent, aborted, asked } = stalling();
    const { t, ask } = await asking(agent);
    const waiting = ask({ text: 'q' });
    await asked;
    t.clock.advance(75_000);
    const late = await waiting;
    expect([late.status, late.body.error]).toEqual([
      424,
      'the agent did not answer within 75 s; ask again',
    ]);
    await aborted;
  });

  test('a newer question of the same device ends the one before', async () => {
    const { agent, aborted, asked } = stalling();
    let count = 0;
    const { ask } = await asking(
      agentOf((q) => {
        count += 1;
        return count === 1 ? agent.answer(q) : pieces('second');
      }),
    );
    const first = ask({ text: 'q' });
    await asked;
    expect((await ask({ text: 'q' })).body.text).toBe('second');
    expect((await first).status).toBe(424);
    await aborted;
  });
});

describe('a stream', () => {
  test('D117 batches of four words, the card, [DONE]; and nothing of the card in the text', async () => {
    const agent = agentOf(() =>
      pieces('one two three four five\n', '```card\n{"type":"list"}\n```\nsix'),
    );
    const { t, device } = await asking(agent);
    const { response, until } = await streaming(t, { ...device, text: 'q' });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(frames(await until('[DONE]\n\n'))).toEqual([
      '{"t":"one two three four"}',
      '{"t":" five\\nsix"}',
      '{"card":{"type":"list"}}',
      '[DONE]',
    ]);
  });

  test('a comment each 10 s while the agent thinks; after 75 s the error, then [DONE]', async () => {
    const { agent, aborted } = stalling();
    const { t, device } = await asking(agent);
    const { until } = await streaming(t, { ...device, text: 'q' });
    const before = await until('{"t":"one two three four"}\n\n');
    expect(before).not.toContain(': ping');
    t.clock.advance(9_999);
    t.clock.advance(1);
    const first = await until(': ping\n\n');
    expect(first.match(/: ping/g)).toHaveLength(1);
    t.clock.advance(65_000);
    const all = await until('[DONE]\n\n');
    expect(all.match(/: ping/g)).toHaveLength(7);
    expect(frames(all).slice(1)).toEqual([
      '{"error":"the agent did not answer within 75 s; ask again"}',
      '[DONE]',
    ]);
    await aborted;
  });

  test('an agent that fails is an error frame, then [DONE]', async () => {
    const agent = agentOf(async function* () {
      yield 'a b c d e';
      throw new Error('secret of the agent');
    });
    const { t, device } = await asking(agent);
    const { until } = await streaming(t, { ...device, text: 'q' });
    expect(frames(await until('[DONE]\n\n'))).toEqual([
      '{"t":"a b c d"}',
      '{"error":"the agent failed, there is no answer; ask again later"}',
      '[DONE]',
    ]);
  });

  test('nothing to say is said', async () => {
    const { t, device } = await asking(agentOf(() => pieces()));
    const { until } = await streaming(t, { ...device, text: 'q' });
    expect(frames(await until('[DONE]\n\n'))).toEqual(['{"t":"(no answer)"}', '[DONE]']);
  });

  test('a device that goes away, or a hub that stops, ends the agent’s work', async () => {
    const gone = stalling();
    const { t, device } = await asking(gone.agent);
    const { until, stop } = await streaming(t, { ...device, text: 'q' });
    await until('one two');
    stop.abort();
    await gone.aborted;

    const closing = stalling();
    const other = await asking(closing.agent);
    const open = await streaming(other.t, { ...other.device, text: 'q' });
    await open.until('one two');
    const closed = other.t.hub.close();
    expect(frames(await open.until('[DONE]\n\n'))[1]).toContain('the hub is stopping');
    await closing.aborted;
    await closed;
  });
});

describe('a spoken question', () => {
  const speak = async (transcribe?: Agent['transcribe'], options: TestHubOptions = {}) => {
    const made = await asking(
      agentOf((q) => pieces(`heard: ${q.text}`), transcribe),
      options,
    );
    const upload = async (contentType: string, as = made.t.token): Promise<string> => {
      const body = { data: Buffer.from('sound').toString('base64'), contentType };
      return String((await made.t.ask('POST', '/api/media', { as, body })).body.key);
    };
    return { ...made, upload };
  };

  test('is an own recording by its key, path or address, and is written down first', async () => {
    const heard: Recording[] = [];
    const transcribe = async (recording: Recording) => {
      heard.push(recording);
      return ' how warm? ';
    };
    const { t, ask, upload } = await speak(transcribe, { publicUrl: 'https://hub.example' });
    const key = await upload('audio/wav');
    for (const audioUrl of [key, `/media/${key}`, `https://hub.example/media/${key}`]) {
      const { status, body } = await ask({ audioUrl });
      expect([status, body.text]).toEqual([200, 'heard: how warm?']);
    }
    expect(heard[0]?.type).toBe('audio/wav');
    expect(Buffer.from(heard[0]?.bytes ?? []).toString()).toBe('sound');
    expect((await t.events())[0]?.detail).toBe('desk: how warm?');
  });

  test('another owner’s, a foreign, a missing one, a picture, silence: 422, nothing asked', async () => {
    let says = 'x';
    const { t, ask, upload } = await speak(async () => says);
    const bob = (await t.hub.createOwner('bob')).token;
    const missing = '0123abcd-aaaa-4aaa-8aaa-aaaaaaaaaaaa.wav';
    for (const audioUrl of [
      await upload('audio/wav', bob),
      missing,
      await upload('image/png'),
      `https://evil.example/media/${missing}`,
      'https://169.254.169.254/latest/meta-data',
    ]) {
      const answer = await ask({ audioUrl, stream: '1' });
      expect([answer.status, answer.body.ok]).toEqual([422, false]);
    }
    says = ' ';
    const silence = await ask({ audioUrl: await upload('audio/wav') });
    expect([silence.status, silence.body.error]).toEqual([
      422,
      'nothing was understood in the recording',
    ]);
    expect(await t.events()).toEqual([]);
  });

  test('an agent that can’t listen, or fails at it, is 424', async () => {
    for (const transcribe of [undefined, () => Promise.reject(new Error('x'))]) {
      const { ask, upload } = await speak(transcribe);
      expect((await ask({ audioUrl: await upload('audio/wav') })).status).toBe(424);
    }
  });
});
