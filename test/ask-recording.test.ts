/** Spoken questions whose recording stands elsewhere (wire document, part A6). */
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { describe, expect, it } from 'vitest';
import { makeCa } from '../device-sim/index.js';
import { onCleanup } from '../hub/cleanup.fixture.js';
import { type TestHubOptions, withDevice } from '../hub/hub.fixture.js';
import type { Agent, Recording } from '../hub/index.js';

const NAMED = 'records.test';
const AUDIO = { 'content-type': 'Audio/WAV; x=y', 'content-length': 5 };

/** A hub whose agent hears, and a server of recordings at a name that leads to loopback. */
async function elsewhere(answer: RequestListener, options: TestHubOptions = {}) {
  const heard: Recording[] = [];
  const agent: Agent = {
    async *answer({ text }) {
      yield text;
    },
    async transcribe(recording) {
      heard.push(recording);
      return 'what was said';
    },
  };
  const ca = makeCa();
  const asked: string[] = [];
  let connections = 0;
  const server = createServer(ca.issue([NAMED]), (request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`.trim());
    answer(request, response);
  });
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onCleanup(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const at = server.address();
  const port = typeof at === 'object' ? (at?.port ?? 0) : 0;
  const { t, device } = await withDevice({
    agent,
    recordingHosts: [NAMED],
    endpointResolve: async () => ['127.0.0.1'],
    endpointCa: ca.cert,
    ...options,
  });
  const ask = (audioUrl = `https://${NAMED}:${port}/a.wav?b=1`, stream?: '1') =>
    t.ask('POST', '/api/devices/ask', { body: { ...device, audioUrl, stream } });
  return { t, ask, heard, asked, port, connections: () => connections };
}

describe('a recording elsewhere', () => {
  it('is fetched without any credential and heard', async () => {
    const { ask, heard, asked, t } = await elsewhere((_request, response) => {
      response.writeHead(200, AUDIO).end('sound');
    });
    const { status, body } = await ask();
    expect([status, body]).toEqual([200, { ok: true, text: 'what was said' }]);
    expect(asked).toEqual(['GET /a.wav?b=1']);
    expect(heard[0]?.type).toBe('audio/wav');
    expect(Buffer.from(heard[0]?.bytes ?? []).toString()).toBe('sound');
    expect((await t.events())[0]?.detail).toBe('desk: what was said');
  });

  it('that is a redirect, no sound, empty, too large, or broken is 422 before any stream', async () => {
    const answers: RequestListener[] = [
      (_, response) => response.writeHead(302, { location: 'https://127.0.0.1/x' }).end(),
      (_, response) => response.writeHead(404).end(),
      (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('sound'),
      (_, response) => response.writeHead(200, { ...AUDIO, 'content-length': 0 }).end(),
      (_, response) => response.writeHead(200, { ...AUDIO, 'content-length': 8_388_609 }).end(),
      (_, response) => {
        response.writeHead(200, { 'content-type': 'audio/wav' });
        response.end(Buffer.alloc(8_388_609));
      },
      (_, response) => {
        response.writeHead(200, { ...AUDIO, 'content-length': 9 });
        response.write('sound', () => response.destroy());
      },
    ];
    let next: RequestListener = () => {};
    const { ask, heard, asked, t } = await elsewhere((request, response) =>
      next(request, response),
    );
    for (next of answers) {
      const { status, body } = await ask(undefined, '1');
      expect([status, body.ok, body.error]).toEqual([
        422,
        false,
        expect.stringMatching(/^the recording could not be fetched, nothing was asked: /),
      ]);
    }
    expect(asked).toHaveLength(answers.length);
    expect(heard).toEqual([]);
    expect(await t.events()).toEqual([]);
  });

  it('at a private address is never called, whatever its name', async () => {
    const { ask, port, connections } = await elsewhere(() => {}, {
      recordingHosts: [],
      // That a device of its owner may be there lets nobody ask for files there.
      endpointHosts: [NAMED],
    });
    for (const url of [
      `https://${NAMED}:${port}/a.wav`,
      `https://127.0.0.1:${port}/a.wav`,
      `https://localhost:${port}/a.wav`,
      `https://2130706433:${port}/a.wav`,
      `https://[::ffff:127.0.0.1]:${port}/a.wav`,
    ]) {
      const { status, body } = await ask(url);
      expect([url, status, body.ok]).toEqual([url, 422, false]);
    }
    expect(connections()).toBe(0);
  });

  it('that never comes ends with the question’s time', async () => {
    let began: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      began = resolve;
    });
    const { t, ask } = await elsewhere(() => began());
    const waiting = ask();
    await begun;
    t.clock.advance(75_000);
    expect((await waiting).status).toBe(424);
  });
});
