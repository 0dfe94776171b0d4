/**
 * A device that is called by its URL: HTTP or HTTPS with a bearer, live telemetry, a camera and a
 * chat (wire document, part A8). It misbehaves when told to.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import {
  createServer as createHttp,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { renderScene } from '../draw/scene.js';
import { Noise, round } from '../models/noise.js';
import type { BoardClock } from '../types.js';
import type { TlsIdentity } from './ca.js';
import { ENDPOINT_FAULTS, type EndpointFault } from './faults.js';

export interface EndpointOptions {
  name: string;
  /** The bearer that callers must bring. */
  secret: string;
  clock: BoardClock;
  random: () => number;
  /** Serves TLS with it; plain HTTP without. */
  tls?: TlsIdentity;
  /** Default 127.0.0.1. */
  host?: string;
  /** Default: any that is free. */
  port?: number;
}

/** What it was asked, for whoever tests a caller. */
export interface EndpointAsked {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** The name that the caller's TLS asked for; false for none. */
  servername?: string | false;
}

export interface EndpointDevice {
  readonly url: string;
  readonly port: number;
  readonly asked: readonly EndpointAsked[];
  /** From now on; undefined is good behaviour. */
  misbehave(fault: EndpointFault | undefined, elsewhere?: string): void;
  /** Answers calls of that path in place of what it would. */
  answer(path: string, type: string, body: string | Uint8Array): void;
  /** Resolves once it has been asked so many times, counted from its start. */
  askedTimes(count: number): Promise<void>;
  /** Resolves once so many callers have left before their answer was whole. */
  leftTimes(count: number): Promise<void>;
  close(): Promise<void>;
}

interface Said {
  status: number;
  type: string;
  body: Uint8Array;
}

const BODY_MAX = 64 * 1024;

/** Resolves when it serves; rejects when its port can't be had. */
export async function startEndpoint(options: EndpointOptions): Promise<EndpointDevice> {
  const device = new Device(options);
  await device.listen();
  return device;
}

class Device implements EndpointDevice {
  readonly asked: EndpointAsked[] = [];
  readonly #options: EndpointOptions;
  readonly #server: Server;
  readonly #startedAt: number;
  readonly #warmth: Noise;
  readonly #fixed = new Map<string, Said>();
  #frame = 0;
  #fault: { name: EndpointFault; elsewhere: string } | undefined;
  readonly #asks = new Counter();
  readonly #leaves = new Counter();

  constructor(options: EndpointOptions) {
    this.#options = options;
    const { tls, clock, random } = options;
    const serve = (request: IncomingMessage, response: ServerResponse): void =>
      this.#serve(request, response);
    this.#server = tls === undefined ? createHttp(serve) : createHttps(tls, serve);
    this.#startedAt = clock.now();
    this.#warmth = new Noise(random);
  }

  async listen(): Promise<void> {
    const { host = '127.0.0.1', port = 0 } = this.#options;
    await new Promise<void>((done, failed) => {
      this.#server.once('error', failed);
      this.#server.listen(port, host, done);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    const { host = '127.0.0.1', tls } = this.#options;
    return `${tls === undefined ? 'http' : 'https'}://${host}:${this.port}`;
  }

  misbehave(fault: EndpointFault | undefined, elsewhere = ''): void {
    this.#fault = fault === undefined ? undefined : { name: fault, elsewhere };
  }

  answer(path: string, type: string, body: string | Uint8Array): void {
    this.#fixed.set(path, { status: 200, type, body: Buffer.from(body) });
  }

  askedTimes(count: number): Promise<void> {
    return this.#asks.reaches(count);
  }

  leftTimes(count: number): Promise<void> {
    return this.#leaves.reaches(count);
  }

  close(): Promise<void> {
    return new Promise((done) => {
      this.#server.close(() => done());
      this.#server.closeAllConnections();
    });
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const parts: Buffer[] = [];
    let size = 0;
    request.on('data', (part: Buffer) => {
      size += part.length;
      if (size <= BODY_MAX) parts.push(part);
    });
    request.on('error', () => response.destroy());
    // A caller that went away is nothing to a device.
    response.on('error', () => undefined);
    response.on('close', () => {
      if (!response.writableFinished) this.#leaves.add();
    });
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const body = Buffer.concat(parts).toString('utf8');
      const said = size > BODY_MAX ? failure(413, 'too long') : this.#say(request, body);
      this.#reply(response, said);
      const { servername } = request.socket as { servername?: string | false };
      this.asked.push({
        method,
        path: url,
        headers,
        body,
        ...(servername === undefined ? {} : { servername }),
      });
      this.#asks.add();
    });
  }

  #say({ method, url, headers }: IncomingMessage, body: string): Said {
    if (!this.#knows(headers.authorization)) return failure(401, 'unauthorized');
    const path = url?.split('?')[0] ?? '';
    const fixed = this.#fixed.get(path);
    if (fixed !== undefined) return fixed;
    switch (`${method} ${path}`) {
      case 'GET /api/telemetry':
        return json(200, this.#telemetry());
      case 'GET /api/camera/snapshot':
        return { status: 200, type: 'image/jpeg', body: this.#picture() };
      case 'POST /api/chat':
        return this.#chat(body);
      default:
        return failure(404, 'not found');
    }
  }

  #knows(authorization: string | undefined): boolean {
    const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
    return timingSafeEqual(digest(authorization ?? ''), digest(`Bearer ${this.#options.secret}`));
  }

  #reply(response: ServerResponse, { status, type, body }: Said): void {
    const { clock } = this.#options;
    if (this.#fault !== undefined && status === 200) {
      const { name, elsewhere } = this.#fault;
      ENDPOINT_FAULTS[name]({ response, clock, elsewhere, type, body });
      return;
    }
    response.writeHead(status, {
      'content-type': type,
      'content-length': body.length,
      'cache-control': 'no-store',
    });
    response.end(body);
  }

  #upS(): number {
    return (this.#options.clock.now() - this.#startedAt) / 1000;
  }

  #telemetry() {
    const uptime = this.#upS();
    return {
      name: this.#options.name,
      uptime_s: Math.floor(uptime),
      frames: this.#frame,
      temperature_c: round(31 + 2 * this.#warmth.at(uptime / 60), 1),
    };
  }

  #picture(): Uint8Array {
    this.#frame += 1;
    const uptime = this.#upS();
    const { name } = this.#options;
    const hour = 11 + ((uptime / 3600) % 13);
    return renderScene({ name, frame: this.#frame, hour, driftS: uptime });
  }

  #chat(body: string): Said {
    const prompt = promptOf(body);
    if (prompt === undefined) return failure(400, 'prompt required');
    const { name } = this.#options;
    const word = prompt.trim().toLowerCase();
    if (word === 'status') return json(200, { reply: this.#telemetry() });
    const reply =
      word === 'hello'
        ? `Hello, this is ${name}.`
        : `${name} heard "${prompt}". Ask for status, or say hello.`;
    return json(200, { reply });
  }
}

/** Counts, and tells whoever waits for a count. */
class Counter {
  #count = 0;
  #waiting: { count: number; done: () => void }[] = [];

  add(): void {
    this.#count += 1;
    const due = this.#waiting.filter(({ count }) => count <= this.#count);
    this.#waiting = this.#waiting.filter((one) => !due.includes(one));
    for (const { done } of due) done();
  }

  reaches(count: number): Promise<void> {
    if (this.#count >= count) return Promise.resolve();
    return new Promise((done) => this.#waiting.push({ count, done }));
  }
}

function promptOf(body: string): string | undefined {
  try {
    const { prompt } = JSON.parse(body) as { prompt?: unknown };
    return typeof prompt === 'string' && prompt.trim() !== '' ? prompt : undefined;
  } catch {
    return undefined;
  }
}

function json(status: number, value: object): Said {
  return { status, type: 'application/json', body: Buffer.from(JSON.stringify(value)) };
}

const failure = (status: number, error: string): Said => json(status, { error });
