/** Web push as it leaves the hub: to a real HTTPS service, readable by the browser's keys alone. */
import {
  createDecipheriv,
  createECDH,
  createPublicKey,
  hkdfSync,
  randomBytes,
  verify,
} from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { TEST_TLS } from '../gateway/links/tls-fixture.js';
import { publicOnly, webPush } from '../hub/push-sender.js';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end();
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'motebridge-push-'));
  ends.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

interface Received {
  headers: IncomingHttpHeaders;
  url: string;
  body: Buffer;
}

async function service(status: number) {
  const received: Received[] = [];
  const server = createServer(TEST_TLS, (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const { headers, url = '' } = request;
      received.push({ headers, url, body: Buffer.concat(parts) });
      response.writeHead(status, { location: 'https://localhost/elsewhere' }).end();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  ends.push(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { received, host: `localhost:${port}`, origin: `https://localhost:${port}` };
}

function browserKeys() {
  const pair = createECDH('prime256v1');
  const publicKey = pair.generateKeys();
  const auth = randomBytes(16);
  return {
    p256dh: publicKey.toString('base64url'),
    auth: auth.toString('base64url'),
    /** RFC 8291 and RFC 8188, one record. */
    open(body: Buffer): string {
      const salt = body.subarray(0, 16);
      const theirs = body.subarray(21, 21 + (body[20] ?? 0));
      const sealed = body.subarray(21 + (body[20] ?? 0));
      const info = Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, theirs]);
      const secret = Buffer.from(hkdfSync('sha256', pair.computeSecret(theirs), auth, info, 32));
      const part = (name: string, size: number) =>
        Buffer.from(hkdfSync('sha256', secret, salt, `Content-Encoding: ${name}\0`, size));
      const cipher = createDecipheriv('aes-128-gcm', part('aes128gcm', 16), part('nonce', 12));
      cipher.setAuthTag(sealed.subarray(-16));
      const text = Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()]);
      return text.subarray(0, text.lastIndexOf(2)).toString('utf8');
    },
  };
}

const sender = (host: string, file?: string) =>
  webPush({
    subject: 'mailto:ann@example.com',
    allowed: [host],
    agent: new Agent({ ca: TEST_TLS.cert }),
    ...(file === undefined ? {} : { file }),
  });

describe('web push', () => {
  it('reaches the service sealed for the browser and signed by the hub', async () => {
    const { received, host, origin } = await service(201);
    const push = sender(host);
    const keys = browserKeys();
    const payload = JSON.stringify({ title: '💻 desk finished', body: 'x', tag: 't', url: '/' });
    expect(await push.send({ endpoint: `${origin}/sub/1`, ...keys }, payload)).toBe(201);
    const [one] = received;
    if (one === undefined) throw new Error('nothing was received');
    expect(one.url).toBe('/sub/1');
    expect(one.headers).toMatchObject({ 'content-encoding': 'aes128gcm', ttl: '86400' });
    expect(one.body.includes('desk')).toBe(false);
    expect(keys.open(one.body)).toBe(payload);
    const [, jwt = '', key] =
      /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(one.headers.authorization ?? '') ?? [];
    expect(key).toBe(push.publicKey);
    const [head = '', claims = '', signature = ''] = jwt.split('.');
    const point = Buffer.from(push.publicKey, 'base64url');
    const jwk = {
      kty: 'EC',
      crv: 'P-256',
      x: point.subarray(1, 33).toString('base64url'),
      y: point.subarray(33).toString('base64url'),
    };
    const signer = {
      key: createPublicKey({ key: jwk, format: 'jwk' }),
      dsaEncoding: 'ieee-p1363',
    } as const;
    const signed = Buffer.from(`${head}.${claims}`);
    expect(verify('sha256', signed, signer, Buffer.from(signature, 'base64url'))).toBe(true);
    const said = JSON.parse(Buffer.from(claims, 'base64url').toString());
    expect(said).toMatchObject({ aud: origin, sub: 'mailto:ann@example.com' });
  });

  it('tells the service’s refusal by its status, and follows no redirect', async () => {
    for (const status of [410, 404, 302, 429]) {
      const { received, host, origin } = await service(status);
      expect(await sender(host).send({ endpoint: `${origin}/x`, ...browserKeys() }, 'x')).toBe(
        status,
      );
      expect(received).toHaveLength(1);
    }
  });

  it('keeps its keys for its user alone, the same after a restart', () => {
    const file = join(folder(), 'push-keys.json');
    const first = sender('localhost', file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const kept = readFileSync(file, 'utf8');
    expect(sender('localhost', file).publicKey).toBe(first.publicKey);
    expect(readFileSync(file, 'utf8')).toBe(kept);
    writeFileSync(file, '{}');
    expect(() => sender('localhost', file)).toThrow(/move it away/);
  });

  it('takes public services under https alone', () => {
    const push = webPush({ subject: 'mailto:ann@example.com' });
    for (const bad of [
      'x',
      'http://push.example/x',
      'https://localhost/x',
      'https://a.localhost/x',
      'https://printer.local/x',
      'https://intranet/x',
      'https://127.0.0.1/x',
      'https://0x7f.1/x',
      'https://2130706433/x',
      'https://[::1]/x',
      'https://user:pw@push.example/x',
      'https://push.example:22/x',
      `https://push.example/${'x'.repeat(1_024)}`,
    ]) {
      expect(push.refuses(bad), bad).toBeTruthy();
    }
    expect(push.refuses('https://fcm.googleapis.com/fcm/send/abc')).toBeUndefined();
    expect(push.refuses('https://updates.push.services.mozilla.com/wpush/v2/x')).toBeUndefined();
  });

  it('reads no more of an answer than its status, and gives up one that has none', async () => {
    let over: () => void = () => {};
    for (const status of [201, 103] as const) {
      const closed = new Promise<void>((done) => {
        over = done;
      });
      const server = createServer(TEST_TLS, (_request, response) => {
        const { socket } = response;
        const piece =
          status === 201
            ? 'x'.repeat(8_000)
            : `HTTP/1.1 103 .\r\nlink: ${'x'.repeat(8_000)}\r\n\r\n`;
        if (status === 201) response.writeHead(status);
        const to = status === 201 ? response : socket;
        const more = (): void => {
          while (socket !== null && !socket.destroyed && to?.write(piece));
        };
        to?.on('drain', more);
        socket?.on('error', () => undefined);
        socket?.on('close', over);
        more();
      });
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      ends.push(() => server.close());
      const address = server.address();
      const host = `localhost:${typeof address === 'object' ? address?.port : 0}`;
      const said = sender(host).send({ endpoint: `https://${host}/x`, ...browserKeys() }, 'x');
      if (status === 201) expect(await said).toBe(201);
      else await expect(said).rejects.toThrow(/more than an answer needs/);
      await closed;
    }
  });

  it('connects to no private address behind a public name', async () => {
    for (const [addresses, all] of [
      [['127.0.0.1'], true],
      [['127.0.0.1'], false],
      [['1.1.1.1', '::1'], true],
      [['1.1.1.1', '10.0.0.1'], false],
      [[], true],
    ] as const) {
      const look = publicOnly(async () => [...addresses]);
      const found = await new Promise((done) =>
        look('push.example', { all }, (...told) => done(told)),
      );
      expect(found).toEqual([
        expect.objectContaining({ message: expect.stringMatching(/not public/) }),
        [],
      ]);
    }
    const look = publicOnly(async () => ['1.1.1.1', '2606:4700::1']);
    const told = (all: boolean) =>
      new Promise((done) => look('push.example', { all }, (...said) => done(said)));
    expect(await told(false)).toEqual([null, '1.1.1.1', 4]);
    expect(await told(true)).toEqual([
      null,
      [
        { address: '1.1.1.1', family: 4 },
        { address: '2606:4700::1', family: 6 },
      ],
    ]);
  });
});
