/** Devices that are called by their URL: enrolment, address rules, credential (A1, A8; 88 to 95). */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../hub/cleanup.fixture.js';
import { refusedUrls } from '../hub/endpoint/address.fixture.js';
import { breakableStore, testHub } from '../hub/hub.fixture.js';
import { allThree, endpointWorld, enrolAt, NAMED, SECRET } from './support/endpoint-world.js';

const PUBLIC = 'https://robot.example';
const enrolment = { name: 'robot', kind: 'endpoint', url: PUBLIC, secret: SECRET };

describe('the URL', () => {
  it('88: each refused form is refused at enrolment and again at the call', async () => {
    const { database } = await breakableStore();
    const world = await endpointWorld({ database });
    const { t, robot } = world;
    for (const [sentence, urls] of refusedUrls(robot.device.port)) {
      for (const url of urls) {
        const answer = await t.own('POST', '/api/devices', { ...enrolment, url });
        expect([url, answer.status, answer.body]).toEqual([
          url,
          424,
          { ok: false, error: sentence },
        ]);
        if (typeof url !== 'string') continue;
        // As a row of older rules, or one that somebody wrote, would be.
        await database.write((w) =>
          w.run('UPDATE devices SET url = ? WHERE id = ?', [url, robot.id]),
        );
        const told = [
          502,
          { ok: false, error: `device unreachable: ${sentence}`, unreachable: true },
        ];
        expect(await allThree(world)).toEqual({ telemetry: told, snapshot: told, chat: told });
      }
    }
    expect(robot.device.asked).toEqual([]);
    expect(await t.list()).toHaveLength(1);
  });

  it('88: a host that is no longer allowed is refused at the call', async () => {
    const home = tempFolder();
    const world = await endpointWorld({ home });
    expect((await world.telemetry()).status).toBe(200);
    await world.t.hub.close();
    const later = await testHub({ home, endpointResolve: async () => ['127.0.0.1'] });
    const ann = later.as(world.t.token, world.t.ownerId);
    const url = `/api/devices/endpoint?deviceId=${world.robot.id}`;
    expect((await ann.own('GET', url)).body).toEqual({
      ok: false,
      error: 'device unreachable: its name leads to an address that is not public',
      unreachable: true,
    });
    expect(world.robot.device.asked).toHaveLength(1);
  });

  it('89: a name that leads to an address that is not public is refused at the call', async () => {
    let addresses: string[] = [];
    const world = await endpointWorld({
      endpointHosts: [],
      endpointResolve: async () => addresses,
    });
    const { t, robot } = world;
    expect(await t.list()).toMatchObject([
      { id: robot.id, url: `https://${NAMED}:${robot.device.port}` },
    ]);
    for (const one of [
      ['127.0.0.1'],
      ['::1'],
      ['10.0.0.1'],
      ['169.254.169.254'],
      ['::ffff:127.0.0.1'],
      ['64:ff9b::7f00:1'],
      // Rebinding by a name with two faces: one bad address condemns all.
      ['8.8.8.8', '127.0.0.1'],
      ['127.0.0.1', '2606:4700:4700::1111'],
    ]) {
      addresses = one;
      const told = {
        ok: false,
        error: 'device unreachable: its name leads to an address that is not public',
        unreachable: true,
      };
      const said = [502, told];
      expect(await allThree(world)).toEqual({ telemetry: said, snapshot: said, chat: said });
    }
    addresses = [];
    expect((await world.telemetry()).body.error).toMatch(/its name has no address/);
    expect(robot.device.asked).toEqual([]);
  });

  it('89: a name is looked up once for each call, and the connection goes to what was checked', async () => {
    const asked: string[] = [];
    const world = await endpointWorld({
      endpointResolve: async (name) => {
        asked.push(name);
        return ['127.0.0.1'];
      },
    });
    // No resolver of this machine knows the name, so a second look-up would find nothing.
    expect((await world.telemetry()).status).toBe(200);
    expect((await world.chat('hello')).status).toBe(200);
    expect(asked).toEqual([NAMED, NAMED]);
    const [first] = world.robot.device.asked;
    expect(first?.servername).toBe(NAMED);
    expect(first?.headers.host).toBe(`${NAMED}:${world.robot.device.port}`);
  });

  it('90: it is reduced to its origin', async () => {
    const t = await testHub();
    const id = await enrolAt(t, 'https://ann:pass@Robot.Example:8443/api?x=1#y');
    expect(await t.row(id)).toMatchObject({ url: 'https://robot.example:8443' });
    const answer = await t.own('POST', '/api/devices', { ...enrolment, url: `${PUBLIC}/x` });
    expect(answer.body).toEqual({
      ok: true,
      device_id: expect.any(String),
      kind: 'endpoint',
      url: PUBLIC,
    });
  });
});

describe('the credential', () => {
  it('91: it is never in a list, an answer, a log, an error, an event or the database', async () => {
    const home = tempFolder();
    const world = await endpointWorld({ home });
    const { t, robot, log } = world;
    const seen: string[] = [];
    const see = (value: unknown): number => seen.push(JSON.stringify(value));
    see(await t.list());
    see(await world.use({ action: 'list' }));
    // A device that says it back, in every place that it can.
    const echo = `Bearer ${SECRET}`;
    robot.device.answer('/api/telemetry', 'application/json', JSON.stringify({ echo }));
    robot.device.answer('/api/chat', 'text/plain', `you sent ${echo}`);
    robot.device.answer('/api/camera/snapshot', `text/${SECRET}`, 'x');
    see(await allThree(world));
    see(await world.use({ action: 'invoke', device_id: robot.id, prompt: 'snapshot' }));
    for (const fault of ['unauthorized', 'reset', 'half', 'huge', 'redirect', 'garbled'] as const) {
      see(await allThree(world, fault));
      see(await world.use({ action: 'invoke', device_id: robot.id, prompt: 'hello' }));
    }
    see(await t.events());
    see(log);
    const files = readdirSync(home).filter((name) => name.startsWith('hub.db'));
    for (const name of files) seen.push(readFileSync(join(home, name), 'latin1'));
    expect(seen.filter((text) => text.includes(SECRET))).toEqual([]);
    expect(seen.join('')).toContain('[secret]');
    expect(robot.device.asked.at(-1)?.headers.authorization).toBe(echo);
  });

  it('91: it is sealed with a key outside the database, for its device alone', async () => {
    const home = tempFolder();
    const world = await endpointWorld({ home });
    const { t, robot } = world;
    expect(statSync(join(home, 'hub.key')).mode & 0o777).toBe(0o600);
    await t.hub.close();
    rmSync(join(home, 'hub.key'));
    const later = (
      await testHub({ home, endpointHosts: [NAMED], endpointResolve: async () => ['127.0.0.1'] })
    ).as(t.token, t.ownerId);
    const answer = await later.own('GET', `/api/devices/endpoint?deviceId=${robot.id}`);
    expect([answer.status, answer.body]).toEqual([
      502,
      {
        ok: false,
        error: 'the stored secret can’t be read — re-enroll with a fresh token',
        unauthorized: true,
      },
    ]);
    expect(robot.device.asked).toEqual([]);
  });

  it('91: it can’t be moved to another row, and it is gone once the device is revoked', async () => {
    const { database } = await breakableStore();
    const world = await endpointWorld({ database });
    const { t, robot } = world;
    const other = await enrolAt(t, PUBLIC);
    const secretOf = (id: string) =>
      database.read((r) =>
        r.get<{ secret: string | null }>(`SELECT secret FROM devices WHERE id = '${id}'`),
      )?.secret;
    await database.write((w) =>
      w.run('UPDATE devices SET secret = ? WHERE id = ?', [secretOf(other) ?? '', robot.id]),
    );
    expect((await world.telemetry()).body.unauthorized).toBe(true);
    await t.own('DELETE', '/api/devices', { deviceId: other });
    expect(secretOf(other)).toBeNull();
  });

  it('92: blank, longer than 4,096, or with a line break it is refused', async () => {
    const t = await testHub();
    for (const [secrets, sentence] of [
      [[undefined, null, 7, '', '  \t'], 'secret required for an endpoint device'],
      [['x'.repeat(4097)], 'secret too long'],
      [
        [
          'a\r\nx-evil: 1',
          'a\nb',
          'a\rb',
          'token\n',
          'a\u0000b',
          'a\tb',
          'schlüssel',
          'a\u2028b',
          '\u007f',
        ],
        'secret must be printable ASCII without line breaks',
      ],
    ] as const) {
      for (const secret of secrets) {
        const { status, body } = await t.own('POST', '/api/devices', { ...enrolment, secret });
        expect([secret, status, body.error]).toEqual([secret, 424, sentence]);
      }
    }
    expect(await t.list()).toEqual([]);
    await enrolAt(t, PUBLIC, { secret: 'x'.repeat(4096) });
  });
});

describe('the row', () => {
  it('93: online and last_seen are null, and the id opens no device route', async () => {
    const t = await testHub();
    const deviceId = await enrolAt(t, PUBLIC);
    expect(await t.row(deviceId)).toEqual({
      id: deviceId,
      name: 'robot',
      platform: '',
      kind: 'endpoint',
      capabilities: '["chat","telemetry","snapshot"]',
      last_seen: null,
      created_at: expect.any(Number),
      online: null,
      url: PUBLIC,
    });
    for (const token of [SECRET, 'null', 'tind_x', `tind_${'a'.repeat(43)}`]) {
      const body = { deviceId, token };
      const beat = await t.ask('POST', '/api/devices/heartbeat', { body });
      expect([beat.status, beat.body.error]).toEqual([401, 'unknown device']);
      const poll = await t.ask('PUT', '/api/devices/relay', { body });
      expect([poll.status, poll.body.error]).toEqual([401, 'unauthorized']);
    }
    expect(await t.row(deviceId)).toMatchObject({ last_seen: null, online: null });
  });

  it('26: it can’t be adopted, and a namesake that dials in is a row of its own', async () => {
    const t = await testHub();
    const deviceId = await enrolAt(t, PUBLIC);
    const adopted = await t.own('POST', '/api/devices/adopt', { deviceId });
    expect([adopted.status, adopted.body.error]).toEqual([404, 'device not found']);
    expect((await t.enrol('robot')).deviceId).not.toBe(deviceId);
  });

  it('15: it has no lan_url, whatever it was enrolled with and whatever its row says', async () => {
    const store = await breakableStore();
    const t = await testHub({ database: store.database });
    const lanUrl = 'http://192.168.1.5';
    const id = await enrolAt(t, PUBLIC, { lanUrl, lan_url: lanUrl });
    expect(await t.row(id)).not.toHaveProperty('lan_url');
    const seen = Math.floor(t.clock.wall() / 1000);
    await store.database.write((w) =>
      w.run('UPDATE devices SET lan_url = ?, last_seen = ?', [lanUrl, seen]),
    );
    expect(await t.row(id)).not.toHaveProperty('lan_url');
  });

  it('16: it counts as a device, and takes a place from those that dial in', async () => {
    const t = await testHub({ limits: { devices: 1 } });
    const deviceId = await enrolAt(t, PUBLIC);
    for (const device of [enrolment, { name: 'desk' }]) {
      const { status, body } = await t.own('POST', '/api/devices', device);
      expect([status, body.error]).toEqual([424, 'device limit reached (1) — revoke one first']);
    }
    await t.own('DELETE', '/api/devices', { deviceId });
    await t.enrol('desk');
  });

  it('mail to it is refused, for nobody would fetch it', async () => {
    const t = await testHub();
    const toDevice = await enrolAt(t, PUBLIC);
    const { status, body } = await t.own('POST', '/api/devices/relay', { toDevice, payload: {} });
    expect([status, body]).toEqual([
      400,
      {
        ok: false,
        error: 'endpoint devices are called, not mailed',
        delivered: 'no',
        retryable: false,
      },
    ]);
  });
});

describe('what may be called', () => {
  it('94: only three fixed paths, each by its own route; anything else makes no call', async () => {
    const world = await endpointWorld();
    const { t, robot } = world;
    for (const action of ['chat', 'Telemetry', 'reboot', '../x', 'snapshot/']) {
      const url = `/api/devices/endpoint?deviceId=${robot.id}&action=${encodeURIComponent(action)}`;
      const { status, body } = await t.own('GET', url);
      expect([action, status, body.error]).toEqual([
        action,
        400,
        'unsupported action — use telemetry | snapshot',
      ]);
    }
    expect((await t.own('GET', '/api/devices/endpoint')).body.error).toBe('deviceId required');
    for (const body of [
      {},
      { deviceId: robot.id },
      { prompt: 'x' },
      { deviceId: robot.id, prompt: ' ' },
    ]) {
      const answer = await t.own('POST', '/api/devices/endpoint/chat', body);
      expect([answer.status, answer.body.error]).toEqual([400, 'deviceId and prompt required']);
    }
    expect(robot.device.asked).toEqual([]);
    // Without an action it is telemetry.
    await t.own('GET', `/api/devices/endpoint?deviceId=${robot.id}`);
    await world.snapshot();
    await world.chat('hello');
    expect(robot.device.asked.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['GET', '/api/telemetry', ''],
      ['GET', '/api/camera/snapshot', ''],
      ['POST', '/api/chat', '{"prompt":"hello"}'],
    ]);
    for (const { headers } of robot.device.asked) {
      expect(headers).toMatchObject({
        authorization: `Bearer ${SECRET}`,
        'accept-encoding': 'identity',
      });
      expect(headers.cookie).toBeUndefined();
    }
  });

  it('95: a foreign, dialling-in, revoked or unknown id is 404, and nothing is called', async () => {
    const world = await endpointWorld();
    const { t, robot } = world;
    const bob = await t.hub.createOwner('bob');
    const revoked = (await world.another()).id;
    await t.own('DELETE', '/api/devices', { deviceId: revoked });
    const { deviceId: dialling } = await t.enrol('desk');
    for (const [id, as] of [
      [robot.id, bob.token],
      [dialling, t.token],
      [revoked, t.token],
      ['00000000-0000-4000-8000-000000000000', t.token],
    ] as const) {
      const url = `/api/devices/endpoint?deviceId=${id}`;
      const chat = { deviceId: id, prompt: 'hello' };
      for (const answer of [
        await t.ask('GET', url, { as }),
        await t.ask('GET', `${url}&action=snapshot`, { as }),
        await t.ask('POST', '/api/devices/endpoint/chat', { as, body: chat }),
      ]) {
        expect([answer.status, answer.body]).toEqual([
          404,
          { ok: false, error: 'unknown endpoint device' },
        ]);
      }
    }
    expect((await t.ask('GET', `/api/devices/endpoint?deviceId=${robot.id}`)).status).toBe(401);
    expect(robot.device.asked).toEqual([]);
  });
});
