/**
 * Child of `kill.test.ts`: the process as `motebridge start` makes it. Its argument is the
 * stack's options as JSON; each line of its input, `<times> <point>`, arms a point.
 */
import { createInterface } from 'node:readline';
import { writeCredentials } from '../../cli/home.js';
import { type StackOptions, startStack } from '../../cli/stack.js';
import { between, Killer } from './points.fixture.js';

const options = JSON.parse(process.argv[2] ?? '') as StackOptions;
const killer = new Killer();
createInterface({ input: process.stdin }).on('line', (line) => {
  const [times = '', ...point] = line.split(' ');
  killer.arm(point.join(' '), Number(times));
});
const log = (what: string, about: Record<string, unknown>): void => {
  if (process.env.KILL_TEST_LOG) process.stderr.write(`${what} ${JSON.stringify(about)}\n`);
};
const stack = await startStack({ ...options, log, between: between(killer) });
const { url, token } = stack;
if ('port' in options.hub) writeCredentials(options.home, { url, token });
process.stdout.write(`ready ${JSON.stringify({ url, token })}\n`);
