/** Options that many commands share, worded once. */
import { type Command, InvalidArgumentError } from 'commander';
import { HubClient } from '../client.js';
import type { Io } from '../io.js';
import { chooseTarget, type HubFlags } from '../target.js';

export interface JsonFlag {
  json?: boolean;
}

export function withJson(command: Command, words = 'one JSON document on stdout'): Command {
  return command.option('--json', words);
}

export function withHome(command: Command): Command {
  return command.option('--home <dir>', 'data folder (default: MOTEBRIDGE_HOME, then your own)');
}

export function withHub(command: Command): Command {
  return withHome(command)
    .option('--url <url>', 'the hub (default: MOTEBRIDGE_URL, then the data folder)')
    .option('--token <token>', 'the owner’s token (default: MOTEBRIDGE_TOKEN, then the folder)');
}

export function hubFrom(io: Io, flags: HubFlags): HubClient {
  return new HubClient(chooseTarget(io.env, flags));
}

/** A whole number from `min` to `max`, as commander's parser. */
export function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}
