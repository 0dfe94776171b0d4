/** What `use_device` answers, as the content of an MCP tool's result. */
import { readFile } from 'node:fs/promises';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { HubContext } from '../context.js';
import { mediaFile, mediaOf } from '../media.js';
import type { UseDeviceReply } from '../use-device.js';

type Block = CallToolResult['content'][number];

/** Clients over stdio read lines of at most 10 MiB: two pictures this large fit one, as base64. */
const IMAGE_MAX = 3 * 1024 * 1024;

export const failed = (sentence: string): CallToolResult => ({
  content: [{ type: 'text', text: sentence }],
  isError: true,
});

/** Never throws for what a reply holds. */
export async function resultOf(ctx: HubContext, reply: UseDeviceReply): Promise<CallToolResult> {
  if ('devices' in reply) return { content: [text(reply.devices)] };
  if ('pending' in reply) return { content: [text(reply.note)] };
  const late = reply.late === undefined ? [] : [text(`A result came later: ${said(reply.late)}`)];
  if (!reply.ok) {
    const { content } = failed(`${reply.outcome}: ${reply.error.message}`);
    return { content: [...content, ...late], isError: true };
  }
  const content: Block[] = [text(reply.result)];
  if (reply.truncated) content.push(text('(The answer was longer and is cut here.)'));
  for (const url of reply.images ?? []) content.push(await pictureOf(ctx, url));
  return { content: [...content, ...late] };
}

const said = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

const text = (value: unknown): Block => ({ type: 'text', text: said(value) });

/** `url` is one of this hub's own media; nothing is ever fetched. */
async function pictureOf(ctx: HubContext, url: string): Promise<Block> {
  const key = url.slice(url.lastIndexOf('/') + 1);
  const medium = mediaOf(ctx, key);
  if (medium?.type.startsWith('image/') && medium.bytes <= IMAGE_MAX) {
    const bytes = await readFile(mediaFile(ctx, key)).catch(() => undefined);
    if (bytes) return { type: 'image', data: bytes.toString('base64'), mimeType: medium.type };
  }
  return text(medium ? `Picture: ${url}` : `The picture ${url} is no longer there.`);
}
