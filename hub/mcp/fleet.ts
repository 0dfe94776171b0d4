/** An owner's boards as MCP tools, from what their gateways registered. */
import type { z } from 'zod';
import type { boardRequest } from '../../protocol/gateway-api.js';
import {
  type McpTools,
  mcpTools,
  type ToolBoard,
  type ToolVerb,
} from '../../protocol/mcp-tools.js';
import { parseSignature, SignatureError } from '../../protocol/signature.js';
import type { HubContext } from '../context.js';
import { devicesOf } from '../devices.js';

type Catalog = z.infer<typeof boardRequest>['catalog'];

/**
 * Every live board with a catalog, whether it can be reached now or not: a call to one that
 * can't is answered with what is the matter, which a tool that has vanished can't say.
 */
export function toolsOf(ctx: HubContext, ownerId: string): McpTools {
  const boards: ToolBoard[] = [];
  for (const { id, name, catalog } of devicesOf(ctx, ownerId)) {
    if (catalog === null) continue;
    const { verbs } = JSON.parse(catalog) as Catalog;
    boards.push({ id, name, verbs: verbs.flatMap(verbOf) });
  }
  return mcpTools(boards);
}

/** None where the signature is of a kind that this hub can't read: `use_device` still calls it. */
function verbOf(verb: Catalog['verbs'][number]): ToolVerb[] {
  try {
    return [{ ...verb, signature: parseSignature(verb.signature) }];
  } catch (error) {
    if (error instanceof SignatureError) return [];
    throw error;
  }
}
