import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, test } from 'vitest';
import { tempFolder } from '../cleanup.fixture.js';
import { type TestHub, testHub } from '../hub.fixture.js';
import { nextClose } from '../stream.fixture.js';
import { connect, register, until, withBoards } from './mcp.fixture.js';
import { IDLE_MS } from './session.js';

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
};

/** One POST as a client sends it; the whole of the answer. */
async function post(
  t: TestHub,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(`${await t.url()}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${t.token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const session = (id: string): Record<string, string> => ({ 'mcp-session-id': id });

/** Goes on when the hub has noticed, too, that the request is over. */
async function settled<T>(t: TestHub, ask: () => Promise<T>): Promise<T> {
  const closed = nextClose(t);
  const answer = await ask();
  await closed;
  await new Promise((resolve) => setImmediate(resolve));
  return answer;
}

/** A session that holds no stream. */
async function begin(t: TestHub): Promise<string> {
  const { status, headers } = await settled(t, () => post(t, INITIALIZE));
  expect(status).toBe(200);
  return headers.get('mcp-session-id') ?? '';
}

describe('who may come in', () => {
  test('nobody without the token of an owner', async () => {
    const { t, gateway } = await withBoards();
    for (const authorization of ['', 'Bearer mto_wrong', `Bearer ${gateway.token}`]) {
      const { status, headers } = await post(t, INITIALIZE, { authorization });
      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).toBe('Bearer');
    }
    const wrong = new StreamableHTTPClientTransport(new URL(`${await t.url()}/mcp`), {
      requestInit: { headers: { authorization: `Bearer mto_${'x'.repeat(43)}` } },
    });
    await expect(new Client({ name: 'test', version: '1' }).connect(wrong)).rejects.toMatchObject({
      code: 401,
    });
  });

  test('a revoked token neither asks nor hears anything more', async () => {
    const { t, gateway } = await withBoards();
    const token = await t.hub.createToken(t.ownerId, 'agent');
    const { names, changes } = await connect(t, token);
    const other = await connect(t);
    const tick = (): void => t.clock.advance(200);
    await register(gateway, 'lamp', { on: {} });
    await until(() => changes() === 1 && other.changes() === 1, tick);
    await t.hub.revokeToken(token);
    await expect(names()).rejects.toMatchObject({ code: 401 });
    await register(gateway, 'light', { on: {} });
    await until(() => other.changes() === 2, tick);
    expect(changes()).toBe(1);
    expect(await other.names()).toContain('light-on');
  });

  test('two owners see only theirs, and one can’t use the other’s session', async () => {
    const { t } = await withBoards();
    const bob = await t.hub.createOwner('bob');
    const ann = await connect(t);
    const theirs = await connect(t, bob.token);
    expect(await ann.names()).toContain('eink-say');
    expect(await theirs.names()).toEqual(['use_device']);
    await expect(theirs.call('eink-say', { text: 'x' })).rejects.toThrow('Unknown tool');
    const authorization = `Bearer ${bob.token}`;
    const { status } = await post(t, LIST, { ...session(ann.sessionId), authorization });
    expect(status).toBe(404);
  });

  test('a page of another name is refused, whatever that name leads to', async () => {
    const { t } = await withBoards({ publicUrl: 'https://hub.example' });
    const { host } = new URL(await t.url());
    const status = async (origin: string): Promise<number> =>
      (await post(t, INITIALIZE, { origin })).status;
    for (const origin of [
      'http://evil.example',
      'null',
      'https://hub.example.evil',
      'http://1.2.3.4',
    ]) {
      expect(await status(origin)).toBe(403);
    }
    for (const origin of ['https://hub.example', 'http://localhost:6274', `http://${host}`]) {
      expect(await status(origin)).toBe(200);
    }
  });

  test('a hub of the tiny routes alone has no such door', async () => {
    const t = await testHub({ tinyOnly: true });
    expect((await post(t, INITIALIZE)).status).toBe(404);
  });
});

describe('bad requests', () => {
  test('are refused one by one, and the session goes on', async () => {
    const { t } = await withBoards();
    const { sessionId, names } = await connect(t);
    expect((await post(t, 'no JSON', session(sessionId))).status).toBe(400);
    expect((await post(t, { jsonrpc: '1.0' }, session(sessionId))).status).toBe(400);
    expect((await post(t, LIST)).status).toBe(400);
    expect((await post(t, 'x'.repeat(256 * 1024 + 1), session(sessionId))).status).toBe(413);
    expect((await post(t, INITIALIZE, { accept: 'text/plain' })).status).toBe(406);
    const nested = `${'['.repeat(100)}${']'.repeat(100)}`;
    expect((await post(t, nested, session(sessionId))).status).toBe(400);
    expect(await names()).toContain('eink-say');
  });
});

describe('sessions', () => {
  test('an unknown one is answered with 404, so that the client begins again', async () => {
    const { t } = await withBoards();
    const { status, text } = await post(t, LIST, session('00000000-0000-4000-8000-000000000000'));
    expect(status).toBe(404);
    expect(JSON.parse(text)).toMatchObject({
      error: { message: expect.stringContaining('again') },
    });
  });

  test('one from before a restart of the hub is unknown after it', async () => {
    const home = tempFolder();
    const before = await testHub({ home });
    const { sessionId } = await connect(before);
    await before.hub.close();
    const after = (await testHub({ home })).as(before.token, before.ownerId);
    expect((await post(after, LIST, session(sessionId))).status).toBe(404);
    expect(await (await connect(after)).names()).toEqual(['use_device']);
  });

  test('one that rests too long ends; one with an open stream does not', async () => {
    const { t, gateway } = await withBoards();
    const idle = await begin(t);
    const listening = await connect(t);
    await register(gateway, 'lamp', { on: {} });
    await until(
      () => listening.changes() > 0,
      () => t.clock.advance(200),
    );
    t.clock.advance(IDLE_MS / 2);
    expect((await settled(t, () => post(t, LIST, session(idle)))).status).toBe(200);
    t.clock.advance(IDLE_MS - 1);
    expect((await settled(t, () => post(t, LIST, session(idle)))).status).toBe(200);
    t.clock.advance(IDLE_MS);
    expect((await post(t, LIST, session(idle))).status).toBe(404);
    expect(await listening.names()).toContain('eink-say');
  });

  test('beyond their number the one that rested longest goes; none that is in use does', async () => {
    const { t, prompts } = await withBoards({ limits: { mcpSessions: 2 } }, () => undefined);
    const first = await begin(t);
    t.clock.advance(10);
    const second = await begin(t);
    t.clock.advance(10);
    await settled(t, () => post(t, LIST, session(first)));
    const third = await begin(t);
    expect((await post(t, LIST, session(second))).status).toBe(404);
    const status = { name: 'eink-status', arguments: {} };
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: status };
    const calls = [first, third].map((id) => post(t, call, session(id)));
    await until(() => prompts.length === 2);
    expect((await post(t, INITIALIZE)).status).toBe(429);
    t.clock.advance(45_000);
    await Promise.all(calls);
  });

  test('a hub that closes answers who waits: the call is not lost', async () => {
    const { t, prompts } = await withBoards({}, () => undefined);
    const { call } = await connect(t);
    const asked = call('eink-status');
    await until(() => prompts.length === 1);
    await t.hub.close();
    expect((await asked).content).toEqual([
      {
        type: 'text',
        text: expect.stringContaining("Read it later with use_device action:'result'"),
      },
    ]);
  });
});
