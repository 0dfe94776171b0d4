import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type FakeHub, fakeHub, json, TOKEN } from './hub.fixture.js';

let hub: FakeHub;
/** Where nothing listens: a port that was just given back. */
let nobody: { url: string };
beforeAll(async () => {
  hub = await fakeHub();
  const gone = await fakeHub();
  nobody = { url: gone.url };
  await gone.close();
});
afterAll(() => hub.close());

const rows = [
  {
    id: '0b5c9c0e-5b7a-4a6e-9d8e-111111111111',
    name: 'eink',
    platform: 'sim',
    kind: 'daemon',
    capabilities: '["render_ui","snapshot"]',
    last_seen: 1_700_000_000,
    created_at: 1_700_000_000,
    online: true,
  },
  {
    id: '0b5c9c0e-5b7a-4a6e-9d8e-222222222222',
    name: 'old \u001b[31mname',
    platform: '',
    kind: 'endpoint',
    capabilities: 'broken',
    last_seen: null,
    created_at: 1_700_000_000,
    online: null,
  },
];

const sentence = /^motebridge: [^\n]+\.\n$/;

describe('usage', () => {
  test('--version prints the version of package.json and nothing else', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(await cli(undefined, '--version')).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  test('help names every command and ends with 0', async () => {
    const { code, out } = await cli(undefined, '--help');
    expect(code).toBe(0);
    const names = ['start', 'devices', 'call', 'result', 'snapshot', 'watch', 'boards', 'frame'];
    for (const name of [...names, 'doctor'])
      expect(out).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
  });

  test.each([
    [['nonsense'], /unknown command 'nonsense'/],
    [['devices', '--nonsense'], /unknown option '--nonsense'/],
    [['call', 'eink'], /missing required argument 'prompt'/],
    [['call', 'eink', ' '], /prompt is empty/],
    [['call', 'lamp', '-x'], /put -- before a prompt/],
    [['call', 'eink', 'x', '--timeout', '0'], /whole number from 1 to 600/],
    [['snapshot', 'eink'], /required option '-o, --output/],
    [['snapshot', 'eink', '-o', '-', '--json'], /both want stdout/],
    [['start', '--port', '65536'], /whole number from 0 to 65535/],
    [['start', '--sim', 'toaster'], /no simulated board "toaster"; choose from eink, env, camera/],
    [['start', '--sim', 'eink:0'], /no simulated board "eink:0"/],
    [['call', '', 'status'], /board has no name/],
    [['frame', 'encode', '{"type":"bet"}'], /sealed|no frame was made/],
    [['start', '--sim', 'eink', '--no-broker'], /need a broker/],
    [['start', '--hub', 'http://127.0.0.1:1'], /--hub and --token go together/],
    [['start', '--public-url', 'https://x/y'], /an origin without a path/],
    [['start', '--public-url', 'hub.example'], /--public-url is not a URL/],
    [
      ['start', '--hub', 'http://x', '--token', 't', '--public-url', 'https://y'],
      /for a hub of your own/,
    ],
    [['start', '--endpoint-cert', 'a.pem'], /--endpoint-cert and --endpoint-key go together/],
    [['start', '--endpoint-cert', 'a', '--endpoint-key', 'b'], /needs --endpoint-port/],
    [
      ['start', '--endpoint-port', '0', '--endpoint-cert', 'no.pem', '--endpoint-key', 'no.pem'],
      /no.pem can't be read \(ENOENT\)/,
    ],
    [['devices', '--url', 'ftp://x'], /must begin with http/],
    [['devices', '--url', 'http://u:p@x'], /must not hold a user name/],
    [['frame', 'decode', 'xyz'], /pairs of hex digits/],
    [['frame'], /a command is missing/],
    [['frame', 'nonsense'], /unknown command 'nonsense'/],
  ])('%j is refused with 2 and one sentence', async (argv, words) => {
    const ran = await cli(hub, ...argv);
    expect(ran.err).toMatch(words);
    expect(ran.err).toMatch(sentence);
    expect(ran.code).toBe(2);
    if (!argv.includes('--json')) expect(ran.out).toBe('');
  });

  test('with --json a usage error is one JSON document on stdout as well', async () => {
    const ran = await cli(hub, 'call', 'eink', '--json');
    expect(ran.code).toBe(2);
    expect(JSON.parse(ran.out)).toEqual({
      ok: false,
      error: { code: 'usage', message: expect.stringContaining('prompt') },
    });
  });

  test('no command at all shows help on stderr and ends with 2', async () => {
    const ran = await cli(undefined);
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toContain('Usage: motebridge');
  });
});

describe('devices', () => {
  test('--json is an array with parsed capabilities and nothing else', async () => {
    hub.on('GET /api/devices', (_, r) => json(r, 200, { ok: true, devices: rows }));
    const ran = await cli(hub, 'devices', '--json');
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(ran.out)).toEqual([
      {
        id: rows[0]?.id,
        name: 'eink',
        kind: 'daemon',
        online: true,
        capabilities: ['render_ui', 'snapshot'],
        last_seen: 1_700_000_000,
      },
      {
        id: rows[1]?.id,
        name: rows[1]?.name,
        kind: 'endpoint',
        online: null,
        capabilities: [],
        last_seen: null,
      },
    ]);
    expect(hub.asked.at(-1)?.token).toBe(TOKEN);
  });

  test('the table shows no escape sequence of a name', async () => {
    hub.on('GET /api/devices', (_, r) => json(r, 200, { ok: true, devices: rows }));
    const { out } = await cli(hub, 'devices');
    expect(out).toMatch(/^eink\s+online/m);
    expect(out).toMatch(/^old \?\[31mname\s+on call\s+never/m);
    expect(out).not.toContain('\u001b');
  });

  test('none yet says how to add one', async () => {
    hub.on('GET /api/devices', (_, r) => json(r, 200, { ok: true, devices: [] }));
    expect((await cli(hub, 'devices')).out).toContain('motebridge boards add');
  });

  test.each([
    [401, { ok: false, error: 'login required' }, 4, 'unauthorized'],
    [403, { ok: false, error: 'not yours' }, 4, 'forbidden'],
    [302, {}, 4, 'redirected'],
    [503, { ok: false, error: 'down', retryable: true }, 1, 'hub'],
    [200, { something: 'else' }, 1, 'not_a_hub'],
    [200, 'no object', 1, 'not_a_hub'],
  ])('an answer %i %j ends with its own code', async (status, body, code, name) => {
    hub.on('GET /api/devices', (_, r) => {
      r.setHeader('location', 'http://127.0.0.1:1/');
      json(r, status, body);
    });
    const ran = await cli(hub, 'devices', '--json');
    expect(ran.err).toMatch(sentence);
    expect({ code: ran.code, name: JSON.parse(ran.out).error.code }).toEqual({ code, name });
  });

  test('nobody listening is 3 and says what to do', async () => {
    const ran = await cli(nobody, 'devices');
    expect(ran).toMatchObject({ code: 3, out: '' });
    expect(ran.err).toMatch(
      /No hub answers at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\); start one/,
    );
  });
});

describe('call', () => {
  test('joins the words, names the board and prints the result as JSON', async () => {
    hub.on('POST /api/use-device', (_, r) =>
      json(r, 200, { ok: true, result: { t: 21.5 }, device_id: 'd', envelope_id: 'e' }),
    );
    const ran = await cli(hub, 'call', 'env', 'set', 'level=40', 'now', '--json', '--timeout', '7');
    expect(hub.asked.at(-1)?.body).toEqual({
      action: 'invoke',
      device_id: 'env',
      prompt: 'set level=40 now',
      wait: true,
      timeout_ms: 7000,
    });
    expect(JSON.parse(ran.out)).toEqual({
      ok: true,
      result: { t: 21.5 },
      device_id: 'd',
      envelope_id: 'e',
    });
    expect(ran).toMatchObject({ code: 0, err: '' });
  });

  test('a prompt after -- may begin with a dash', async () => {
    hub.on('POST /api/use-device', (_, r) => json(r, 200, { ok: true, result: 'ok' }));
    const ran = await cli(hub, 'call', 'lamp', '--', '-5');
    expect(hub.asked.at(-1)?.body).toMatchObject({ prompt: '-5' });
    expect(ran.out).toBe('ok\n');
  });

  test.each([
    [{ ok: false, outcome: 'unreachable', error: { code: 'unreachable', message: 'x' } }, 3],
    [{ ok: false, outcome: 'refused', error: { code: 'bad_arguments', message: 'x' } }, 4],
    [{ ok: false, outcome: 'failed', error: { code: 'jam', message: 'paper' } }, 1],
    [{ ok: false, outcome: 'expired', error: { code: 'expired', message: 'x' } }, 1],
    [{ ok: false, outcome: 'outcome_unknown', error: { code: 'reboot', message: 'x' } }, 1],
    [{ ok: true, pending: true, envelope_id: 'e-1', note: 'later' }, 1],
  ])('%j ends with %i', async (answer, code) => {
    hub.on('POST /api/use-device', (_, r) => json(r, 200, answer));
    const ran = await cli(hub, 'call', 'eink', 'x', '--json');
    const said = JSON.parse(ran.out);
    expect(ran.code).toBe(code);
    expect(ran.err).toMatch(sentence);
    expect(said.ok).toBe(false);
    expect(said.error.code).toBe('error' in answer ? answer.error.code : 'pending');
    if ('envelope_id' in answer) expect(ran.err).toContain('motebridge result e-1');
  });

  test('an unknown board is refused, and told where to look', async () => {
    hub.on('POST /api/use-device', (_, r) =>
      json(r, 404, {
        ok: false,
        outcome: 'refused',
        error: { code: 'no_such_device', message: 'device not found' },
      }),
    );
    const ran = await cli(hub, 'call', 'nobody', 'x');
    expect(ran).toMatchObject({ code: 4, out: '' });
    expect(ran.err).toContain('device not found; `motebridge devices` lists what is there.');
  });

  test('a wrong token is refused, and told where the right one is', async () => {
    hub.on('POST /api/use-device', (_, r) =>
      json(r, 401, {
        ok: false,
        outcome: 'refused',
        error: { code: 'login_required', message: 'login required' },
      }),
    );
    const ran = await cli(hub, 'call', 'eink', 'x');
    expect(ran).toMatchObject({ code: 4, out: '' });
    expect(ran.err).toContain('login required; set MOTEBRIDGE_TOKEN');
  });

  test('--no-wait prints the envelope id, which result then reads', async () => {
    hub.on('POST /api/use-device', ({ body }, r) => {
      const { action } = body as { action: string };
      if (action === 'invoke') json(r, 200, { ok: true, pending: true, envelope_id: 'e-9' });
      else json(r, 200, { ok: true, result: 'done', envelope_id: 'e-9' });
    });
    expect(await cli(hub, 'call', 'eink', 'x', '--no-wait')).toMatchObject({
      code: 0,
      out: 'e-9\n',
    });
    expect(await cli(hub, 'result', 'e-9')).toMatchObject({ code: 0, out: 'done\n' });
    expect(hub.asked.at(-1)?.body).toEqual({ action: 'result', envelope_id: 'e-9' });
  });

  test('a result for people shows no escape sequence', async () => {
    hub.on('POST /api/use-device', (_, r) => json(r, 200, { ok: true, result: 'a\u001b[2Jb' }));
    expect((await cli(hub, 'call', 'eink', 'x')).out).toBe('a?[2Jb\n');
  });
});
