/** Endpoint devices that answer with bytes no device should send: what the hub takes of them. */
import { createServer, type TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { makeCa } from '../device-sim/index.js';
import { onCleanup } from '../hub/cleanup.fixture.js';
import { testHub } from '../hub/hub.fixture.js';
import { enrolAt, NAMED } from './support/endpoint-world.js';

const SECRET = `s/"${'0123456789'.repeat(12)}`;

/** A device that answers each request with what `answer` writes, and counts what it could write. */
async function rawDevice(answer: (socket: TLSSocket) => void) {
  const ca = makeCa();
  let written = 0;
  const server = createServer(ca.issue([NAMED]), (socket) => {
    socket.on('error', () => undefined);
    socket.on('close', () => {
      written += socket.bytesWritten;
    });
    socket.once('data', () => answer(socket));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onCleanup(() => new Promise<void>((done) => void server.close(() => done())));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const t = await testHub({
    endpointHosts: [NAMED],
    endpointResolve: async () => ['127.0.0.1'],
    endpointCa: ca.cert,
  });
  const id = await enrolAt(t, `https://${NAMED}:${port}`, { secret: SECRET });
  const ask = (action: string) =>
    t.own('GET', `/api/devices/endpoint?deviceId=${id}&action=${action}`);
  return { ask, written: () => written };
}

/** The same again and again, as fast as it is taken. */
function flood(socket: TLSSocket, piece: string): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n';
const whole = (type: string, body: string, more = ''): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${more}content-length: ${body.length}\r\n\r\n${body}`;

describe('a device that sends without end', () => {
  // What may stand in the buffers of two sockets, and much more.
  const MEGABYTES_64 = 64 * 1024 * 1024;

  it('hints before its answer are read for 64 KB and no further', async () => {
    const hint = `HTTP/1.1 103 Early Hints\r\nlink: ${'a'.repeat(8_000)}\r\n\r\n`;
    const { ask, written } = await rawDevice((socket) => flood(socket, hint));
    const { status, body } = await ask('telemetry');
    expect([status, body.error]).toEqual([
      502,
      'device unreachable: it sent far more than an answer needs',
    ]);
    expect(written()).toBeLessThan(MEGABYTES_64);
  });

  it('what chunks carry beside their bytes is counted too', async () => {
    const chunk = `1;x=${'a'.repeat(16_000)}\r\nx\r\n`;
    const { ask, written } = await rawDevice((socket) => {
      socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`);
      flood(socket, chunk);
    });
    const { status, body } = await ask('telemetry');
    expect([status, body.error]).toEqual([
      502,
      'device unreachable: it sent far more than an answer needs',
    ]);
    expect(written()).toBeLessThan(MEGABYTES_64);
  });
});

it('103: chunks of something compressed are not taken for the answer', async () => {
  const { ask } = await rawDevice((socket) =>
    socket.end(`${HEAD}transfer-encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`),
  );
  const { status, body } = await ask('telemetry');
  expect([status, body.error]).toEqual([
    502,
    'device unreachable: its answer is coded in a way that is not read',
  ]);
});

describe('91: a device that says its secret back', () => {
  const unicode = [...SECRET].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const slashed = JSON.stringify(SECRET).replaceAll('/', '\\/');

  it.each([
    ['as JSON writes it', JSON.stringify({ reply: { a: [SECRET] } })],
    ['with its slashes escaped', `{"reply":${slashed}}`],
    ['in escapes alone', `{"reply":["${unicode.join('')}"]}`],
    ['as the name of a field', `{"reply":{${slashed}:1}}`],
    ['in plain text', `you said ${SECRET}!`],
  ])('%s, is heard without it', async (_how, body) => {
    const { ask } = await rawDevice((socket) => socket.end(whole('application/json', body)));
    const { status, raw } = await ask('telemetry');
    expect([status, raw.includes('[secret]')]).toEqual([200, true]);
    expect(raw).not.toContain('0123456789');
  });

  it.each([
    ['as the type of its picture', whole(SECRET, 'x')],
    ['as the coding of its picture', whole('image/png', 'x', `content-encoding: ${SECRET}\r\n`)],
  ])('%s, is told of without any part of it', async (_how, said) => {
    const { ask } = await rawDevice((socket) => socket.end(said));
    const { status, raw } = await ask('snapshot');
    expect([status, raw.includes('[secret]')]).toEqual([502, true]);
    expect(raw).not.toContain('0123456789');
  });
});
