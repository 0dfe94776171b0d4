/** The embedded broker's listening socket: how many may come in, and how fast. */
import { createServer as createTcp, type Server, type Socket } from 'node:net';
import { createServer as createTls } from 'node:tls';
import type { Clock } from '../core/types.js';
import { DoorQueue, type QueueLimits } from './door-queue.js';
import type { Counters } from './link.js';

export interface ServerLimits extends QueueLimits {
  maxConnections: number;
}

export interface ServerOptions {
  host: string;
  port?: number;
  tls?: { key: string; cert: string };
  clock: Clock;
  limits: ServerLimits;
  counters: Counters;
  /** A socket whose turn has come. */
  admit(socket: Socket): void;
}

/** Rejects with the server's error (the port is taken, say). */
export async function openServer(
  options: ServerOptions,
): Promise<{ port: number; url: string; close(): Promise<void> }> {
  const { host, tls, limits, counters } = options;
  const queue = new DoorQueue(options.clock, limits, options.admit);

  function arrived(socket: Socket): void {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 60_000);
    if (!queue.arrive(socket)) counters.add('connects_shed');
  }

  const server = tls
    ? createTls({ key: tls.key, cert: tls.cert, handshakeTimeout: 10_000 }, arrived)
    : createTcp(arrived);
  server.maxConnections = limits.maxConnections + limits.maxWaiting;
  server.on('drop', () => counters.add('too_many_connections'));
  server.on('tlsClientError', () => counters.add('tls_error'));
  await listen(server, options.port ?? (tls ? 8883 : 1883), host);
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    port,
    url: `${tls ? 'mqtts' : 'mqtt'}://${name}:${port}`,
    close() {
      queue.close();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host }, () => {
      server.off('error', reject);
      server.on('error', () => {});
      resolve();
    });
  });
}
