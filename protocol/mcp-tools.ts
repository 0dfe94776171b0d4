/**
 * What an owner's boards are to an MCP client (Model Context Protocol, revision 2025-06-18,
 * "Tools"): one tool for each verb, and `use_device` for everything else. Pure; the server
 * that tells these is the hub's.
 */
import type { Verb } from './catalog.js';
import { type Named, toolNames } from './mcp-names.js';
import { type ArgsSchema, type Signature, toJsonSchema } from './signature.js';

export { TOOL_NAME } from './mcp-names.js';

export type ToolVerb = Omit<Verb, 'index'>;

export interface ToolBoard {
  readonly id: string;
  readonly name: string;
  readonly verbs: readonly ToolVerb[];
}

/** As `tools/list` tells it. */
export interface McpTool {
  name: string;
  title: string;
  description: string;
  inputSchema: Omit<ArgsSchema, 'required'> & { required?: string[] };
  annotations: {
    title: string;
    readOnlyHint: boolean;
    destructiveHint: boolean;
    idempotentHint: boolean;
  };
}

/** What a tool's name stands for. */
export interface ToolTarget {
  readonly boardId: string;
  readonly verb: ToolVerb;
}

export interface McpTools {
  /** `use_device`, then the verbs by name. */
  readonly tools: readonly McpTool[];
  find(name: string): ToolTarget | undefined;
}

export const USE_DEVICE = 'use_device';

export const MCP_INSTRUCTIONS =
  'Each tool named <board>-<verb> runs that verb on a small board (a display, a sensor, a camera). ' +
  'A call runs at most once. An answer that is still pending is not lost: read it with use_device, ' +
  "action 'result'. use_device with action 'list' tells which boards are online, asleep or unreachable.";

export function mcpTools(boards: readonly ToolBoard[]): McpTools {
  const targets = new Map<Named, ToolTarget & { board: ToolBoard }>();
  for (const board of boards) {
    for (const verb of board.verbs) {
      const named = { boardId: board.id, board: board.name, verb: verb.name };
      targets.set(named, { boardId: board.id, verb, board });
    }
  }
  const byName = new Map<string, ToolTarget>();
  const tools: McpTool[] = [];
  for (const [name, named] of toolNames([...targets.keys()])) {
    const target = targets.get(named);
    if (!target) continue;
    byName.set(name, { boardId: target.boardId, verb: target.verb });
    tools.push(toolOf(name, target.board, target.verb));
  }
  tools.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { tools: [useDeviceTool(), ...tools], find: (name) => byName.get(name) };
}

function toolOf(name: string, board: ToolBoard, verb: ToolVerb): McpTool {
  const title = `${board.name}: ${verb.name}`;
  const what = verb.description === '' ? verb.name : verb.description;
  const guarded = verb.protected
    ? ' Protected (a secret argument, or an act that can’t be undone): refused where the gateway does not allow it.'
    : '';
  return {
    name,
    title,
    description: `${board.name}: ${what}${guarded}`,
    inputSchema: toJsonSchema(verb.signature),
    annotations: {
      title,
      readOnlyHint: verb.readOnly,
      destructiveHint: verb.protected && !verb.readOnly,
      idempotentHint: verb.idempotent || verb.readOnly,
    },
  };
}

function useDeviceTool(): McpTool {
  const title = 'Boards: list, call, read and cancel';
  return {
    name: USE_DEVICE,
    title,
    description:
      "Boards as a whole. action 'list': every board, whether it is online, asleep or unreachable, " +
      "and its verbs. 'invoke': sends a prompt (a verb, then JSON, key=value pairs or plain words; " +
      "'help' asks what the board can do) to device_id, an id or a name; wait:false sends it and " +
      "returns at once. 'result': the answer of an earlier call, by its envelope_id. 'cancel': " +
      'takes a call back, or asks its board to stop.',
    inputSchema: {
      type: 'object',
      properties: {
        action: { type: 'string', enum: ['list', 'invoke', 'result', 'cancel'] },
        device_id: { type: 'string', maxLength: 200, description: 'invoke: id or exact name' },
        prompt: { type: 'string', description: 'invoke: a verb and its arguments' },
        wait: { type: 'boolean', description: 'invoke: false returns before the answer is there' },
        timeout_ms: {
          type: 'integer',
          minimum: 0,
          maximum: 600_000,
          description: 'invoke: how long to wait for the answer; 45,000 by default',
        },
        envelope_id: { type: 'string', maxLength: 200, description: 'result, cancel' },
      },
      required: ['action'],
      additionalProperties: false,
    },
    annotations: { title, readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  };
}

/**
 * The prompt that means exactly this call to the prompt grammar of the doors. `args` should
 * have passed `checkArgs`.
 */
export function promptOf(
  verb: { name: string; signature: Signature },
  args: Readonly<Record<string, unknown>>,
): string {
  const json = new Set(verb.signature.params.filter((p) => p.kind === 'json').map((p) => p.name));
  // A text stands for the JSON in it where JSON is wanted, and null for nothing.
  const entries = Object.entries(args).map(([name, value]): [string, unknown] => [
    name,
    json.has(name) && (typeof value === 'string' || value === null) ? JSON.stringify(value) : value,
  ]);
  return entries.length === 0
    ? verb.name
    : `${verb.name} ${JSON.stringify(Object.fromEntries(entries))}`;
}
