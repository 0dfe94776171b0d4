/** `tools/list` and `tools/call` of one owner. */
import {
  type CallToolResult,
  ErrorCode,
  type ListToolsResult,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { type McpTools, promptOf, USE_DEVICE } from '../../protocol/mcp-tools.js';
import { checkArgs } from '../../protocol/signature.js';
import { cutText, sentenceOf } from '../../protocol/tiny.js';
import type { HubContext } from '../context.js';
import { Refusal } from '../refusal.js';
import { sendRefusal } from '../routes/relay.js';
import { type Listed, useDevice, useDeviceRequest } from '../use-device.js';
import { failed, resultOf } from './content.js';
import { toolsOf } from './fleet.js';

/** Tools in one answer of `tools/list`. */
const PAGE = 500;
/** Calls of one session that run at a time. */
const RUNNING = 64;

export class Calls {
  private known: McpTools | undefined;
  private readonly running = new Set<Promise<CallToolResult>>();

  constructor(
    private readonly ctx: HubContext,
    private readonly ownerId: string,
  ) {}

  /** What was read of the boards no longer holds. */
  forget(): void {
    this.known = undefined;
  }

  /** `cursor` is the name of the last tool that was told. */
  list(cursor: string | undefined): ListToolsResult {
    const { tools } = this.tools();
    const from = cursor === undefined ? 0 : 1 + tools.findLastIndex(({ name }) => name === cursor);
    if (cursor !== undefined && from === 0) {
      throw new McpError(ErrorCode.InvalidParams, 'the tools changed; list them from the start');
    }
    const page = tools.slice(from, from + PAGE);
    const last = page.at(-1)?.name;
    return {
      tools: page,
      ...(last !== undefined && from + PAGE < tools.length ? { nextCursor: last } : {}),
    };
  }

  /** Aborting `signal` cancels the call. Rejects with `McpError` for a tool that isn't there. */
  async call(name: string, args: object, signal: AbortSignal): Promise<CallToolResult> {
    if (this.running.size >= RUNNING) {
      return failed(
        `${RUNNING} calls are running already; nothing was sent. Wait for one of them.`,
      );
    }
    const call = this.run(name, args, signal);
    this.running.add(call);
    try {
      return await call;
    } finally {
      this.running.delete(call);
    }
  }

  /** Resolves when nothing runs any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.running);
  }

  private tools(): McpTools {
    this.known ??= toolsOf(this.ctx, this.ownerId);
    return this.known;
  }

  private async run(name: string, args: object, signal: AbortSignal): Promise<CallToolResult> {
    try {
      return await this.answer(name, { ...args }, signal);
    } catch (error) {
      if (error instanceof McpError) throw error;
      if (!(error instanceof Refusal))
        this.ctx.log.error({ err: error, tool: name }, 'a tool failed');
      return failed(`refused: ${sendRefusal(error).message}`);
    }
  }

  private async answer(
    name: string,
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<CallToolResult> {
    if (name === USE_DEVICE) return this.useDevice(args, signal);
    const target = this.tools().find(name);
    if (!target) {
      const sentence = `Unknown tool: ${cutText(name, 80)}; nothing was sent. List the tools again.`;
      throw new McpError(ErrorCode.InvalidParams, sentence);
    }
    const { boardId, verb } = target;
    const problems = checkArgs(verb.signature, args);
    if (problems.length > 0) {
      return failed(`refused: ${problems.join('; ')}. Nothing was sent.`);
    }
    const prompt = promptOf(verb, args);
    const request = { action: 'invoke', device_id: boardId, prompt } as const;
    return resultOf(this.ctx, await useDevice(this.ctx, this.ownerId, request, signal));
  }

  private async useDevice(
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<CallToolResult> {
    const request = useDeviceRequest.safeParse(args);
    if (!request.success) return failed(`refused: ${sentenceOf(request.error)}. Nothing was sent.`);
    const reply = await useDevice(this.ctx, this.ownerId, request.data, signal);
    return resultOf(this.ctx, 'devices' in reply ? brief(reply) : reply);
  }
}

/** Without the catalogs: `tools/list` has them, and they would fill an agent's memory. */
function brief(reply: Listed): Listed {
  return {
    ...reply,
    devices: reply.devices.map((device) => ({ ...(device as object), catalog: undefined })),
  };
}
