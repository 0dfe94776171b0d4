/** `motebridge mcp` and `/mcp` as agents use them: the SDK's own client, a whole stack, real sockets. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  type CallToolResult,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack.js';

const main = join(import.meta.dirname, '../../dist/cli/main.js');
const home = mkdtempSync(join(tmpdir(), 'motebridge-mcp-'));
const clients: Client[] = [];
let stack: Stack;

const begin = async (port: number): Promise<void> => {
  stack = await startStack({
    home,
    hub: { host: '127.0.0.1', port },
    broker: { host: '127.0.0.1', port: 0 },
    sims: [
      { kind: 'eink', name: 'eink' },
      { kind: 'camera', name: 'camera' },
    ],
  });
  expect(await stack.simsReady(30_000)).toBe(true);
};

beforeAll(() => begin(0), 60_000);
afterAll(async () => {
  for (const client of clients) await client.close();
  await stack.stop();
  rmSync(home, { recursive: true, force: true });
}, 60_000);

const environment = (token = stack.token): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: home,
  MOTEBRIDGE_URL: stack.url,
  MOTEBRIDGE_TOKEN: token,
});

async function overStdio() {
  const client = new Client({ name: 'test', version: '1' });
  let changes = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changes += 1;
  });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [main, 'mcp'],
    env: environment(),
    stderr: 'ignore',
  });
  await client.connect(transport);
  clients.push(client);
  return { client, changes: () => changes };
}

async function overHttp() {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${stack.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${stack.token}` } },
  });
  await client.connect(transport);
  clients.push(client);
  return { client };
}

const call = async (client: Client, name: string, args: object = {}): Promise<CallToolResult> =>
  (await client.callTool({ name, arguments: { ...args } })) as CallToolResult;

const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  const end = performance.now() + 30_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('it did not come to pass within 30 s');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

/** The built command with this input, to its end. */
async function run(input: string, env = environment(), ...args: string[]) {
  const child = spawn(process.execPath, [main, 'mcp', ...args], { env });
  let out = '';
  let err = '';
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    err += data;
  });
  child.stdin.end(input);
  const code = await new Promise<number | null>((done) => child.on('close', done));
  return { code, out, err };
}

const HELLO = [
  {
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    },
  },
  { method: 'notifications/initialized' },
  { id: 1, method: 'tools/list' },
]
  .map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  .join('');

describe.each([
  ['stdio', overStdio],
  ['streamable HTTP', overHttp],
])('boards over %s', (_, connect) => {
  it('are listed and called with typed arguments, and their pictures come as images', async () => {
    const { client } = await connect();
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names[0]).toBe('use_device');
    expect(names).toEqual(expect.arrayContaining(['eink-render_ui', 'camera-snapshot']));
    expect(client.getInstructions()).toContain('use_device');

    const card = { type: 'kv', title: 'Status', rows: { in: '19:30' } };
    const shown = await call(client, 'eink-render_ui', card);
    expect(shown.isError).toBeUndefined();
    expect(shown.content).toEqual([{ type: 'text', text: expect.stringContaining('shown') }]);

    const { content } = await call(client, 'camera-snapshot');
    const image = content.find((block) => block.type === 'image');
    expect(image?.mimeType).toBe('image/jpeg');
    expect([...Buffer.from(image?.data ?? '', 'base64').subarray(0, 3)]).toEqual([
      0xff, 0xd8, 0xff,
    ]);
  });

  it('refuse bad arguments with a sentence, and unknown tools by the protocol', async () => {
    const { client } = await connect();
    const bad = await call(client, 'camera-snapshot', { zoom: 3 });
    expect(bad.isError).toBe(true);
    expect(bad.content).toEqual([
      { type: 'text', text: expect.stringContaining('zoom is not an argument here') },
    ]);
    await expect(call(client, 'camera-fly')).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('Unknown tool: camera-fly'),
    });
  });
});

describe('motebridge mcp', () => {
  it('writes nothing but JSON-RPC, answers what it was asked, and ends with its input', async () => {
    const { code, out, err } = await run(HELLO);
    expect(code).toBe(0);
    const lines = out.trim().split('\n');
    const messages = lines.map((line) => JSON.parse(line));
    expect(messages.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true);
    expect(messages.map(({ id }) => id)).toEqual([0, 1]);
    expect(messages[1].result.tools.length).toBeGreaterThan(2);
    expect(err).toBe('');
    expect((await run('')).code).toBe(0);
  });

  it('ends with exit code 4 where the hub does not take its token, and 3 without a hub', async () => {
    const child = spawn(process.execPath, [main, 'mcp'], { env: environment('mto_wrong') });
    let err = '';
    child.stderr.on('data', (data) => {
      err += data;
    });
    expect(await new Promise((done) => child.on('close', done))).toBe(4);
    expect(err).toContain('does not accept this token');
    expect(err).not.toContain('mto_wrong');
    expect((await run('', { PATH: process.env.PATH ?? '', HOME: home })).code).toBe(3);
  });

  it('answers that no hub is there, and how to start one', async () => {
    const nobody = { ...environment(), MOTEBRIDGE_URL: 'http://127.0.0.1:9' };
    const { code, out, err } = await run(HELLO, nobody);
    expect(code).toBe(0);
    expect(out).toContain('No hub answers at http://127.0.0.1:9');
    expect(err).toContain('motebridge start');
  });

  it('goes on across a restart of the hub, and tells the agent to list again', async () => {
    const { client, changes } = await overStdio();
    await client.listTools();
    const { port } = new URL(stack.url);
    await stack.stop();
    const away = await call(client, 'camera-snapshot');
    expect(away.isError).toBe(true);
    expect(away.content).toEqual([
      { type: 'text', text: expect.stringContaining('Nothing was sent') },
    ]);
    await begin(Number(port));
    await until(() => changes() > 0);
    const { content } = await call(client, 'camera-snapshot');
    expect(content.some((block) => block.type === 'image')).toBe(true);
  }, 90_000);
});
