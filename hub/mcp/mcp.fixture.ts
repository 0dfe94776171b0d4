/** A hub with a board that answers, and clients of the SDK at its `/mcp`. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  type CallToolResult,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { parseSignature, toJsonSchema } from '../../protocol/signature.js';
import { onCleanup } from '../cleanup.fixture.js';
import { type TestGateway, type TestHub, type TestHubOptions, testHub } from '../hub.fixture.js';
import { gatewayStream, type Heard } from '../stream.fixture.js';

export interface VerbSpec {
  signature?: string;
  description?: string;
  readOnly?: boolean;
  protected?: boolean;
}

export const VERBS: Record<string, VerbSpec> = {
  say: { signature: 'text:s200 size?:i1..4', description: 'Shows a text.' },
  status: { readOnly: true },
};

let boards = 0;

/** Registers a board of these verbs; the same `boardId` refreshes it. */
export async function register(
  gateway: TestGateway,
  name: string,
  verbs = VERBS,
  boardId = (++boards).toString(16).padStart(16, '0'),
): Promise<{ id: string; boardId: string }> {
  const { body } = await gateway.post('boards', {
    boardId,
    name,
    platform: 'esp32',
    capabilities: Object.keys(verbs),
    catalog: {
      firmware: '1.0',
      verbs: Object.entries(verbs).map(
        ([verb, { signature = '', description = '', ...flags }]) => ({
          name: verb,
          description,
          signature,
          parameters: signature === '?' ? {} : { ...toJsonSchema(parseSignature(signature)) },
          protected: false,
          idempotent: false,
          readOnly: false,
          ...flags,
        }),
      ),
      readings: [],
    },
  });
  return { id: String(body.device_id), boardId };
}

/** `answer` makes the reply's payload, or undefined for none. */
export async function withBoards(
  options: TestHubOptions = {},
  answer: (prompt: string) => unknown = (prompt) => ({ ok: true, outcome: 'ok', result: prompt }),
) {
  const t = await testHub(options);
  const gateway = await t.gateway();
  const board = await register(gateway, 'eink');
  const stream = await gatewayStream(t, gateway.token);
  await gateway.online(board.id);
  const prompts: string[] = [];
  const serve = async (): Promise<void> => {
    for (let next = 1; ; next++) {
      const heard: Heard | undefined = (await stream.items(next))[next - 1];
      if (heard === undefined) return;
      if (heard.event !== 'offer') continue;
      const id = String(heard.data.envelope_id);
      await gateway.post('claim', { envelope_ids: [id] });
      const { prompt } = JSON.parse(String(heard.data.payload));
      prompts.push(prompt);
      const payload = answer(prompt);
      if (payload === undefined) continue;
      await gateway.post('reply', {
        replies: [{ envelope_id: id, payload: JSON.stringify(payload) }],
      });
    }
  };
  void serve();
  return { t, gateway, board, stream, prompts };
}

export interface TestClient {
  client: Client;
  sessionId: string;
  names(): Promise<string[]>;
  call(name: string, args?: Record<string, unknown>): Promise<CallToolResult>;
  /** How often it heard that the list changed. */
  changes(): number;
}

/** A client that has initialised. */
export async function connect(t: TestHub, token = t.token): Promise<TestClient> {
  const client = new Client({ name: 'test', version: '1' });
  let changes = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changes += 1;
  });
  const transport = new StreamableHTTPClientTransport(new URL(`${await t.url()}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  onCleanup(() => client.close());
  return {
    client,
    sessionId: transport.sessionId ?? '',
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) =>
      (await client.callTool({ name, arguments: args })) as CallToolResult,
    changes: () => changes,
  };
}

/** Polls, since what is waited for goes over real sockets; `meanwhile` moves the hub's clock. */
export async function until(holds: () => boolean, meanwhile: () => void = () => {}): Promise<void> {
  const end = performance.now() + 15_000;
  while (!holds()) {
    if (performance.now() > end) throw new Error('it did not come to pass');
    meanwhile();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
