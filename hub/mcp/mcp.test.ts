import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test } from 'vitest';
import { connect, register, until, VERBS, withBoards } from './mcp.fixture.js';

const textOf = (result: CallToolResult): string =>
  result.content.map((block) => (block.type === 'text' ? block.text : block.type)).join('\n');

describe('tools/list', () => {
  test('each verb of each board is a tool, asleep or not, beside use_device', async () => {
    const { t, gateway, board } = await withBoards();
    await register(gateway, 'never seen', { tap: {} });
    const since = t.clock.wall();
    const presence = { state: 'asleep', since, until: since + 3_600_000 };
    await gateway.up({ kind: 'presence', device_id: board.id, presence });
    const { client, names } = await connect(t);
    expect(await names()).toEqual(['use_device', 'eink-say', 'eink-status', 'never_seen-tap']);
    const { tools } = await client.listTools();
    expect(tools[1]).toMatchObject({
      description: 'eink: Shows a text.',
      inputSchema: { type: 'object', required: ['text'], additionalProperties: false },
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
    });
    expect(tools[2]?.annotations?.readOnlyHint).toBe(true);
  });

  test('a verb whose signature can’t be read is left to use_device', async () => {
    const { t, gateway } = await withBoards();
    await register(gateway, 'newer', { odd: { signature: '?' }, fine: {} });
    expect(await (await connect(t)).names()).toEqual([
      'use_device',
      'eink-say',
      'eink-status',
      'newer-fine',
    ]);
  });

  test('a long list comes in pages that hold each tool once', async () => {
    const { t, gateway } = await withBoards();
    const many = Object.fromEntries(Array.from({ length: 256 }, (_, i) => [`verb${i}`, {}]));
    for (const name of ['a', 'b', 'c']) await register(gateway, name, many);
    const { client } = await connect(t);
    const seen: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await client.listTools(cursor === undefined ? {} : { cursor });
      seen.push(...page.tools.map(({ name }) => name));
      cursor = page.nextCursor;
      pages += 1;
    } while (cursor !== undefined);
    expect(pages).toBe(2);
    expect(seen).toHaveLength(3 * 256 + 3);
    expect(new Set(seen).size).toBe(seen.length);
    await expect(client.listTools({ cursor: 'gone' })).rejects.toThrow('list them from the start');
  });
});

describe('tools/call', () => {
  test('typed arguments arrive as the board’s own, and its answer comes back as text', async () => {
    const { t, prompts } = await withBoards();
    const { call } = await connect(t);
    const result = await call('eink-say', { text: 'size=3 "quoted"', size: 2 });
    expect(prompts).toEqual(['say {"text":"size=3 \\"quoted\\"","size":2}']);
    expect(result).toEqual({ content: [{ type: 'text', text: prompts[0] }] });
  });

  test('arguments that don’t fit are an error with the sentence, and nothing is sent', async () => {
    const { t, prompts } = await withBoards();
    const { call } = await connect(t);
    const result = await call('eink-say', { size: 9, colour: 'red' });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('text is missing');
    expect(textOf(result)).toContain('size must be a whole number from 1 to 4');
    expect(textOf(result)).toContain('Nothing was sent.');
    expect(textOf(await call('use_device', { action: 'fly' }))).toContain('action must be list');
    await call('eink-status');
    expect(prompts).toEqual(['status']);
  });

  test('an unknown tool is an error of the protocol', async () => {
    const { t } = await withBoards();
    const { call } = await connect(t);
    await expect(call('eink-fly')).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('Unknown tool: eink-fly; nothing was sent'),
    });
  });

  test('what a board failed at, and one that is away, are errors with a sentence', async () => {
    const { t, gateway, board } = await withBoards({}, () => ({
      ok: false,
      outcome: 'failed',
      error: { code: 'lamp', message: 'The lamp is broken.' },
      result: 'The lamp is broken.',
    }));
    const { call } = await connect(t);
    expect(await call('eink-status')).toEqual({
      content: [{ type: 'text', text: 'failed: The lamp is broken.' }],
      isError: true,
    });
    const presence = { state: 'unreachable', since: t.clock.wall() };
    await gateway.up({ kind: 'presence', device_id: board.id, presence });
    const away = await call('eink-status');
    expect(away.isError).toBe(true);
    expect(textOf(away)).toMatch(/^unreachable: eink is unreachable since .*nothing was sent/);
    expect(
      textOf(await call('use_device', { action: 'invoke', device_id: 'x', prompt: 'y' })),
    ).toBe('refused: device not found');
  });

  test('D111 at most two of the hub’s own pictures come as images, and no other’s URL', async () => {
    const pictures: string[] = [];
    const { t } = await withBoards({}, () => ({
      ok: true,
      outcome: 'ok',
      result: { taken: true },
      images: ['http://elsewhere.example/media/x.png', ...pictures],
    }));
    const keep = async (bytes: Uint8Array, contentType: string): Promise<string> => {
      const data = Buffer.from(bytes).toString('base64');
      const { body } = await t.own('POST', '/api/media', { data, contentType });
      return String(body.url);
    };
    const small = new Uint8Array([1, 2, 3]);
    const large = await keep(new Uint8Array(3 * 1024 * 1024 + 1), 'image/jpeg');
    const { call } = await connect(t);
    pictures.push(await keep(small, 'image/png'), await keep(small, 'image/jpeg'), large);
    expect((await call('eink-status')).content).toEqual([
      { type: 'text', text: '{"taken":true}' },
      { type: 'image', data: 'AQID', mimeType: 'image/png' },
      { type: 'image', data: 'AQID', mimeType: 'image/jpeg' },
    ]);
    pictures.splice(0, 3, large, await keep(small, 'audio/wav'));
    expect((await call('eink-status')).content.slice(1)).toEqual(
      pictures.map((url) => ({ type: 'text', text: `Picture: ${url}` })),
    );
  });

  test('use_device lists, invokes without waiting, and reads the result', async () => {
    const { t, board, gateway } = await withBoards({}, () => undefined);
    const { call } = await connect(t);
    const [listed] = JSON.parse(textOf(await call('use_device', { action: 'list' })));
    expect(listed).toMatchObject({ id: board.id, name: 'eink', online: true });
    expect(listed.capabilities).toEqual(Object.keys(VERBS));
    expect(listed.catalog).toBeUndefined();
    const sent = await call('use_device', {
      action: 'invoke',
      device_id: 'eink',
      prompt: 'status',
      wait: false,
    });
    expect(sent.isError).toBeUndefined();
    const id = /action:'result' envelope_id:'([^']+)'/.exec(textOf(sent))?.[1] ?? '';
    const read = { action: 'result', envelope_id: id };
    expect(textOf(await call('use_device', read))).toContain('No answer yet');
    const payload = '{"ok":true,"outcome":"ok","result":"at last"}';
    await gateway.post('claim', { envelope_ids: [id] });
    await gateway.post('reply', { replies: [{ envelope_id: id, payload }] });
    expect(textOf(await call('use_device', read))).toBe('at last');
  });

  test('a call that takes too long says how its result is read', async () => {
    const { t, prompts } = await withBoards({}, () => undefined);
    const { call } = await connect(t);
    const asked = call('eink-status');
    await until(() => prompts.length === 1);
    t.clock.advance(45_000);
    const result = await asked;
    expect(result.isError).toBeUndefined();
    expect(textOf(result)).toMatch(/Read it later with use_device action:'result' envelope_id:'/);
  });

  test('cancelling the request cancels the call', async () => {
    const { t, prompts, stream } = await withBoards({}, () => undefined);
    const { client, call } = await connect(t);
    const stop = new AbortController();
    const asked = client.callTool({ name: 'eink-status', arguments: {} }, undefined, {
      signal: stop.signal,
    });
    await until(() => prompts.length === 1);
    stop.abort();
    await expect(asked).rejects.toThrow();
    await until(() => stream.seen.some(({ event }) => event === 'cancel'));
    const offered = stream.seen.find(({ event }) => event === 'offer');
    const cancelled = stream.seen.find(({ event }) => event === 'cancel');
    expect(cancelled?.data.envelope_id).toBe(offered?.data.envelope_id);
    expect(textOf(await call('use_device', { action: 'list' }))).toContain('eink');
  });

  test('a client that leaves takes nothing back', async () => {
    const { t, prompts, stream, gateway } = await withBoards({}, () => undefined);
    const { client } = await connect(t);
    client.callTool({ name: 'eink-status', arguments: {} }).catch(() => {});
    await until(() => prompts.length === 1);
    const transport = client.transport as unknown as { terminateSession(): Promise<void> };
    await transport.terminateSession();
    const id = String(stream.seen[0]?.data.envelope_id);
    await gateway.post('reply', { replies: [{ envelope_id: id, payload: '"done"' }] });
    expect(await t.read(id)).toBe('"done"');
    expect(stream.seen.some(({ event }) => event === 'cancel')).toBe(false);
  });
});

describe('notifications/tools/list_changed', () => {
  test('is sent when a board comes, changes or goes, and only then', async () => {
    const { t, gateway } = await withBoards();
    const { changes, names } = await connect(t);
    const other = await connect(t, (await t.hub.createOwner('bob')).token);
    const tick = (): void => t.clock.advance(200);
    const board = await register(gateway, 'lamp', { on: {} });
    await until(() => changes() === 1, tick);
    expect(await names()).toContain('lamp-on');
    await register(gateway, 'lamp', { on: {} }, board.boardId);
    await register(gateway, 'lamp', { on: {}, off: {} }, board.boardId);
    await until(() => changes() === 2, tick);
    expect(await names()).toContain('lamp-off');
    await register(gateway, 'light', { on: {}, off: {} }, board.boardId);
    await until(() => changes() === 3, tick);
    expect(await names()).toContain('light-off');
    await t.own('DELETE', '/api/devices', { deviceId: board.id });
    await until(() => changes() === 4, tick);
    expect(await names()).not.toContain('light-off');
    await t.own('POST', '/api/devices/restore', { deviceId: board.id });
    await until(() => changes() === 5, tick);
    expect(await names()).toContain('light-off');
    expect(other.changes()).toBe(0);
  });
});
