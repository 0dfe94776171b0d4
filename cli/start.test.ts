/** The built command as a person runs it: start, list, call, look at the picture, stop. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const main = join(import.meta.dirname, '../dist/cli/main.js');
const home = mkdtempSync(join(tmpdir(), 'motebridge-start-'));
const START = ['start', '--json', '--sim', 'eink,env,camera,endpoint', '--home', home];
const PORTS = ['--port', '0', '--broker-port', '0'];

/** Each command is a process of its own; a busy machine takes seconds to start one. */
const SLOW = 60_000;

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** Only what a shell would give it: no hub of the machine's own may be found. */
const env = { PATH: process.env.PATH, HOME: home };

function begin(args: string[]): {
  child: ChildProcess;
  ended: Promise<Ended>;
  line: Promise<string>;
} {
  const child = spawn(process.execPath, [main, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stderr.on('data', (data) => {
    err += data;
  });
  const line = new Promise<string>((done) => {
    child.stdout.on('data', (data) => {
      out += data;
      if (out.includes('\n')) done(out);
    });
  });
  const ended = new Promise<Ended>((done) => {
    child.on('close', (code) => done({ code, out, err }));
  });
  return { child, ended, line };
}

const run = (...args: string[]): Promise<Ended> => begin([...args, '--home', home]).ended;

let system: ReturnType<typeof begin>;
/** Of all that is listed, in order. */
let ids: string[] = [];

beforeAll(async () => {
  system = begin([...START, ...PORTS]);
  const first = await Promise.race([system.line, system.ended]);
  if (typeof first !== 'string') throw new Error(first.err);
});

afterAll(async () => {
  if (system.child.exitCode === null && system.child.signalCode === null) {
    system.child.kill('SIGKILL');
    await system.ended;
  }
  rmSync(home, { recursive: true, force: true });
});

describe('motebridge start', () => {
  it('says in one line of JSON where it serves, with its boards online', async () => {
    const line = await system.line;
    expect(line.trim().split('\n')).toHaveLength(1);
    expect(JSON.parse(line)).toEqual({
      ready: true,
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      token: expect.stringMatching(/^mto_[A-Za-z0-9_-]{43}$/),
    });
    const { out } = await run('devices', '--json');
    const devices = JSON.parse(out) as {
      id: string;
      name: string;
      online: boolean | null;
      capabilities: string[];
    }[];
    expect(devices.map(({ name, online }) => [name, online]).sort()).toEqual([
      ['camera', true],
      ['eink', true],
      ['endpoint', null],
      ['env', true],
    ]);
    ids = devices.map(({ id }) => id).sort();
    expect(devices.find(({ name }) => name === 'eink')?.capabilities).toContain('render_ui');
  });

  it('paints a card, and its picture comes back', async () => {
    const before = join(home, 'before.png');
    const after = join(home, 'after.png');
    expect((await run('snapshot', 'eink', '-o', before)).code).toBe(0);
    const card = '{"type":"kv","title":"Status","rows":{"in":"19:30"}}';
    const { code, out } = await run('call', 'eink', `render_ui ${card}`, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ ok: true, result: { status: 'shown', type: 'kv' } });
    expect((await run('snapshot', 'eink', '-o', after)).code).toBe(0);
    const png = readFileSync(after);
    expect([...png.subarray(0, 8)]).toEqual([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([800, 480]);
    expect(png.equals(readFileSync(before))).toBe(false);
  });

  it('gives live readings', async () => {
    const { out } = await run('call', 'env', 'status', '--json');
    expect(JSON.parse(out)).toMatchObject({
      ok: true,
      result: { temperature: expect.any(Number), humidity: expect.any(Number) },
    });
  });

  it('refuses what no board can do with exit code 4, and says what it can', async () => {
    const { code, out, err } = await run('call', 'eink', 'fly', 'home', '--json');
    expect(code).toBe(4);
    expect(JSON.parse(out)).toMatchObject({ ok: false, error: { code: 'unknown_verb' } });
    expect(err).toContain('render_ui');
  });

  it('takes no name that is too long, and says where its boards are', async () => {
    const long = await run('boards', 'add', 'n'.repeat(300), '--json');
    expect(long.code).toBe(2);
    expect(JSON.parse(long.out)).toMatchObject({ ok: false, error: { code: 'bad_name' } });
    const gone = await run('boards', 'remove', 'nobody');
    expect(gone).toMatchObject({ code: 4, out: '' });
    expect(gone.err).toContain('`motebridge boards list`');
  });

  it('never says of a call that it does not know that it was not run', async () => {
    const { code, out, err } = await run('result', 'nobody-sent-this', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ outcome: 'outcome_unknown' });
    expect(err).not.toMatch(/not run|can be sent again/);
  });

  it('has a device that is called: its picture, its telemetry, a chat', {
    timeout: SLOW,
  }, async () => {
    const file = join(home, 'called.jpg');
    const { code, out } = await run('snapshot', 'endpoint', '-o', file, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ type: 'image/jpeg', width: 640, height: 480 });
    const telemetry = await run('call', 'endpoint', 'telemetry', '--json');
    expect(JSON.parse(telemetry.out)).toMatchObject({
      ok: true,
      result: { name: 'endpoint', frames: 1 },
    });
    // It answers at once, whether one waits or not.
    const { out: said } = await run('call', 'endpoint', 'hello', '--no-wait');
    expect(said.trim()).toBe('Hello, this is endpoint.');
  });

  it('is alone in its home', async () => {
    const second = await begin([...START, ...PORTS]).ended;
    expect(second.code).toBe(1);
    expect(JSON.parse(second.out)).toMatchObject({ ok: false, error: { code: 'home_in_use' } });
    expect(second.err).toMatch(/in use/);
  });

  it('ends with exit code 0 within 3 s of a SIGTERM, and is then unreachable', async () => {
    const asked = performance.now();
    system.child.kill('SIGTERM');
    expect((await system.ended).code).toBe(0);
    expect(performance.now() - asked).toBeLessThan(3_000);
    const { code, err } = await run('devices');
    expect(code).toBe(3);
    expect(err).toContain('motebridge start');
  });

  it('finds its boards and its device again after a restart', { timeout: SLOW }, async () => {
    const again = begin([...START, ...PORTS]);
    await Promise.race([again.line, again.ended]);
    const devices = JSON.parse((await run('devices', '--json')).out) as {
      id: string;
      online: boolean | null;
    }[];
    expect(devices.map(({ online }) => online)).toEqual([true, true, true, null]);
    expect(devices.map(({ id }) => id).sort()).toEqual(ids);
    expect((await run('call', 'endpoint', 'hello')).code).toBe(0);
    again.child.kill('SIGTERM');
    expect((await again.ended).code).toBe(0);
  });
});
