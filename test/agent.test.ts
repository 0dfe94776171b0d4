/** Settings of `start` that reach the hub: a board's question is answered, firmware has its hosts. */
import { expect, test } from 'vitest';
import { HubClient } from '../cli/client.js';
import { startStack } from '../cli/stack.js';
import type { StackOptions } from '../cli/stack-types.js';
import { answering, chatServer, delta, streaming } from '../hub/chat-server.fixture.js';
import { onCleanup, tempFolder } from '../hub/cleanup.fixture.js';

const local = { host: '127.0.0.1', port: 0 };

async function running(hub: object, log?: StackOptions['log']) {
  const stack = await startStack({
    home: tempFolder(),
    hub: { ...local, ...hub },
    broker: local,
    sims: [{ kind: 'eink', name: 'eink' }],
    ...(log === undefined ? {} : { log }),
  });
  onCleanup(() => stack.stop());
  expect(await stack.simsReady(15_000)).toBe(true);
  const client = new HubClient({ url: stack.url, token: stack.token });
  const ask = () =>
    client.useDevice({
      action: 'invoke',
      device_id: 'eink',
      prompt: 'ask How warm is it?',
      wait: true,
      timeout_ms: 20_000,
    });
  const publish = async (host: string) => {
    const manifest = { channel: 'stable', version: '1.0.0', url: `https://${host}/fw.bin` };
    const answer = await fetch(`${stack.url}/api/firmware/manifest`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...manifest, sha256: 'a'.repeat(64) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  return { ask, publish };
}

test('a display’s question reaches the configured model, and its answer the caller', async () => {
  const { url, asked } = await chatServer(streaming(delta('It is 21 degrees.', 'stop')));
  const { ask, publish } = await running({
    agent: { url, model: 'small' },
    firmwareHosts: ['fw.example'],
  });
  expect(await ask()).toMatchObject({
    ok: true,
    result: { status: 'answered', text: 'It is 21 degrees.' },
  });
  const { messages } = JSON.parse(asked[0]?.body ?? '') as { messages: { content: string }[] };
  expect(messages.map(({ content }) => content)).toEqual([
    expect.stringContaining('"eink"'),
    'How warm is it?',
  ]);
  expect((await publish('fw.example')).status).toBe(200);
  expect((await publish('evil.example')).status).toBe(400);
});

test('without these settings the refusals name the options of `start`', async () => {
  const { ask, publish } = await running({});
  expect(await ask()).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining('--agent-url <url> --agent-model <name>') },
  });
  expect(await publish('fw.example')).toMatchObject({
    status: 424,
    text: expect.stringContaining('--firmware-hosts <list>'),
  });
});

test('why an agent fails is in the log, and not in what the board hears', async () => {
  const { url } = await chatServer(answering(404, { error: 'no model "small" here' }));
  const lines: string[] = [];
  const { ask } = await running({ agent: { url, model: 'small' } }, (what, about) =>
    lines.push(`${what} ${JSON.stringify(about)}`),
  );
  const heard = JSON.stringify(await ask());
  expect(heard).toContain('is not set up right');
  expect(heard).not.toContain('404');
  expect(lines.join('\n')).toMatch(/hub: the agent failed .*answered 404: .*no model/);
});
