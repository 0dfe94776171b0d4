/** The ways in which a device that is called by its URL may misbehave. */
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { BoardClock } from '../types.js';

export interface FaultContext {
  response: ServerResponse;
  clock: BoardClock;
  /** Where `redirect` points. */
  elsewhere: string;
  /** What it would have answered. */
  type: string;
  body: Uint8Array;
}

const MEGABYTES_9 = 9 * 1024 * 1024;
const DRIP_MS = 1_000;

const whole = ({ response, type, body }: FaultContext, status = 200, headers = {}): void => {
  response.writeHead(status, { 'content-type': type, 'content-length': body.length, ...headers });
  response.end(body);
};

export const ENDPOINT_FAULTS = {
  /** The head, and then a byte each second. */
  drip({ response, clock, type, body }) {
    response.writeHead(200, { 'content-type': type, 'content-length': body.length });
    let at = 0;
    const next = (): void => {
      if (response.destroyed) return;
      response.write(body.subarray(at, at + 1));
      at += 1;
      if (at < body.length) clock.after(DRIP_MS, next);
      else response.end();
    };
    next();
  },
  /** Not even a head. */
  silent() {},
  redirect: (context) => whole(context, 302, { location: context.elsewhere }),
  /** 9 MB, and its length says so. */
  huge({ response, type }) {
    response.writeHead(200, { 'content-type': type, 'content-length': MEGABYTES_9 });
    response.end(Buffer.alloc(MEGABYTES_9, 0x61));
  },
  /** 9 MB in chunks: nothing says so before they have come. */
  huge_chunks({ response, type }) {
    response.writeHead(200, { 'content-type': type });
    response.end(Buffer.alloc(MEGABYTES_9, 0x61));
  },
  wrong_type: (context) => whole({ ...context, type: 'image/svg+xml' }),
  no_type({ response, body }) {
    response.writeHead(200, { 'content-length': body.length });
    response.end(body);
  },
  unauthorized: (context) => whole({ ...context, ...said({ error: 'unauthorized' }) }, 401),
  forbidden: (context) => whole({ ...context, ...said({ error: 'forbidden' }) }, 403),
  unavailable: (context) => whole({ ...context, ...said({ error: 'no frame' }) }, 503),
  /** The connection is dropped before anything was answered. */
  reset({ response }) {
    response.socket?.destroy();
  },
  empty: (context) => whole({ ...context, body: new Uint8Array() }),
  /** Half of what its length promises. */
  half({ response, type, body }) {
    response.writeHead(200, { 'content-type': type, 'content-length': body.length });
    response.write(body.subarray(0, Math.ceil(body.length / 2)), () => response.socket?.end());
  },
  /** Half, in chunks that never end. */
  half_chunks({ response, type, body }) {
    response.writeHead(200, { 'content-type': type });
    response.write(body.subarray(0, Math.ceil(body.length / 2)), () => response.socket?.end());
  },
  /** Half, with neither length nor chunks, so that its end looks like one. */
  half_unsized({ response, type, body }) {
    response.socket?.end(
      Buffer.concat([
        Buffer.from(`HTTP/1.0 200 OK\r\ncontent-type: ${type}\r\n\r\n`),
        body.subarray(0, Math.ceil(body.length / 2)),
      ]),
    );
  },
  compressed(context) {
    whole({ ...context, body: gzipSync(context.body) }, 200, { 'content-encoding': 'gzip' });
  },
  /** A head with a bare line break in a name, as no server should. */
  garbled({ response }) {
    response.socket?.end('HTTP/1.1 200 OK\r\nbad header\r\n\r\n{}');
  },
} satisfies Record<string, (context: FaultContext) => void>;

export type EndpointFault = keyof typeof ENDPOINT_FAULTS;

function said(value: object): { type: string; body: Uint8Array } {
  return { type: 'application/json', body: Buffer.from(JSON.stringify(value)) };
}
