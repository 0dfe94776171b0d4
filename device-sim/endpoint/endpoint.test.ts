import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.js';
import { makeCa } from './ca.js';
import { enrolEndpoint } from './enrol.js';
import { type EndpointDevice, startEndpoint } from './server.js';

const secret = 'secret-of-the-robot';

async function played(run: (device: EndpointDevice) => Promise<void>): Promise<void> {
  const clock = new VirtualClock();
  const device = await startEndpoint({ name: 'robot', secret, clock, random: () => 0.5 });
  try {
    await run(device);
  } finally {
    await device.close();
  }
}

const ask = (device: EndpointDevice, path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(device.url + path, { headers: { authorization: `Bearer ${secret}` }, ...init });

describe('the authority', () => {
  test('its certificates are for what they name, and are signed by it alone', () => {
    const ca = new X509Certificate(makeCa('Ours').cert);
    const authority = makeCa('Ours');
    const { cert, key } = authority.issue(['127.0.0.1', '::1', 'robot.test']);
    const leaf = new X509Certificate(cert);
    const own = new X509Certificate(authority.cert);
    expect(own.ca).toBe(true);
    expect(leaf.ca).toBe(false);
    expect(leaf.checkIssued(own) && leaf.verify(own.publicKey)).toBe(true);
    expect(leaf.verify(ca.publicKey)).toBe(false);
    expect(leaf.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(leaf.checkIP('::1')).toBe('::1');
    expect(leaf.checkHost('robot.test')).toBe('robot.test');
    expect(leaf.checkHost('other.test')).toBeUndefined();
    expect(key).toMatch(/^-----BEGIN PRIVATE KEY-----/);
    expect(Date.parse(leaf.validTo)).toBeGreaterThan(Date.now());
  });
});

describe('the device', () => {
  test('answers whoever brings its bearer, and nobody else', () =>
    played(async (device) => {
      for (const authorization of ['', 'Bearer x', secret]) {
        const headers = { authorization };
        expect((await ask(device, '/api/telemetry', { headers })).status).toBe(401);
      }
      expect(await (await ask(device, '/api/telemetry')).json()).toMatchObject({
        name: 'robot',
        frames: 0,
        temperature_c: expect.any(Number),
      });
      expect((await ask(device, '/api/reboot')).status).toBe(404);
      expect((await ask(device, '/api/chat')).status).toBe(404);
    }));

  test('its pictures change', () =>
    played(async (device) => {
      const picture = async () =>
        Buffer.from(await (await ask(device, '/api/camera/snapshot')).arrayBuffer());
      const first = await picture();
      expect([...first.subarray(0, 3)]).toEqual([0xff, 0xd8, 0xff]);
      expect((await picture()).equals(first)).toBe(false);
    }));

  test('chats, and refuses what is no prompt', () =>
    played(async (device) => {
      const say = (body: string) => ask(device, '/api/chat', { method: 'POST', body });
      expect(await (await say('{"prompt":"hello"}')).json()).toEqual({
        reply: 'Hello, this is robot.',
      });
      expect(await (await say('{"prompt":"status"}')).json()).toMatchObject({
        reply: { name: 'robot' },
      });
      for (const body of ['{}', '{', 'null', '{"prompt":" "}', '{"prompt":7}']) {
        expect((await say(body)).status).toBe(400);
      }
      expect((await say('x'.repeat(70_000))).status).toBe(413);
    }));
});

describe('enrolment', () => {
  /** A hub's fleet as far as enrolment sees it. */
  function fleet() {
    const rows: { id: string; url: string }[] = [];
    const asked: string[] = [];
    let refusal: string | undefined;
    const fetchIt = (async (_url: string, init: RequestInit) => {
      asked.push(String(init.method));
      const body = init.body === undefined ? {} : JSON.parse(String(init.body));
      if (refusal !== undefined)
        return Response.json({ ok: false, error: refusal }, { status: 424 });
      if (init.method === 'GET') return Response.json({ ok: true, devices: rows });
      if (init.method === 'DELETE') rows.splice(0);
      else rows.push({ id: `id-${asked.length}`, url: body.url });
      return Response.json({ ok: true, device_id: rows.at(-1)?.id });
    }) as typeof fetch;
    const enrol = (url: string, known?: string): Promise<string> =>
      enrolEndpoint(
        { url: 'http://hub.test', token: 'mto_x' },
        { name: 'robot', url, secret },
        known,
        fetchIt,
      );
    const refuse = (why: string): void => {
      refusal = why;
    };
    return { rows, enrol, refuse };
  }

  test('keeps its id at the same URL, and gets another at another', async () => {
    const { rows, enrol } = fleet();
    const first = await enrol('https://a.test');
    expect(await enrol('https://a.test', first)).toBe(first);
    const second = await enrol('https://b.test', first);
    expect(second).not.toBe(first);
    expect(rows).toEqual([{ id: second, url: 'https://b.test' }]);
  });

  test('says what the hub said against it, without the secret', async () => {
    const { enrol, refuse } = fleet();
    refuse('url must be https');
    await expect(enrol('http://a.test')).rejects.toThrow(
      'robot was not enrolled at http://hub.test: url must be https',
    );
  });
});
