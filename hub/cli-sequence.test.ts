import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import {
  authTokenReply,
  DEVICE_TOKEN,
  devicesReply,
  enrolReply,
  healthReply,
  heartbeatReply,
  relayPollReply,
  relayReadReply,
  relaySendReply,
  revokeReply,
} from '../protocol/tiny.js';
import { onCleanup } from './cleanup.fixture.js';
import { testHub } from './hub.fixture.js';

/** JSON over a real socket, as the command line asks: status and body. */
function asker(base: string) {
  return async (method: string, path: string, body?: unknown, headers = {}) => {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { status } = response;
    return { status, headers: response.headers, body: (await response.json()) as unknown };
  };
}
type Asker = ReturnType<typeof asker>;

/** The command line's end of a login: where the browser brings the code to. */
async function callback(state: string): Promise<{ port: number; code: Promise<string> }> {
  let got: (code: string) => void = () => {};
  const code = new Promise<string>((resolve) => {
    got = resolve;
  });
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const good = url.pathname === '/callback' && url.searchParams.get('state') === state;
    if (good) got(url.searchParams.get('code') ?? '');
    response.writeHead(good ? 200 : 400).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onCleanup(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const at = server.address();
  if (at === null || typeof at === 'string') throw new Error('no port');
  return { port: at.port, code };
}

/** Beats, polls and answers until a 401, as the command line does; says what it was asked. */
async function serve(ask: Asker, device: object): Promise<string[]> {
  const prompts: string[] = [];
  for (;;) {
    const beat = await ask('POST', '/api/devices/heartbeat', {
      ...device,
      capabilities: ['shell'],
    });
    if (beat.status === 401) return prompts;
    heartbeatReply.parse(beat.body);
    const polled = await ask('PUT', '/api/devices/relay', { ...device, max: 5 });
    if (polled.status === 401) return prompts;
    for (const { id, payload } of relayPollReply.parse(polled.body).messages) {
      const { prompt } = JSON.parse(payload) as { prompt: string };
      prompts.push(prompt);
      const reply = {
        ...device,
        inReplyTo: id,
        payload: JSON.stringify({ result: `ran ${prompt}` }),
      };
      expect((await ask('PATCH', '/api/devices/relay', reply)).status).toBe(200);
    }
  }
}

test('D120 a command line logs in, enrols, serves, and stops once it is revoked', async () => {
  const t = await testHub();
  const base = await t.url();
  const ask = asker(base);
  const health = healthReply.parse((await ask('GET', '/api/health')).body);
  expect(health).toMatchObject({ ok: true, service: 'web' });
  expect((await ask('GET', '/api/devices')).body).toEqual({ ok: false, error: 'login required' });

  // The owner's browser consents, and brings the code to the command line's own port.
  const login = await ask('POST', '/api/login', { token: t.token });
  const cookie = String(login.headers.get('set-cookie')).split(';')[0] ?? '';
  const state = randomBytes(24).toString('base64url');
  const { port, code } = await callback(state);
  const consent = await ask('POST', '/api/auth/cli', { port, state }, { cookie, origin: base });
  const { redirect } = consent.body as { redirect: string };
  expect((await fetch(redirect.replace(state, 'x'.repeat(32)))).status).toBe(400);
  expect((await fetch(redirect)).status).toBe(200);
  const exchanged = await ask('POST', '/api/auth/cli/token', { code: await code, state });
  const { token, user } = authTokenReply.parse(exchanged.body);
  expect(user).toMatchObject({ id: t.ownerId, login: 'ann' });
  const bearer = { authorization: `Bearer ${token}` };

  const wish = { name: 'laptop', platform: 'linux', kind: 'cli', capabilities: ['shell'] };
  const enrolled = enrolReply.parse((await ask('POST', '/api/devices', wish, bearer)).body);
  const { device_id: deviceId, device_token = '' } = enrolled as {
    device_id: string;
    device_token?: string;
  };
  expect(device_token).toMatch(DEVICE_TOKEN);
  const serving = serve(ask, { deviceId, token: device_token });

  const envelope = { toDevice: deviceId, payload: { type: 'invoke', prompt: 'uname' } };
  const { id } = relaySendReply.parse(
    (await ask('POST', '/api/devices/relay', envelope, bearer)).body,
  );
  let reply: { payload: string } | null = null;
  while (reply === null) {
    const read = await ask('GET', `/api/devices/relay?inReplyTo=${id}`, undefined, bearer);
    reply = relayReadReply.parse(read.body).reply;
  }
  expect(reply.payload).toBe('{"result":"ran uname"}');

  const { devices } = devicesReply.parse(
    (await ask('GET', '/api/devices', undefined, bearer)).body,
  );
  expect(devices).toMatchObject([{ id: deviceId, name: 'laptop', kind: 'cli', online: true }]);

  const revoked = await ask('DELETE', '/api/devices', { deviceId }, bearer);
  expect(revokeReply.parse(revoked.body).revoked).toBe(1);
  expect(await serving).toEqual(['uname']);
  const after = await ask('GET', '/api/devices', undefined, bearer);
  expect(devicesReply.parse(after.body).devices).toEqual([]);
});
