/** A server of language models that says what the test tells it. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onCleanup } from './cleanup.fixture.js';

interface Asked {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export async function chatServer(answer: (response: ServerResponse) => void) {
  const asked: Asked[] = [];
  const http = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      asked.push({ path, headers, body: Buffer.concat(parts).toString('latin1') });
      answer(response);
    });
  });
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done));
  onCleanup(async () => {
    http.closeAllConnections();
    await new Promise((done) => http.close(done));
  });
  return { asked, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1` };
}

export const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
export const delta = (content: string | null, finish: string | null = null): string =>
  event({ choices: [{ delta: { content }, finish_reason: finish }] });
export const streaming =
  (...parts: string[]) =>
  (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.end(parts.join(''));
  };
export const answering =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
