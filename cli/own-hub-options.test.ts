/** What `motebridge start` is told about its own hub. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { cli, testIo } from './hub.fixture.js';
import { ownHubOptions } from './own-hub-options.js';

const folder = mkdtempSync(join(tmpdir(), 'motebridge-options-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const keyFile = join(folder, 'key');
writeFileSync(keyFile, 'from-the-file\n');
const twoLines = join(folder, 'lines');
writeFileSync(twoLines, 'one\ntwo\n');

const base = {
  host: '127.0.0.1',
  port: 0,
  broker: true,
  brokerHost: '127.0.0.1',
  brokerPort: 0,
  endpointHost: '127.0.0.1',
};
const at = { host: '127.0.0.1', port: 0 };
const agentUrl = 'https://models.example/v1/';
const told = (flags: object, env: Record<string, string> = {}) =>
  ownHubOptions(testIo(env).env, { ...base, ...flags });

test('what is not given is left to the hub', () => {
  expect(told({})).toEqual(at);
  expect(told({ firmwareHosts: ' , ' })).toEqual(at);
});

test('firmware hosts are compared as hosts of URLs are', () => {
  expect(told({ firmwareHosts: 'FW.example:443, other.example:8443' })).toEqual({
    ...at,
    firmwareHosts: ['fw.example', 'other.example:8443'],
  });
});

test('an agent is its API, its models, and a key from the environment or a file', () => {
  const flags = { agentUrl, agentModel: 'small' };
  const agent = { url: 'https://models.example/v1', model: 'small' };
  expect(told(flags)).toEqual({ ...at, agent });
  expect(told({ ...flags, agentSpeechModel: 'ears' }).agent).toEqual({
    ...agent,
    speechModel: 'ears',
  });
  const env = { MOTEBRIDGE_AGENT_KEY: 'from-the-environment' };
  expect(told(flags, env).agent).toEqual({ ...agent, key: 'from-the-environment' });
  // What was said on the command line is the last word.
  const both = told({ ...flags, agentKeyFile: keyFile }, env);
  expect(both.agent).toEqual({ ...agent, key: 'from-the-file' });
  expect(told(flags, { MOTEBRIDGE_AGENT_KEY: '' })).toEqual({ ...at, agent });
});

test('a key is sent in clear to this machine alone', () => {
  const env = { MOTEBRIDGE_AGENT_KEY: 'k' };
  for (const url of ['http://127.0.0.1:11434/v1', 'http://[::1]:1', 'http://localhost:1']) {
    expect(told({ agentUrl: url, agentModel: 'm' }, env).agent?.key).toBe('k');
  }
  for (const url of ['http://10.0.0.7:1/v1', 'http://127.evil.example', 'http://models.example']) {
    expect(() => told({ agentUrl: url, agentModel: 'm' }, env)).toThrow(/must be https/);
    expect(told({ agentUrl: url, agentModel: 'm' }).agent?.model).toBe('m');
  }
});

const start = (...flags: string[]) => cli(undefined, 'start', ...flags);

test.each([
  [['--agent-url', 'http://x'], /--agent-url and --agent-model go together/],
  [['--agent-model', 'm'], /--agent-url and --agent-model go together/],
  [['--agent-url', 'x', '--agent-model', 'm'], /--agent-url is not a URL/],
  [['--agent-url', 'https://u:p@x', '--agent-model', 'm'], /must not hold a user name/],
  [['--agent-url', 'https://x', '--agent-model', ' '], /has no name/],
  [['--agent-speech-model', 'm'], /need --agent-url and --agent-model/],
  [['--agent-key-file', keyFile], /need --agent-url and --agent-model/],
  [
    ['--agent-url', 'https://x', '--agent-model', 'm', '--agent-key-file', join(folder, 'none')],
    /can't be read \(ENOENT\); name the file with the key/,
  ],
  [
    ['--agent-url', 'https://x', '--agent-model', 'm', '--agent-key-file', twoLines],
    /--agent-key-file holds no key/,
  ],
  [['--firmware-hosts', 'https://fw.example'], /--firmware-hosts takes hosts like/],
  [['--firmware-hosts', 'u@fw.example'], /--firmware-hosts takes hosts like/],
  [
    ['--hub', 'https://h', '--token', 't', '--agent-url', 'https://x'],
    /--agent-url is for a hub of/,
  ],
  [
    ['--hub', 'https://h', '--token', 't', '--firmware-hosts', 'x'],
    /--firmware-hosts is for a hub/,
  ],
  [['--hub', 'https://h', '--token', 't', '--call-ca', 'x'], /--call-ca is for a hub of your own/],
])('start %j is refused with 2 and one sentence', async (flags, words) => {
  const ran = await start(...flags);
  expect(ran).toMatchObject({ code: 2, out: '' });
  expect(ran.err).toMatch(words);
  expect(ran.err).toMatch(/^motebridge: [^\n]+\.\n$/);
  expect(ran.err).not.toContain('one\ntwo');
});

test('help names the settings that errors of the hub name', async () => {
  const { out } = await start('--help');
  for (const name of ['--agent-url', '--agent-model', '--agent-speech-model', '--firmware-hosts']) {
    expect(out).toContain(name);
  }
  expect(out).toContain('MOTEBRIDGE_AGENT_KEY');
});
