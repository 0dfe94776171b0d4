/** MCP over stdin and stdout, passed on to the hub's `/mcp`. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  CallToolResultSchema,
  ErrorCode,
  ListToolsRequestSchema,
  type ListToolsResult,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { MCP_INSTRUCTIONS } from '../../protocol/mcp-tools.js';
import { CliError, EXIT, systemCode } from '../fault.js';
import { type Io, note } from '../io.js';
import type { Target } from '../target.js';
import { version } from '../version.js';
import { faultOf, HubLink, statusOf } from './hub-link.js';

/** Above the longest wait that a caller can ask the hub for. */
const CALL_MS = 630_000;
const LIST_MS = 30_000;
/** For answers that are still to come when the input has ended. */
const LAST_MS = 5_000;

/** Resolves when the input has ended, or `io` says to stop. */
export async function serveMcp(io: Io, target: Target): Promise<void> {
  const server = new Server(
    { name: 'motebridge', title: 'Motebridge', version: version() },
    { capabilities: { tools: { listChanged: true } }, instructions: MCP_INSTRUCTIONS },
  );
  let initialized = false;
  server.oninitialized = () => {
    initialized = true;
  };
  const link = new HubLink(target, version(), {
    changed: () => {
      if (initialized) void server.sendToolListChanged().catch(() => {});
    },
    state: (state, why) =>
      note(io, state === 'open' ? 'motebridge: connected to the hub.' : `motebridge: ${why}`),
  });
  const running = new Set<Promise<unknown>>();
  const track = <T>(work: Promise<T>): Promise<T> => {
    running.add(work);
    work.catch(() => {}).finally(() => running.delete(work));
    return work;
  };
  server.setRequestHandler(ListToolsRequestSchema, ({ params }, { signal }) =>
    track(list(link, target, params, signal)),
  );
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) =>
    track(call(link, target, params, signal)),
  );

  const ended = new Promise<boolean>((done) => {
    process.stdin.once('end', () => done(true));
    process.stdin.once('close', () => done(true));
    server.onclose = () => done(false);
  });
  const stopped = new Promise<boolean>((done) => void io.onStop(() => done(false)));
  await server.connect(new StdioServerTransport());
  try {
    const mayAnswer = await Promise.race([ended, stopped, refusedAtOnce(link)]);
    if (mayAnswer) {
      const last = new Promise<void>((done) => setTimeout(done, LAST_MS).unref());
      await Promise.race([Promise.allSettled(running), last, stopped]);
    }
  } finally {
    // The answer of a request leaves in the turns after its handler.
    await new Promise((done) => setTimeout(done, 10));
    await link.close();
    await server.close();
  }
}

/** Connects; rejects where the hub answers and refuses, which no waiting would mend. */
async function refusedAtOnce(link: HubLink): Promise<never> {
  try {
    await link.client();
  } catch (error) {
    if (error instanceof CliError && error.exit === EXIT.refused) throw error;
  }
  return new Promise<never>(() => {});
}

type Params = Record<string, unknown> | undefined;

async function list(
  link: HubLink,
  target: Target,
  params: Params,
  signal: AbortSignal,
): Promise<ListToolsResult> {
  const options = { signal, timeout: LIST_MS };
  return relayed(link, target, (client) => client.listTools(params, options));
}

/** What hinders a call is its result: agents read results, and clients hide errors. */
async function call(
  link: HubLink,
  target: Target,
  params: { name: string; arguments?: Record<string, unknown> },
  signal: AbortSignal,
): Promise<CallToolResult> {
  const options = { signal, timeout: CALL_MS };
  try {
    return await relayed(link, target, (client) =>
      client.request({ method: 'tools/call', params }, CallToolResultSchema, options),
    );
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const text = error.code === UNKNOWN ? error.message : `${error.message} Nothing was sent.`;
    return { content: [{ type: 'text', text }], isError: true };
  }
}

const UNKNOWN = 'outcome_unknown';
/** The connection was never made. */
const UNSENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

/**
 * One request at the hub. Where the hub did not know the session, nothing was done, and it is
 * asked once more in a new one. `CliError` says that nothing was sent, or that nobody knows.
 */
async function relayed<T>(
  link: HubLink,
  target: Target,
  ask: (client: Client) => Promise<T>,
): Promise<T> {
  for (let again = true; ; again = false) {
    const client = await link.client();
    try {
      return await ask(client);
    } catch (error) {
      if (error instanceof McpError && error.code !== ErrorCode.ConnectionClosed) {
        throw plain(error);
      }
      const status = statusOf(error) ?? 0;
      const unsent = UNSENT.includes(systemCode(error)) || (status >= 400 && status < 500);
      if (!unsent) {
        throw new CliError(
          UNKNOWN,
          'The hub went away while this ran, so how it ended is not known; look at the board before you do it again.',
        );
      }
      const fault = faultOf(target, error);
      if (!again || status !== 404) throw fault;
      link.lost(client, fault.message);
    }
  }
}

/** The SDK puts a prefix before what was said, at each end; once is enough. */
function plain(error: McpError): McpError {
  const prefix = `MCP error ${error.code}: `;
  let said = error.message;
  while (said.startsWith(prefix)) said = said.slice(prefix.length);
  return new McpError(error.code, said, error.data);
}
