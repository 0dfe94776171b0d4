import type { Command } from 'commander';
import type { Context } from '../context.js';
import { chooseTarget, type HubFlags } from '../target.js';
import { withHub } from './options.js';

const EXAMPLE = `
In an agent's configuration:
  {"mcpServers":{"boards":{"command":"motebridge","args":["mcp"]}}}`;

export function addMcp(program: Command, { io }: Context): void {
  const command = program
    .command('mcp')
    .description('serve the boards to an agent over MCP on stdin and stdout')
    .addHelpText('after', EXAMPLE);
  withHub(command).action(async (flags: HubFlags) => {
    const target = chooseTarget(io.env, flags);
    // Read here alone: the SDK is large, and no other command needs it.
    const { serveMcp } = await import('../mcp/serve.js');
    await serveMcp(io, target);
  });
}
