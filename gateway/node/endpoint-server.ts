/** Serves the endpoint door over HTTP, or over TLS where a certificate is given. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { EndpointDoor } from '../doors/endpoint.js';

export interface EndpointServerOptions {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** PEM texts; without them a reverse proxy has to speak TLS in front. */
  tls?: { cert: string; key: string };
}

export interface EndpointServer {
  readonly port: number;
  /** Ends open requests too; their calls are cancelled. */
  close(): Promise<void>;
}

const MAX_BODY = 64 * 1024;
const MAX_CONNECTIONS = 128;
const REQUEST_MS = 15_000;

/** Rejects where the address can't be had, or with Node's own error for a bad certificate. */
export async function startEndpointServer(
  door: EndpointDoor,
  { host, port, tls }: EndpointServerOptions,
): Promise<EndpointServer> {
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    serve(door, incoming, outgoing).catch(() => outgoing.destroy());
  };
  const server = tls === undefined ? createServer(handle) : createTlsServer(tls, handle);
  server.maxConnections = MAX_CONNECTIONS;
  server.requestTimeout = REQUEST_MS;
  await new Promise<void>((done, fail) => {
    server.once('error', fail);
    server.listen(port, host, done);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

async function serve(
  door: EndpointDoor,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  const body = await bodyOf(incoming);
  if (body === undefined) {
    outgoing.writeHead(413, { 'content-type': 'application/json', connection: 'close' });
    outgoing.end('{"error":"body too large"}');
    return;
  }
  const { method = 'GET', url = '/', headers } = incoming;
  const target = `http://endpoint${url.startsWith('/') ? url : '/'}`;
  if (!URL.canParse(target) || !['GET', 'POST'].includes(method)) {
    outgoing.writeHead(404, { 'content-type': 'application/json' });
    outgoing.end('{"error":"not found"}');
    return;
  }
  const answer = await door(
    new Request(target, {
      method,
      headers: { authorization: headers.authorization ?? '' },
      signal: gone.signal,
      ...(method === 'POST' ? { body: new Uint8Array(body) } : {}),
    }),
  );
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
  outgoing.end(new Uint8Array(await answer.arrayBuffer()));
}

/** Undefined where it is longer than any prompt needs; the rest is not read. */
async function bodyOf(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of incoming) {
    size += (part as Buffer).length;
    if (size > MAX_BODY) return undefined;
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts);
}
