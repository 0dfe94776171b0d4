/** The endpoint door of a running system, called as a hub elsewhere would call it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startStack } from '../cli/stack.js';
import type { Stack } from '../cli/stack-types.js';

const home = mkdtempSync(join(tmpdir(), 'endpoint-'));
let stack: Stack;

beforeAll(async () => {
  const local = { host: '127.0.0.1', port: 0 };
  stack = await startStack({
    home,
    hub: local,
    broker: local,
    endpoint: local,
    sims: [
      { kind: 'eink', name: 'eink' },
      { kind: 'env', name: 'env' },
    ],
  });
  expect(await stack.simsReady(15_000)).toBe(true);
});
afterAll(async () => {
  await stack?.stop();
  rmSync(home, { recursive: true, force: true });
});

interface Told {
  url: string;
  secret: string;
}

async function as(board: string, path: string, prompt?: string): Promise<Response> {
  const { url, secret } = (await stack.admin.ask({ op: 'endpoint', board })) as Told;
  return fetch(`${url}${path}`, {
    headers: { authorization: `Bearer ${secret}` },
    ...(prompt === undefined ? {} : { method: 'POST', body: JSON.stringify({ prompt }) }),
  });
}

test('one origin serves each board by its own secret', async () => {
  const eink = (await (await as('eink', '/api/telemetry')).json()) as { name: string };
  const env = (await (await as('env', '/api/telemetry')).json()) as { name: string };
  expect([eink.name, env.name]).toEqual(['eink', 'env']);
});

test('a prompt paints the display, and the snapshot is its glass as PNG', async () => {
  const before = new Uint8Array(await (await as('eink', '/api/camera/snapshot')).arrayBuffer());
  const said = (await (await as('eink', '/api/chat', 'say from elsewhere')).json()) as object;
  expect(said).toMatchObject({ ok: true, outcome: 'ok' });
  const answer = await as('eink', '/api/camera/snapshot');
  expect(answer.headers.get('content-type')).toBe('image/png');
  const after = new Uint8Array(await answer.arrayBuffer());
  expect([...after.subarray(1, 4)]).toEqual([0x50, 0x4e, 0x47]);
  expect(Buffer.compare(after, before)).not.toBe(0);
});

test('viewers of the same moment share one snapshot', async () => {
  const both = await Promise.all([
    as('eink', '/api/camera/snapshot'),
    as('eink', '/api/camera/snapshot'),
  ]);
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
});

test('a sensor has telemetry and chat, and no snapshot', async () => {
  expect((await as('env', '/api/camera/snapshot')).status).toBe(404);
  const { result } = (await (await as('env', '/api/chat', 'status')).json()) as { result: unknown };
  expect(result).toMatchObject({ temperature: expect.any(Number) });
});
